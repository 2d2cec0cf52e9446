"""Episodes to read: of each domain the best, the worst, and one at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from polyathlon.clip import clip_text
from polyathlon.seeding import child
from polyathlon_trainer.observe.episodes import read_episodes

MAX_CHARS = 3_000
MAX_TEXTS = 12

Why = Literal["best", "random", "worst"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One episode to read. Texts are clipped, and every control character in them is made visible."""

    domain_id: str
    why: Why
    stage: str
    step: int
    level: int
    reward: float
    passed: bool
    reason: str
    prompt: str
    texts: tuple[str, ...]
    num_left_out: int


def choose_samples(folder: Path) -> dict[str, tuple[Sample, ...]]:
    """Return {domain_id: its best, a random and its worst episode} of the run in `folder`.

    Of equals the later one is best and the earlier one worst; a domain with fewer than three episodes shows those. The
    random one depends on the domain's id and the number of its episodes only. Two passes, of which only the second
    reads text, and only of what was chosen.
    """
    rewards: dict[str, list[tuple[int, float]]] = {}  # by domain: (place in the file order, reward)
    place = 0
    for batch in read_episodes(folder, columns=["domain_id", "reward"]):
        for domain_id, reward in zip(batch["domain_id"].to_pylist(), batch["reward"].to_pylist(), strict=True):
            rewards.setdefault(domain_id, []).append((place, reward))
            place += 1
    chosen: dict[int, Why] = {}
    for domain_id, found in rewards.items():
        chosen |= _pick(found, child("sample episode", domain_id, len(found)))
    return _fetch(folder, chosen)


def _pick(found: Sequence[tuple[int, float]], rng: np.random.Generator) -> dict[int, Why]:
    best = max(found, key=lambda item: (item[1], item[0]))[0]
    picked: dict[int, Why] = {best: "best"}
    rest = [item for item in found if item[0] != best]
    if rest:
        worst = min(rest, key=lambda item: (item[1], item[0]))[0]
        picked[worst] = "worst"
        rest = [item for item in rest if item[0] != worst]
    if rest:
        picked[rest[int(rng.integers(len(rest)))][0]] = "random"
    return picked


def _fetch(folder: Path, chosen: dict[int, Why]) -> dict[str, tuple[Sample, ...]]:
    samples: dict[str, list[Sample]] = {}
    place = 0
    columns = ["domain_id", "stage", "step", "level", "reward", "passed", "reason", "prompt", "texts"]
    for batch in read_episodes(folder, columns=columns):
        for offset in range(batch.num_rows):
            if place + offset in chosen:
                row = batch.slice(offset, 1).to_pylist()[0]
                samples.setdefault(row["domain_id"], []).append(_sample(row, chosen[place + offset]))
        place += batch.num_rows
    order = ("best", "random", "worst")
    return {key: tuple(sorted(found, key=lambda one: order.index(one.why))) for key, found in samples.items()}


def _sample(row: dict[str, Any], why: Why) -> Sample:  # a Parquet row, columns as in SCHEMA
    texts = row["texts"]
    shown = texts if len(texts) <= MAX_TEXTS else [*texts[: MAX_TEXTS // 2], *texts[-MAX_TEXTS // 2 :]]
    return Sample(
        domain_id=row["domain_id"],
        why=why,
        stage=row["stage"],
        step=row["step"],
        level=row["level"],
        reward=row["reward"],
        passed=row["passed"],
        reason=readable(row["reason"]),
        prompt=readable(row["prompt"]),
        texts=tuple(readable(text) for text in shown),
        num_left_out=len(texts) - len(shown),
    )


_VISIBLE = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"} | {0x7F: "\u2421"}
_VISIBLE |= {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
_VISIBLE |= {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F)}
_VISIBLE |= {code: f"\\u{code:04x}" for code in (0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)}


def readable(text: str) -> str:
    """Return `text` clipped head and tail, with control and direction-changing characters made visible."""
    return clip_text(text, max_chars=MAX_CHARS).translate(_VISIBLE)
