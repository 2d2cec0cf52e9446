"""Child generators of named seeds: adding a draw in one place moves nothing in another."""

from __future__ import annotations

import hashlib

import numpy as np

from polyathlon.canonical import canonical_json


def child(*names: str | int) -> np.random.Generator:
    """Return a fresh generator that depends on `names` and on nothing else.

    The names are hashed together (SHA-256 of their canonical JSON), never added: child("a", 1) and child("a", 2)
    are independent, and so are child("a", 12) and child("a", 1, 2).
    """
    digest = hashlib.sha256(canonical_json(list(names)).encode("ascii")).digest()
    # the first 16 bytes as one big-endian integer, in the words (least first) that numpy would split it into, slower
    words = np.frombuffer(digest, ">u4", count=4)[::-1].astype(np.uint32)  # (4,)
    return np.random.Generator(np.random.PCG64(words))


def child_seed(*names: str | int) -> int:
    """Return a seed in [0, 2**63) that depends on `names` and on nothing else."""
    digest = hashlib.sha256(canonical_json(list(names)).encode("ascii")).digest()
    return int.from_bytes(digest[16:24], "big") >> 1
