"""A snapshot, as the launcher holds it, and how boxes are frozen, set back and opened on one."""

from __future__ import annotations

import marshal
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from . import kernel, layers
from .box import Amounts, Box, User, answer
from .layers import Layers, Place
from .trees import MovedFolder, Node, Step, read_nodes
from .worlds import Making, World, make_here, make_in_child

T = TypeVar("T")
_LOOSE_BYTES, _LOOSE_FILES = 2**40, 2**30  # what a loaded snapshot may take at first: the loader has counted it


@dataclass(slots=True)
class Frozen:
    """Layers that never change, in a world where nothing else is. Its user owns the files."""

    at: str
    user: User
    world: World
    layers: Layers

    def read(self, out: int) -> None:
        """Write the nodes of each layer's workspace to `out`. Runs in a child process."""
        self.world.enter()
        try:
            answer(out, "rows", self._workspaces(lambda steps: [step and tuple(step) for step in steps]))
        except OSError as error:
            answer(out, "error", str(error))

    def digest(self, out: int) -> None:
        """Write the digest of each layer's workspace to `out`. Runs in a child process."""
        from .digests import digest_nodes  # see there

        self.world.enter()
        try:
            answer(out, "rows", self._workspaces(digest_nodes))
        except OSError as error:
            answer(out, "error", str(error))

    def _workspaces(self, take: Callable[[Iterable[Step]], T]) -> list[T]:
        """Return what `take` makes of each layer that changed the workspace; of their sum, where one needs another."""
        marks = layers.make_marks(self.at)
        tops = [f"{self.at}/layers/{layer.path}/workspace" for layer in self.layers]
        try:
            return [take(read_nodes(top, marks=marks)) for top in tops if os.path.isdir(top)]
        except MovedFolder:
            kernel.unshare(kernel.NEW_MOUNTS)
            layers.show(Place(self.at, 0, 0, self.user.uid, self.user.gid), self.layers)
            return [take(read_nodes(f"{self.at}/box/workspace", marks=marks))]

    def fits(self, amounts: Amounts) -> bool:
        """Whether a box of these limits can hold the layers."""
        return (
            sum(layer.num_bytes for layer in self.layers) <= amounts.disk_bytes
            and sum(layer.num_files for layer in self.layers) <= amounts.max_files
        )

    def free(self) -> None:
        """Let go of the layers; boxes on them keep them."""
        self.world.close()
        self.user.free()


def start_freezing(box: Box) -> Making:
    """Leave nothing in the box's world but its layers, and make another world on top of them.

    The layers it returns are those of both. Every process of the box must be gone. An OSError of ENOTSUP or EMLINK
    means that nothing was done; after any other the box is of no use.
    """
    place = box.place

    def work() -> tuple[Layers, str]:
        box.world.enter()
        frozen = layers.freeze(place, box.layers)
        if place.crowded(frozen):
            frozen = layers.squash(place, frozen)
        return _stacked(place, frozen, layers.stack)

    def quick_work() -> tuple[Layers, str]:
        box.world.enter()
        if layers.takes_long(place, box.layers):
            raise _TakesLong
        return work()

    if box.world.users is not None:
        return make_in_child(work)
    try:
        return make_here(quick_work)
    except _TakesLong:
        return make_in_child(work)


class _TakesLong(Exception):
    """The launcher itself must not do it: every other box would wait."""


def start_stacking(frozen: Frozen, place: Place, stack: Callable[[Place, Layers], None]) -> Making:
    """Make a world on the layers of `frozen`, by layers.stack or stack_afresh."""

    def work() -> tuple[Layers, str]:
        frozen.world.enter()
        return _stacked(place, frozen.layers, stack)

    return (make_here if frozen.world.users is None else make_in_child)(work)


def _stacked(place: Place, below: Layers, stack: Callable[[Place, Layers], None]) -> tuple[Layers, str]:
    kernel.unshare(kernel.NEW_MOUNTS)
    stack(place, below)
    return below, f"{place.at}/top"


def start_loading(at: str, user: User, trees: int) -> Making:
    """Make the world of a snapshot, in a child. `trees` is a file of the nodes of its layers, lowest first."""
    place = Place(at, _LOOSE_BYTES, _LOOSE_FILES, user.uid, user.gid)

    def work() -> tuple[Layers, str]:
        with open(trees, "rb", closefd=False) as file:
            file.seek(0)
            rows = marshal.load(file)  # from the trainer, never from a payload
        own = user.claim is None
        kernel.unshare(kernel.NEW_MOUNTS | kernel.NEW_USER if own else kernel.NEW_MOUNTS)
        if own:
            kernel.map_only_myself(user.uid, user.gid)
        made: Layers = ()
        for steps in rows:
            made = layers.add(place, made, (step and Node(*step) for step in steps))
        return made, at

    return make_in_child(work)
