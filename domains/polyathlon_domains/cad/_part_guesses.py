"""Ways to build a plate from the numbers that a description begins with."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polyathlon import Attempt, Json, Task
from polyathlon.canonical import canonical_json
from polyathlon.toolcall import write_fenced

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def shortcuts(task: Task) -> Sequence[Attempt]:
    """A plate of the first three numbers; with a hole in its middle, or in its corners, as wide as the fourth."""
    numbers = [float(number) for number in _NUMBER.findall(task.prompt.split("Corners are sharp", 1)[0])]
    length, width, thick, wide = (*numbers, 10.0, 10.0, 5.0, 3.0)[:4]
    plate: Json = {"op": "add", "box": [length, width, thick]}
    hole: dict[str, Json] = {"op": "cut", "cylinder": {"d": wide, "h": thick}}
    middle: Json = {**hole, "at": [length / 2, width / 2, 0]}
    corners: list[Json] = [{**hole, "at": [x, y, 0]} for x in (wide, length - wide) for y in (wide, width - wide)]
    ways: dict[str, list[Json]] = {
        "the plate": [plate],
        "the plate with a hole in its middle": [plate, middle],
        "the plate with holes in its corners": [plate, *corners],
    }
    return tuple(
        Attempt(name, (write_fenced(canonical_json({"features": features}), language="json"),))
        for name, features in ways.items()
    )
