"""Commands that show a fault again, to be pasted into a shell."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

MAX_TYPED_CHARS = 2_000
"""A command with longer messages than that is not for typing; the messages go into a file."""


def replay_command(domain_id: str, level: int, seed: int, actions: Sequence[str] = ()) -> str:
    """Return the command that plays the task again, and sends `actions` where they are few enough to be typed."""
    play = f"polyathlon play {shlex.quote(domain_id)} --level {level} --seed {seed}"
    typed = written(actions)
    return f"{play} --actions {shlex.quote(typed)}" if actions and len(typed) <= MAX_TYPED_CHARS else play


def replay_from(path: Path, domain_id: str, level: int, seed: int) -> str:
    """Return the command that plays the task again with the messages in the file at `path`."""
    return f"{replay_command(domain_id, level, seed)} --actions {shlex.quote(f'@{path.as_posix()}')}"


def written(actions: Sequence[str]) -> str:
    """Return messages as `polyathlon play --actions` takes them: a JSON list in ASCII, whatever they hold."""
    return json.dumps(list(actions))
