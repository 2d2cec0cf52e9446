"""Ways to repair a mesh by the numbers of its faces alone, wherever they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from polyathlon import Attempt, Json, Task
from polyathlon.canonical import canonical_json, expect_int, expect_list, expect_map
from polyathlon.toolcall import write_fenced

UNITS = {"cm": 10.0, "inches": 25.4}


def shortcuts(task: Task) -> Sequence[Attempt]:
    """Faces given twice deleted; open edges closed to one corner; and the whole scaled as its unit says."""
    faces = [
        tuple(expect_int(corner) for corner in expect_list(face))
        for face in expect_list(expect_map(task.public["mesh"])["faces"])
    ]
    seen: set[tuple[int, ...]] = set()
    repeated: list[Json] = []
    for place, face in enumerate(faces):
        if tuple(sorted(face)) in seen:
            repeated.append(place)
        seen.add(tuple(sorted(face)))
    kept = [face for place, face in enumerate(faces) if place not in repeated]
    edges = Counter(edge for a, b, c in kept for edge in ((a, b), (b, c), (c, a)))
    loose = [(b, a) for a, b in edges if not edges[b, a]]
    fan: list[Json] = [{"face": [a, b, loose[0][0]]} for a, b in loose if loose[0][0] not in (a, b)] if loose else []
    delete: list[Json] = [{"delete": repeated}] if repeated else []
    factor = next((scale for unit, scale in UNITS.items() if f"Coordinates are in {unit}" in task.prompt), 1.0)
    scale: list[Json] = [{"scale": factor}] if factor != 1.0 else []
    ways = {"faces given twice deleted": delete + scale, "open edges closed to one corner": delete + fan + scale}
    return tuple(
        Attempt(name, (write_fenced(canonical_json({"edits": edits}), language="json"),))
        for name, edits in ways.items()
    )
