"""Ways to repair a mesh by the numbers of its faces alone, wherever they stand."""

from __future__ import annotations

from collections.abc import Sequence

from polyathlon import Attempt, Task
from polyathlon.canonical import canonical_json, expect_map
from polyathlon.toolcall import write_fenced
from polyathlon.verify.surface import read_mesh
from polyathlon_domains.cad._mesh_patching import patches

UNITS = {"cm": 10.0, "inches": 25.4}


def shortcuts(task: Task) -> Sequence[Attempt]:
    """Faces given twice deleted; holes closed in a few ways; and the whole scaled as its unit says."""
    given = expect_map(task.public["mesh"])
    faces = [(a, b, c) for a, b, c in read_mesh(given["vertices"], given["faces"]).faces.tolist()]
    scale = next((scale for unit, scale in UNITS.items() if f"Coordinates are in {unit}" in task.prompt), 1.0)
    return tuple(
        Attempt(name, (write_fenced(canonical_json({"edits": edits}), language="json"),))
        for name, edits in patches(faces, scale).items()
    )
