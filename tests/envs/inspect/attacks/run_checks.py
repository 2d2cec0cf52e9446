"""Run the attacks' checks on domains of a catalogue and print what they say: {id: {check: [grade, messages]}}."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from polyathlon.inspect.attacks.fuzz import check_fuzz
from polyathlon.inspect.attacks.guessing import check_shortcuts
from polyathlon.inspect.attacks.hacks import check_attacks
from polyathlon.inspect.attacks.impossible import check_impossible
from polyathlon.inspect.attacks.privilege import check_privilege
from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.play import Stage, Subject
from polyathlon.registration import load_domain, registry
from polyathlon.sandbox.choose import default_room

CHECKS: dict[str, Callable[[Stage], CheckResult]] = {
    "X01": check_attacks,
    "X02": check_impossible,
    "X03": check_privilege,
    "X04": check_fuzz,
    "N05": check_shortcuts,
}


def main() -> None:
    """Print the results for the ids and the number of seeds on the command line."""
    seeds, *ids = sys.argv[1:]
    found: dict[str, dict[str, list[object]]] = {}
    for domain_id in ids:
        entry = registry().entry(domain_id)
        with Stage(Subject(entry, load_domain(entry.id), default_room(), int(seeds))) as stage:
            results = [check(stage) for check in CHECKS.values()]
        found[domain_id] = {
            result.check: [result.grade.word, result.not_applicable, [fault.message for fault in result.faults]]
            for result in results
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
