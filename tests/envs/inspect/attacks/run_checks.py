"""Run the attacks' checks on domains of a catalogue and print what they say: {id: {check: [grade, messages]}}."""

from __future__ import annotations

import json
import sys

from polyathlon.inspect.checks import check_of
from polyathlon.inspect.play import Stage, Subject
from polyathlon.registration import load_domain, registry
from polyathlon.sandbox.choose import default_room

RULES_HERE = ("X01", "X02", "X03", "X04", "N05")


def main() -> None:
    """Print the results for the ids and the number of seeds on the command line."""
    seeds, *ids = sys.argv[1:]
    found: dict[str, dict[str, list[object]]] = {}
    for domain_id in ids:
        entry = registry().entry(domain_id)
        with Stage(Subject(entry, load_domain(entry.id), default_room(), int(seeds))) as stage:
            results = [result for rule in RULES_HERE for result in check_of(rule).run(stage)]
        found[domain_id] = {
            result.check: [result.grade.word, result.not_applicable, [fault.message for fault in result.faults]]
            for result in results
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
