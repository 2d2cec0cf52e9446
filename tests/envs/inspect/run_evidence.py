"""Runs the checks of leaks, repeats, space, promises, difficulty and cost on planted domains, and prints what they say.

Called as `python run_evidence.py SEEDS CHECK,CHECK,... ID ID ...` ("all": every check), with the planted catalogue in
POLYATHLON_CATALOGS. Prints JSON: {id: {check: [grade, not applicable, [message, ...]]}}.
"""

from __future__ import annotations

import json
import sys

from polyathlon.inspect.cost import speed
from polyathlon.inspect.evidence import EVIDENCE
from polyathlon.inspect.play import Stage, Subject
from polyathlon.registration import load_domain, registry
from polyathlon.sandbox.choose import default_room

SLOW_S = 0.01
"""What counts as slow here, so that a planted slow verifier need not burn seconds."""


def look(domain_id: str, checks: list[str], num_seeds: int) -> dict[str, list[object]]:
    """Return what each check says of one domain."""
    subject = Subject(registry().entry(domain_id), load_domain(domain_id), default_room(), num_seeds)
    said: dict[str, list[object]] = {}
    with Stage(subject) as stage:
        for name in checks:
            result = EVIDENCE[name](stage)
            said[name] = [result.grade.word, result.not_applicable, [fault.message for fault in result.faults]]
    return said


def main() -> None:
    """Look at each domain that the command line names."""
    seeds, wanted, *ids = sys.argv[1:]
    speed.LIMIT_S = SLOW_S
    checks = list(EVIDENCE) if wanted == "all" else wanted.split(",")
    print(json.dumps({domain_id: look(domain_id, checks, int(seeds)) for domain_id in ids}))


if __name__ == "__main__":
    main()
