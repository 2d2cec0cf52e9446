"""Places inside a JSON value: every leaf by its path, and the value with something else in a place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from polyathlon.canonical import Json

Path: TypeAlias = "tuple[str | int, ...]"


def leaves_of(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Yield (path, leaf) for everything in `value` that is no object or list, and for empty ones."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from leaves_of(inner, (*path, key))
    elif isinstance(value, list | tuple) and value:
        for place, inner in enumerate(value):
            yield from leaves_of(inner, (*path, place))
    else:
        yield path, value


def boxes_of(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Yield (path, box) for every object and list in `value`, the outermost first."""
    if isinstance(value, Mapping):
        yield path, value
        for key, inner in value.items():
            yield from boxes_of(inner, (*path, key))
    elif isinstance(value, list | tuple):
        yield path, value
        for place, inner in enumerate(value):
            yield from boxes_of(inner, (*path, place))


def put(value: Json, path: Path, new: Json) -> Json:
    """Return `value` with `new` at `path`, nothing of it changed in place."""
    if not path:
        return new
    first, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        return {key: put(inner, rest, new) if key == first else inner for key, inner in value.items()}
    assert isinstance(value, list | tuple), "a path of this value"
    return [put(inner, rest, new) if place == first else inner for place, inner in enumerate(value)]


def at(value: Json, path: Path) -> Json:
    """Return what stands at `path` of `value`."""
    for step in path:
        if isinstance(value, Mapping):
            value = value[str(step)]
        else:
            assert isinstance(value, list | tuple), "a path of this value"
            assert isinstance(step, int), "a path of this value"
            value = value[step]
    return value


def without(value: Json, path: Path) -> Json:
    """Return `value` with what stands at `path` left out."""
    box, last = at(value, path[:-1]), path[-1]
    if isinstance(box, Mapping):
        return put(value, path[:-1], {key: inner for key, inner in box.items() if key != last})
    assert isinstance(box, list | tuple), "a path of this value"
    return put(value, path[:-1], [inner for place, inner in enumerate(box) if place != last])
