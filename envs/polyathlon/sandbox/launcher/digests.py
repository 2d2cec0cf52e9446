"""Digests of trees. Not imported by the launcher itself: every command forks it, and pays for what it has loaded."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from .trees import Step, portable


def digest_nodes(steps: Iterable[Step]) -> str:
    """Return the SHA-256 over all that a tar keeps of a tree, except times: those tell runs apart, not files.

    Whoever the owner is and wherever it is read: the same tree has the same digest.
    """
    whole = hashlib.sha256(b"polyathlon layer 1\n")
    for step in portable(steps):
        if step is None:
            whole.update(b"end\n")
            continue
        attributes = sorted(step.attributes.items())
        sizes = [len(os.fsencode(step.name)), len(os.fsencode(step.target)), len(step.data), len(attributes)]
        whole.update(f"{step.kind} {step.mode:o} {step.size} {step.opaque:d} {sizes}\n".encode("ascii"))
        whole.update(os.fsencode(step.name) + os.fsencode(step.target))
        for key, value in attributes:
            whole.update(f"{len(os.fsencode(key))} {len(value)}\n".encode("ascii") + os.fsencode(key) + value)
        for offset, data in step.data:
            whole.update(f"{offset} {len(data)}\n".encode("ascii"))
            whole.update(data)
    return whole.hexdigest()
