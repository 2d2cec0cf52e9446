"""Write the table of checks into docs/inspection.md, between its marks, from the rules that the inspection grades by.

python docs/make_checks.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from polyathlon.inspect.checks import CHECKS
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.rule import Rule

PAGE = Path(__file__).resolve().parent / "inspection.md"
BEGIN = "<!-- checks: written by docs/make_checks.py, do not edit -->\n"
END = "<!-- end of checks -->\n"
COLUMNS = ("check", "what is measured", "gold", "silver", "bronze", "else", "tier")
FAMILIES = {
    "C": "The contract",
    "S": "Solvable",
    "N": "Knowing nothing pays nothing",
    "V": "Wrong is refused, right is accepted",
    "X": "Hacks do not pay",
    "L": "Nothing leaks",
    "D": "The same again",
    "U": "Many tasks, apart",
    "Q": "Levels",
    "R": "Cost",
}


def tables(rules: Iterable[Rule]) -> str:
    """Return a table for each family of rules, in their order; those that no check answers yet are left out."""
    answered = {rule for check in CHECKS for rule in check.answers}
    here = [rule for rule in rules if rule.id in answered]
    return "\n".join(
        f"**{FAMILIES[letter]}**\n\n{_table(family)}" for letter, family in groupby(here, key=lambda rule: rule.id[0])
    )


def written(page: str) -> str:
    """Return `page` with the tables of now between its marks.

    Raises:
        ValueError: a mark is missing.

    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} has lost a mark: it needs the lines {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}\n{tables(RULES.values())}\n{END}{after}"


def _table(rules: Iterable[Rule]) -> str:
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *map(_cells, rules)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cells(rule: Rule) -> tuple[str, ...]:
    sign = "≥" if rule.better == "high" else "≤"
    bronze = "" if rule.bronze is None else f"{sign} {rule.bronze:g}"
    limits = (f"{sign} {rule.gold:g}", f"{sign} {rule.silver:g}", bronze)
    return f"{rule.id} {rule.title}", rule.statistic, *limits, rule.otherwise.word, str(rule.tier)


def main() -> int:
    """Write the page; return the exit status."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
