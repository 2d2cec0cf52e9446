"""Runs the checks of leaks, repeats, space, promises, difficulty and cost on planted domains, and prints what they say.

Called as `python run_evidence.py SEEDS CHECK,CHECK,... ID ID ...` ("all": every check), with the planted catalogue in
POLYATHLON_CATALOGS. Prints JSON: {id: {check: [grade, not applicable, [message, ...]]}}.
"""

from __future__ import annotations

import json
import sys

from polyathlon.inspect.checks import check_of
from polyathlon.inspect.cost import speed
from polyathlon.inspect.play import Stage, Subject
from polyathlon.registration import load_domain, registry
from polyathlon.sandbox.choose import default_room

RULES_HERE = (
    *("C01", "C02", "C04", "S02", "S03", "S05", "U01", "U02", "U03", "U04", "U05"),
    *("L01", "L02", "L03", "L04", "Q01", "R01", "R03", "D01", "D04", "D03", "R02"),
)
SLOW_S = 0.01
"""What counts as slow here, so that a planted slow verifier need not burn seconds."""


def look(domain_id: str, checks: list[str], num_seeds: int) -> dict[str, list[object]]:
    """Return what each check says of one domain."""
    subject = Subject(registry().entry(domain_id), load_domain(domain_id), default_room(), num_seeds)
    said: dict[str, list[object]] = {}
    with Stage(subject) as stage:
        for name in checks:
            (result,) = check_of(name).run(stage)
            said[name] = [result.grade.word, result.not_applicable, [fault.message for fault in result.faults]]
    return said


def main() -> None:
    """Look at each domain that the command line names."""
    seeds, wanted, *ids = sys.argv[1:]
    speed.LIMIT_S = SLOW_S
    checks = list(RULES_HERE) if wanted == "all" else wanted.split(",")
    print(json.dumps({domain_id: look(domain_id, checks, int(seeds)) for domain_id in ids}))


if __name__ == "__main__":
    main()
