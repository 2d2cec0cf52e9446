"""What only this machine's own processes may reach: a file, a variable, a process, a listener. Closed when done."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "POLYATHLON_CANARY"
PROCESS_LIFE_S = 300


@dataclass(frozen=True, slots=True)
class Canaries:
    """The canaries while they live. `token` is what the file, the variable and the process's name hold."""

    token: str
    path: Path
    port: int
    listener: socket.socket

    @property
    def halves(self) -> tuple[str, str]:
        """The token in two, for a probe that must not find itself."""
        return self.token[:16], self.token[16:]

    @property
    def was_written(self) -> bool:
        """Whether somebody changed the file, or took it away."""
        try:
            return self.path.read_text(encoding="ascii") != self.token
        except (OSError, UnicodeDecodeError):
            return True

    @property
    def was_called(self) -> bool:
        """Whether somebody connected to the listener."""
        try:
            self.listener.accept()[0].close()
        except OSError:
            return False
        return True


@contextlib.contextmanager
def canaries() -> Iterator[Canaries]:
    """Open canaries: a file that all may read and write, a variable of this process, a sleeping process, a listener."""
    token = secrets.token_hex(16)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pc-")))
        folder.chmod(0o755)
        path = folder / "c"
        path.write_text(token, encoding="ascii")
        path.chmod(0o666)
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.settimeout(0.0)
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = token
        stack.callback(_restore, before)
        process = subprocess.Popen([token, str(PROCESS_LIFE_S)], executable="/bin/sleep")
        stack.callback(_end, process)
        yield Canaries(token, path, int(listener.getsockname()[1]), listener)


def _restore(before: str | None) -> None:
    if before is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = before


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
