"""From (domain, level, seed, split) to a task: the same one in every process, and in its split by content."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from polyathlon.canonical import Json, content_hash
from polyathlon.domain import Core, Split, Task, TaskSource
from polyathlon.errors import DomainError, TaskError
from polyathlon.seeding import child

MAX_DRAWS = 1_000
HELD_OUT_ONE_IN = 10

_VERSION = re.compile(r"-v\d+$")


class Identified(Protocol):
    """A task source whose cores hold more than what makes a task: an item of another library, with all it came with."""

    def identity(self, core: Core) -> Json:
        """Return what makes the task of `core`: two cores that share it are one task, and lie in one split."""
        ...


@dataclass(frozen=True, slots=True)
class TaskKey:
    """What a worker is sent instead of a task."""

    domain_id: str
    level: int
    seed: int
    split: Split = "train"


def split_of(core_hash: str) -> Split:
    """Return the split that a content hash belongs to: a tenth of all hashes is held out."""
    return "test" if int(core_hash[:16], 16) % HELD_OUT_ONE_IN == 0 else "train"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A core that falls in its key's split, with its content hash."""

    core: Core
    content_hash: str


def draw_task(source: TaskSource, key: TaskKey) -> Task:
    """Return the task of `key`: cores are drawn until one falls in its split, then rendered once.

    Generators depend on the domain id without its version, so that mending a verifier keeps the tasks.

    Raises:
        TaskError: no core of the split in 1,000 draws.
        DomainError: a core or a brief is not plain JSON.

    """
    return render_task(source, key, draw_core(source, key))


def draw_core(source: TaskSource, key: TaskKey) -> Drawn:
    """Return the core of `key` alone, for whoever counts tasks and reads none: wording can cost a hundred cores.

    Raises:
        TaskError, DomainError: as `draw_task`.

    """
    rng = child(_name(key), key.level, key.seed, "draw")
    seen: set[str] = set()
    for _ in range(MAX_DRAWS):
        core = source.draw(rng, key.level)
        core_hash = _hash(source, core, key)
        if split_of(core_hash) == key.split:
            return Drawn(core, core_hash)
        seen.add(core_hash)
    raise TaskError(
        f"{key.domain_id}, level {key.level}: none of {MAX_DRAWS} draws falls in the {key.split} split; they held "
        f"{len(seen)} different cores. Make the level's space larger."
    )


def render_task(source: TaskSource, key: TaskKey, drawn: Drawn) -> Task:
    """Return the task of `key`, whose core is `drawn`."""
    brief = source.render(drawn.core, child(_name(key), key.level, key.seed, "render"))
    return Task(
        id=f"{key.domain_id}:{key.level}:{key.split}:{key.seed}",
        level=key.level,
        seed=key.seed,
        split=key.split,
        prompt=brief.prompt,
        public=brief.public,
        hidden=brief.hidden,
        content_hash=drawn.content_hash,
    )


def _name(key: TaskKey) -> str:
    return _VERSION.sub("", key.domain_id)


def _hash(source: TaskSource, core: Core, key: TaskKey) -> str:
    identity: Callable[[Core], Json] | None = getattr(source, "identity", None)
    try:
        return content_hash(core if identity is None else identity(core), where="core")
    except (TypeError, ValueError) as error:
        raise DomainError(f"{key.domain_id}, level {key.level}, seed {key.seed}: {error}") from error
