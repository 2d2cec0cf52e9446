"""What is told over a line when the two ends of it speak at once."""

from __future__ import annotations

import json
import socket

import pytest

from polyathlon.errors import SandboxLost
from polyathlon.sandbox.line import Ending, ended

ANSWER = {"status": 256, "started": True, "cpu_spent": False, "cpu_s": 0.5}


def test_an_answer_that_a_kill_has_crossed_is_an_answer() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            ours.send(b"kill")
            theirs.send(json.dumps(ANSWER).encode("ascii"))
        assert ended(ours) == Ending(exit_code=1, started=True, cpu_spent=False, cpu_s=0.5)


@pytest.mark.parametrize("words", [[], [b"kill"]])
def test_a_line_that_closes_without_an_answer_is_a_lost_sandbox(words: list[bytes]) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            for word in words:
                ours.send(word)
        with pytest.raises(SandboxLost, match="died while a command ran"):
            ended(ours)
