"""Small classifiers that read a prompt's surface and understand nothing: what they get right, the surface tells."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polyathlon.domain import Task

DIMENSIONS = 2_048
GRAM_CHARS = 4
MAX_READ_CHARS = 6_000
SEED_MODULI = (2, 3, 5, 7, 10)
MAX_FIELDS = 12
MIN_SEEN = 2
"""A class that was seen less often has taught nothing about when it comes again."""

Floats = NDArray[np.float32]
_SEPARATORS = re.compile(r"([;,\n\t |=]+)")


def surface(tasks: Sequence[Task], texts: Sequence[str]) -> Floats:
    """Return hashed counts, (tasks, DIMENSIONS), float32: n-grams and words of each text, its length, its seed."""
    table = np.zeros((len(tasks), DIMENSIONS), dtype=np.float32)
    for row, (task, text) in enumerate(zip(tasks, texts, strict=True)):
        for token, count in Counter(_tokens(task, text[:MAX_READ_CHARS])).items():
            table[row, zlib.crc32(token.encode("utf-8", "surrogatepass")) % DIMENSIONS] += count
    return table


def _tokens(task: Task, text: str) -> list[str]:
    lines, words = text.splitlines(), text.split()
    tokens = [text[k : k + GRAM_CHARS] for k in range(len(text) - GRAM_CHARS + 1)]
    tokens += [f"word {word}" for word in words]
    tokens += [f"first {word}" for word in words[:3]] + [f"last {word}" for word in words[-3:]]
    tokens += [f"line {number} is {len(line)} long" for number, line in enumerate(lines[:8])]
    tokens += [f"length {len(text) // 8}", f"{len(words)} words", f"{len(lines)} lines", f"level {task.level}"]
    return tokens + [f"seed {task.seed % modulus} of {modulus}" for modulus in SEED_MODULI]


def nearest(train: Floats, asked: Floats) -> NDArray[np.intp]:
    """Return for each asked row the train row whose counts, rare ones weighing more, point the same way: (asked,)."""
    weights = np.log((1 + len(train)) / (1 + (train > 0).sum(axis=0)))  # (DIMENSIONS,)
    mine, theirs = _unit(train * weights), _unit(asked * weights)
    return np.asarray((theirs @ mine.T).argmax(axis=1), dtype=np.intp)


def bayes(train: Floats, labels: Sequence[str], asked: Floats) -> list[str]:
    """Return for each asked row the label that naive Bayes thinks likeliest, of those seen at least twice.

    Where none was, the most frequent one.
    """
    seen = Counter(labels)
    classes = sorted(label for label, count in seen.items() if count >= MIN_SEEN)
    if len(classes) < 2:
        return [seen.most_common(1)[0][0]] * len(asked)
    places = {label: place for place, label in enumerate(classes)}
    kept = [row for row, label in enumerate(labels) if label in places]
    members = np.zeros((len(classes), len(kept)), dtype=np.float32)  # (classes, kept) one-hot
    members[[places[labels[row]] for row in kept], range(len(kept))] = 1.0
    present = (train[kept] > 0).astype(np.float32)
    sizes = members.sum(axis=1, keepdims=True)
    likely = (members @ present + 1.0) / (sizes + 2.0)  # (classes, DIMENSIONS) chance that a feature is there
    there, gone = np.log(likely), np.log1p(-likely)
    scores = (asked > 0) @ (there - gone).T + gone.sum(axis=1) + np.log(sizes[:, 0] / len(kept))
    return [classes[place] for place in scores.argmax(axis=1)]


def by_fields(train: Floats, answers: Sequence[str], asked: Floats) -> list[str]:
    """Return answers put together from fields, each guessed by itself: of the most frequent shape of answer.

    A shape is how many fields there are, and what stands between them.
    """
    split = [_SEPARATORS.split(answer) for answer in answers]
    shapes = Counter(_shape(parts) for parts in split)
    shape = shapes.most_common(1)[0][0]
    rows = [row for row, parts in enumerate(split) if _shape(parts) == shape]
    num_fields = (len(split[rows[0]]) + 1) // 2
    if num_fields > MAX_FIELDS:
        return [answers[rows[0]]] * len(asked)
    guessed = [bayes(train[rows], [split[row][2 * field] for row in rows], asked) for field in range(num_fields)]
    marks = split[rows[0]][1::2]
    return [
        "".join(part for pair in zip(fields, [*marks, ""], strict=True) for part in pair)
        for fields in zip(*guessed, strict=True)
    ]


def _shape(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(parts[1::2])


def _unit(table: Floats) -> Floats:
    norms = np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray(table / np.maximum(norms, 1e-9), dtype=np.float32)
