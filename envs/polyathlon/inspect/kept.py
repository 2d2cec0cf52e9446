"""Results that are kept between commands: an inspection that was killed goes on, and one that was done is not redone.

A file is written aside and renamed, so that none is ever half there, and begins with the hash of the rest.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from polyathlon.canonical import content_hash
from polyathlon.inspect.check import Check
from polyathlon.inspect.depth import Depth
from polyathlon.inspect.finding import CheckResult

CACHE = "POLYATHLON_CACHE"
SHOWN_ONLY = ("waivers",)
"""Parts of a binding that decide how results are graded, not what they are."""
NUM_BINDINGS = 3
"""Of how many states of a domain's sources results are kept: two checkouts, and one to go back to."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What one check found: its results, its histogram, and the (level, seed, split) of tasks that episodes changed."""

    results: tuple[CheckResult, ...]
    rewards: Mapping[str, tuple[int, ...]]
    changed: tuple[tuple[int, int, str], ...] = ()


class DamagedResult(ValueError):
    """A kept result that cannot be read."""


def cache_folder() -> Path:
    """Return where results are kept: what POLYATHLON_CACHE names, else a folder in the user's cache."""
    if named := os.environ.get(CACHE):
        return Path(named)
    beneath = os.environ.get("XDG_CACHE_HOME")
    return (Path(beneath) if beneath else Path.home() / ".cache") / "polyathlon" / "inspection"


def domain_folder(cache: Path, domain_id: str) -> Path:
    """Return the folder of one domain in `cache`."""
    return cache / re.sub(r"[^A-Za-z0-9.-]", "_", domain_id)


class ResultStore:
    """The kept results of one domain, as its sources are now, at one depth."""

    def __init__(self, cache: Path, domain_id: str, parts: Mapping[str, str], depth: Depth) -> None:
        self._about: dict[str, str | int] = {
            **{name: digest for name, digest in parts.items() if name not in SHOWN_ONLY},
            "seeds": depth.num_seeds,
            "tier": depth.tier,
            "numpy": np.__version__,
            "python": platform.python_version(),
        }
        bound = content_hash({name: digest for name, digest in parts.items() if name not in SHOWN_ONLY})
        self._folder = domain_folder(cache, domain_id) / bound[:16]

    def get(self, check: Check) -> Kept | None:
        """Return what `check` found before; None when that is not known.

        Raises:
            DamagedResult: there is a file, and it is not as it was written.

        """
        path = self._path(check)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise DamagedResult(f"{path}: cannot be read ({error})") from error
        digest, _, body = text.partition("\n")
        if digest != _digest(body):
            raise DamagedResult(f"{path}: is not as it was written")
        try:
            return msgspec.convert(json.loads(body), Kept)
        except (ValueError, RecursionError, msgspec.ValidationError) as error:
            raise DamagedResult(f"{path}: holds something else ({error})") from error

    def put(self, check: Check, kept: Kept) -> None:
        """Keep what `check` found."""
        if not self._folder.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            _prune(self._folder.parent)
        body = json.dumps(msgspec.to_builtins(kept))
        write_whole(self._path(check), f"{_digest(body)}\n{body}")

    def _path(self, check: Check) -> Path:
        key = content_hash({**self._about, "check": check.id, "written": _source_digest(check)})
        return self._folder / f"{check.id}-{key[:16]}.json"


def forget(cache: Path, domain_id: str) -> None:
    """Remove all kept results of one domain."""
    for folder in domain_folder(cache, domain_id).glob("*/"):
        shutil.rmtree(folder, ignore_errors=True)


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path`: whoever reads it, or kills us, finds all of it or what was there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def _prune(folder: Path) -> None:
    """Remove the results of states of the sources that were not asked for in a long time."""
    states = sorted((path for path in folder.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime_ns)
    for path in states[:-NUM_BINDINGS]:
        shutil.rmtree(path, ignore_errors=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _source_digest(check: Check) -> str:
    """Return a hash of the file that the check's function is written in: it need not be one of the inspector's own."""
    module = sys.modules.get(getattr(check.look, "__module__", "") or "")
    path = getattr(module, "__file__", None)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else ""
