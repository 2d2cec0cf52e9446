"""Whether two commands print the same on trees that no verifier has seen: run apart from any judgement."""

from __future__ import annotations

from polyathlon import Tree
from polyathlon.errors import TaskError
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.protocol import Limits
from polyathlon.seeding import child
from polyathlon.verify.commands import Ran, run_on_trees
from polyathlon_domains.terminal._requests import Request
from polyathlon_domains.terminal._twins import twins

NUM_GROUPS = 12  # of four trees
RUN_TIMEOUT_S = 30.0
LIMITS = Limits(cpu_s=15.0)


def same_command(right: str, other: str, request: Request, *, seed: str) -> bool:
    """Return whether both commands print the same things, in whatever order, on fresh trees grown for `request`.

    A command that is ended, or that prints nothing on some tree, counts as different.
    """
    groups = [trees for number in range(NUM_GROUPS) if (trees := _grown(request, seed, number))]
    return bool(groups) and all(_agree(right, other, trees, request) for trees in groups)


def _grown(request: Request, seed: str, number: int) -> tuple[Tree, ...]:
    try:
        return twins(request, child("one-liner proof", seed, number))
    except TaskError:  # this seed grows none
        return ()


def _agree(right: str, other: str, trees: tuple[Tree, ...], request: Request) -> bool:
    room = default_room()
    wanted, found = (
        run_on_trees(room, command, trees, limits=LIMITS, wall_s=RUN_TIMEOUT_S) for command in (right, other)
    )
    if found[1] != "exit" or len(found[0]) != len(wanted[0]):
        return False
    pairs = zip(wanted[0], found[0], strict=True)
    return not any(not two.output or _things(one, request) != _things(two, request) for one, two in pairs)


def _things(ran: Ran, request: Request) -> list[bytes]:
    mark = b"\0" if request.odd and request.want == "paths" else b"\n"
    return sorted(ran.output.split(mark))
