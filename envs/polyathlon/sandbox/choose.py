"""Which sandboxes this process uses: chosen once, proven by attack at the first use, refused when they do not hold."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

from polyathlon.errors import SandboxRefused
from polyathlon.sandbox.bubblewrap import BubblewrapRoom
from polyathlon.sandbox.protocol import Room

VARIABLE = "POLYATHLON_SANDBOX"
_BACKENDS: dict[str, Callable[[], BubblewrapRoom]] = {"bubblewrap": BubblewrapRoom}


def default_room() -> Room:
    """Return this process's room. Costs nothing until `open`; POLYATHLON_SANDBOX names the backend.

    Raises:
        SandboxRefused: no such backend.

    """
    return _room(os.environ.get(VARIABLE) or "bubblewrap", os.getpid())


@functools.cache
def _room(name: str, _: int) -> Room:
    if name not in _BACKENDS:
        raise SandboxRefused(
            f"{VARIABLE} is {name!r}; there is {', '.join(sorted(_BACKENDS))}. Nothing runs unisolated."
        )
    return _BACKENDS[name]()
