"""What a mesh becomes when it is patched by the numbers of its faces alone, wherever they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from polyathlon.canonical import Json

Face = tuple[int, int, int]
Edge = tuple[int, int]


def patches(faces: Sequence[Face], scale: float) -> dict[str, list[Json]]:
    """Return ways to patch, each a list of edits: faces given twice are deleted, holes closed, and all is scaled."""
    seen: set[tuple[int, ...]] = set()
    repeated: list[Json] = []
    for place, face in enumerate(faces):
        if tuple(sorted(face)) in seen:
            repeated.append(place)
        seen.add(tuple(sorted(face)))
    kept = [face for place, face in enumerate(faces) if place not in repeated]
    edges = Counter(edge for a, b, c in kept for edge in ((a, b), (b, c), (c, a)))
    loose = [(b, a) for a, b in edges if not edges[b, a]]
    delete: list[Json] = [{"delete": repeated}] if repeated else []
    scaled: list[Json] = [{"scale": scale}] if scale != 1.0 else []
    holes = _apart(loose)
    fans = {
        "open edges closed to one corner": _fans([loose], lambda rim: rim[0][0]),
        "each hole closed to one of its corners": _fans(holes, lambda rim: rim[0][0]),
        "each hole closed to its lowest corner": _fans(holes, lambda rim: min(min(rim))),
    }
    ways = {name: [*delete, *fan, *scaled] for name, fan in fans.items()}
    return {"faces given twice deleted": [*delete, *scaled], **ways}


def _fans(holes: Sequence[Sequence[Edge]], tip_of: Callable[[Sequence[Edge]], int]) -> list[Json]:
    return [
        {"face": [a, b, tip]} for rim in holes if rim for tip in (tip_of(rim),) for a, b in rim if tip not in (a, b)
    ]


def _apart(edges: Sequence[Edge]) -> list[list[Edge]]:
    """Return the edges in groups that hang together."""
    groups: list[list[Edge]] = []
    for edge in edges:
        touched = [group for group in groups if any({*edge} & {*other} for other in group)]
        groups = [group for group in groups if group not in touched]
        groups.append([*(other for group in touched for other in group), edge])
    return groups
