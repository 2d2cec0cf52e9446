"""A plate with features in words: every length is said once, and every place is fixed by what is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from polyathlon.canonical import Json, expect_int, expect_list, expect_map, expect_text

_OPENINGS = (
    "Model this part. It starts as a rectangular plate {l} long (along x), {w} wide (along y) and {t} thick (along z).",
    "Part to build: a plate, {l} in x by {w} in y, {t} thick in z, with the features below.",
    "A machined plate measures {l} (x) by {w} (y) by {t} (z). Model it with these features.",
)
_FRAMES = (
    "The origin is its lower front left corner: x runs from left to right, y from front to back, z up.",
    "Put the plate's lower front left corner at the origin; x points right, y to the back, z up.",
)
_BODIES: Mapping[str, tuple[str, ...]] = {
    "hole": ("a through hole of diameter {d}", "a hole, {d} in diameter, right through the plate"),
    "blind": (
        "a flat-bottomed blind hole of diameter {d}, {depth} deep from the top face",
        "a blind hole, {d} in diameter, sunk {depth} into the top face, its bottom flat",
    ),
    "counterbore": (
        "a through hole of diameter {d}, counterbored from the top to diameter {wide}, {depth} deep",
        "a counterbored through hole: {d} diameter, counterbore {wide} diameter and {depth} deep from the top",
    ),
    "pocket": (
        "a rectangular pocket in the top face, {l} along x, {w} along y, {depth} deep",
        "a pocket milled {depth} deep into the top face, {l} (x) by {w} (y), sharp corners",
    ),
    "pad": (
        "a rectangular block standing {h} high on the top face, {l} along x and {w} along y",
        "a raised pad on the top face, {l} (x) by {w} (y), {h} high",
    ),
    "slot along x": (
        "a through slot with round ends, {l} long overall along x and {w} wide",
        "a round-ended slot cut through, overall length {l} along x, width {w}",
    ),
    "slot along y": (
        "a through slot with round ends, {w} long overall along y and {l} wide",
        "a round-ended slot cut through, overall length {w} along y, width {l}",
    ),
    "boss": (
        "a cylindrical boss on the top face, diameter {d}, {h} high",
        "a round boss, {d} in diameter, rising {h} from the top face",
    ),
    "bored boss": (
        "a cylindrical boss on the top face, diameter {d}, {h} high, with a coaxial bore of diameter {bore} "
        "through boss and plate",
        "a round boss, {d} in diameter and {h} high on the top face, bored {bore} diameter through it and the plate",
    ),
}
_WORDS: Mapping[str, str] = {"boss": "boss", "bored boss": "boss", "pad": "pad", "pocket": "pocket"}


def describe_part(core: Mapping[str, Json], rng: np.random.Generator) -> str:
    """Return the plate and its features in words, wording drawn from `rng`."""
    plate = {name: write_length(length) for name, length in expect_map(core["plate"]).items()}
    features = [expect_map(feature) for feature in expect_list(core["features"])]
    names = [_name(expect_text(feature["kind"]), "ABCDEFGH"[place]) for place, feature in enumerate(features)]
    lines = [_pick(rng, _OPENINGS).format(**plate), _pick(rng, _FRAMES)]
    for feature, name in zip(features, names, strict=True):
        sizes = {key: write_length(length) for key, length in expect_map(feature["sizes"]).items()}
        body = _pick(rng, _BODIES[expect_text(feature["kind"])]).format(**sizes)
        lines.append(f"- {name[0].upper()}{name[1:]}: {body}; {_where(feature, names)}.")
    return "\n".join(lines)


def write_length(length: Json) -> str:
    """Return a length of a core as text with its unit: "12.5 mm", "0.375 in"."""
    thousandths, unit = expect_list(length)
    whole, rest = divmod(abs(expect_int(thousandths)), 1000)
    decimals = f"{rest:03d}".rstrip("0")
    return f"{whole}{'.' + decimals if decimals else ''} {unit}"


def _name(kind: str, letter: str) -> str:
    word = "slot" if kind in ("slot along x", "slot along y") else _WORDS.get(kind, "hole")
    return f"{word} {letter}"


def _pick(rng: np.random.Generator, choices: Sequence[str]) -> str:
    return choices[int(rng.integers(len(choices)))]


def _where(feature: Mapping[str, Json], names: Sequence[str]) -> str:
    many = expect_map(feature["many"])
    spot = [_along(expect_list(feature[axis]), axis, names) for axis in ("x", "y")]
    middle = " and ".join(spot)
    if "row" in many:
        count, pitch = expect_int(many["count"]), write_length(many["pitch"])
        way = "to the right" if many["row"] == "x" else "towards the back"
        row = f"{count} of them in a row along {many['row']}, {pitch} apart"
        return f"{row}; the first is centred {middle}, the others follow {way}"
    if "grid" in many:
        columns, rows = expect_list(many["grid"])
        steps = f"{write_length(many['px'])} apart in x and {write_length(many['py'])} in y"
        return f"a grid of {columns} columns (x) by {rows} rows (y), {steps}; the front left one is centred {middle}"
    if "circle" in many:
        circle = f"{many['circle']} of them, equally spaced on a circle of diameter {write_length(many['across'])}"
        first = f"the first at {many['first']} degrees (counter-clockwise from the x direction, seen from above)"
        return f"{circle}, {first}; the circle is centred {middle}"
    return f"centred {middle}{_MIRRORS[expect_text(many.get('mirror', ''))]}"


_MIRRORS: Mapping[str, str] = {
    "": "",
    "x": "; a second one lies symmetrically at the right end",
    "y": "; a second one lies symmetrically on the back side",
    "xy": "; the other three corners have the same, symmetrically",
}


def _along(place: Sequence[Json], axis: str, names: Sequence[str]) -> str:
    reference, length = place[0], write_length(place[1])
    thousandths = expect_int(expect_list(place[1])[0])
    if reference == "mid":
        return "midway between the left and right edges" if axis == "x" else "midway between the front and back edges"
    if isinstance(reference, str):
        return f"{length} from the {reference} edge"
    anchor = names[expect_int(reference)]
    if thousandths == 0:
        return f"level with the centre of {anchor} in {axis}"
    words = {"x": ("to the left of", "to the right of"), "y": ("in front of", "behind")}
    return f"{length} {words[axis][thousandths > 0]} the centre of {anchor}"
