"""Write docs/reasoning-gym.md from docs/reasoning-gym.json, what `polyathlon import reasoning-gym` found.

polyathlon import reasoning-gym --out reasoning-gym
cp reasoning-gym/findings.json docs/reasoning-gym.json
python docs/make_reasoning_gym.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOUND = ROOT / "docs" / "reasoning-gym.json"
PAGE = ROOT / "docs" / "reasoning-gym.md"
TEXT = ROOT / "docs" / "reasoning-gym.in.md"
MAX_CHARS = 170
GRADES = ("gold", "silver", "bronze", "quarantine", "reject")
COLUMNS = ("generator", "grade", "levels", "floor", "below gold", "what shows it")

Record = dict[str, Any]


def page(found: Record, text: str) -> str:
    """Return the page: `text` with its marks {like_this} filled in from what was found."""
    generators: list[Record] = found["generators"]
    marks = {
        "version": found["version"],
        "num_generators": str(len(generators)),
        "num_seeds": str(found["num_seeds"]),
        "minutes": f"{found['wall_s'] / 60:.1f}",
        "num_jobs": str(found["num_jobs"]),
        "grades": ", ".join(f"{_count(generators, grade)} {grade}" for grade in GRADES),
        "num_paid": str(sum(one["wrong_paid_in_full"] > 0 for one in generators)),
        "num_default": str(sum(one["default_scorer"] for one in generators)),
        "by_check": _by_check(generators),
        "table": _table(COLUMNS, (_row(one) for one in generators)),
        "line_feed": _names(one for one in generators if one["line_feed_costs"] > 0),
        "num_line_feed": str(sum(one["line_feed_costs"] > 0 for one in generators)),
        "changes_item": _names(one for one in generators if one["changes_item"] > 0),
        "left_out": _left_out(generators),
        "troubles": _troubles(generators),
    }
    for mark, value in marks.items():
        text = text.replace(f"{{{mark}}}", value)
    return text


def _count(generators: Sequence[Record], grade: str) -> int:
    return sum(one["grade"] == grade for one in generators)


def _by_check(generators: Sequence[Record]) -> str:
    titles: dict[str, str] = {}
    held: dict[str, list[str]] = {}
    for one in generators:
        for check in one["checks"]:
            titles[check["check"]] = check["title"]
            if check["grade"] in ("reject", "quarantine"):
                held.setdefault(check["check"], []).append(one["generator"])
    rows = [
        (f"{check} {titles[check]}", str(len(names)), _some(names))
        for check, names in sorted(held.items(), key=lambda item: -len(item[1]))
    ]
    return _table(("check", "generators quarantined by it", "which"), rows)


def _some(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _row(one: Record) -> tuple[str, ...]:
    checks = " ".join(check["check"] for check in one["checks"]) or "-"
    name = one["id"].partition("/")[2]
    return name, one["grade"], str(one["levels"]), f"{one['floor']:g}", checks, _telling(one)


def _telling(one: Record) -> str:
    """Return the finding that says most: a wrong answer paid in full before all others."""
    if one["broken"]:
        return _cell(one["broken"])
    grave = [check for check in one["checks"] if check["grade"] in ("reject", "quarantine")] or one["checks"]
    found = [(check["check"], example["message"]) for check in grave for example in check["examples"]]
    found.sort(key=lambda item: item[1].find("earns 1.000") < 0)
    return "; ".join(f"**{check}** {_cell(message)}" for check, message in found[:1]) or "-"


def _cell(message: str) -> str:
    flat = " ".join(message.split()).replace("|", "\\|")
    return flat if len(flat) <= MAX_CHARS else f"{flat[:MAX_CHARS]} ..."


def _names(generators: Iterable[Record]) -> str:
    return ", ".join(one["generator"] for one in generators) or "none"


def _left_out(generators: Sequence[Record]) -> str:
    rows = [
        (one["generator"], levels, _cell(why)) for one in generators for levels, why in one["levels_left_out"].items()
    ]
    return _table(("generator", "levels of its curriculum", "why they are none here"), rows)


def _troubles(generators: Sequence[Record]) -> str:
    rows = [(one["generator"], _cell(text)) for one in generators for text in one["troubles"]]
    return _table(("generator", "what went wrong on items that no inspection plays"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(
        page(json.loads(FOUND.read_text(encoding="utf-8")), TEXT.read_text(encoding="utf-8")), encoding="utf-8"
    )
