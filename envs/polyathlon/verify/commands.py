"""Judging a shell command: it runs on hidden trees in a sandbox, and what it must print never leaves this process."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polyathlon.sandbox.protocol import Limits, Reason, Room
from polyathlon.sandbox.warm import judge_python
from polyathlon.tree import Tree
from polyathlon.verify.program import framed_lines

MAX_OUTPUT_BYTES = 32 * 2**10
_SERVER = (Path(__file__).parent / "inside" / "command_server.py").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did on one tree. `status` is a shell's: 128 and the number for a signal.

    Of an output beyond 32 KiB, `output` is the start, one byte longer than that.
    """

    status: int
    output: bytes


def run_on_trees(
    room: Room, command: str, trees: Sequence[Tree], *, limits: Limits, wall_s: float
) -> tuple[tuple[Ran, ...], Reason]:
    """Return what `bash -c command` does in each of `trees`, and "exit", or why the runs could not go on.

    One fresh sandbox, in which the trees are /workspace/0, /workspace/1, ... and the runs come one after the other:
    what one leaves behind, the next may meet. So judge by outputs that only a right command prints on the trees as
    they were. Standard input is empty, standard error discarded, the locale C, the zone UTC. A run that takes longer
    than `wall_s`, or writes 4 MiB, ends all of it: "timeout". Fewer runs than trees: the command saw to that.

    Raises:
        SandboxLost: the sandbox died for a reason that is not the command's.
        VerifierError: the interpreter in the sandbox did not start.

    """
    nonce = secrets.token_hex(16)
    rows = [[(path, e.kind, e.mode, e.data, e.mtime_s) for path, e in tree.entries.items()] for tree in trees]
    request = {
        "nonce": nonce,
        "command": command,
        "trees": rows,
        "wall_s": wall_s,
        "max_bytes": MAX_OUTPUT_BYTES,
    }
    report = judge_python(
        room,
        _SERVER,
        stdin=ascii(request).encode("ascii"),
        limits=replace(limits, kept_bytes=4 * MAX_OUTPUT_BYTES * (len(trees) + 1)),
        timeout_s=wall_s * len(trees) + wall_s,
    )
    ran = tuple(_read(line) for line in framed_lines(report, nonce))[: len(trees)]
    return ran, "timeout" if any(each.status == -1 for each in ran) else report.reason


def _read(line: str) -> Ran:
    """Read a line of the server, or one that a command forged: then it is a run that failed."""
    try:
        _, status, output = line.split(" ")
        return Ran(int(status), bytes.fromhex(output))  # sound: caught below
    except ValueError:
        return Ran(126, b"")
