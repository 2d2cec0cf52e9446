"""A persistent bash: commands go in on one descriptor, statuses come out on another, and neither meets the output."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from socket import socket

from polyathlon.sandbox.client import Lease
from polyathlon.sandbox.commands import Counts, Pipes, kill_reason, options, own_reason, unstarted, utf8
from polyathlon.sandbox.launcher.wire import memory_file
from polyathlon.sandbox.line import Ending, ended
from polyathlon.sandbox.protocol import Limits, Reason, Report
from polyathlon.sandbox.streams import Stream, Watch, drain, watch

# All that a fresh bash can take over. The directory may have another name by now; the status comes last, so that the
# first `$?` is right too.
_TELL_STATE = (
    "builtin declare -p; builtin declare -f; builtin alias -p; builtin umask -p; builtin shopt -p; builtin set +o; "
    "builtin trap -p; builtin cd -P . && builtin printf '[[ . -ef $PWD ]] || builtin cd -- %q\\n' \"$PWD\"; "
    "builtin printf '__status=%d\\n' \"$__status\""
)
# `eval` runs with both descriptors closed, so that no child inherits them. Each status carries its command's number:
# one that a command forged for itself ends nothing but the wait for it.
# One line, so that bash counts the lines of a command from its own first.
_LOOP = (
    'cd -- "$1" 2>/dev/null || cd /workspace 2>/dev/null; '
    'set --; shopt -s expand_aliases; __status=0; __restore() { return "$__status"; }; '
    "IFS= builtin read -r -d '' -u 5 __command; exec 5<&-; builtin eval \"$__command\" 2>/dev/null; "
    "while builtin read -r -d '' -u 3 __number && IFS= builtin read -r -d '' -u 3 __command; do "
    f'if [[ $__number == state ]]; then {{ {_TELL_STATE}; }} 2>/dev/null >&4; builtin printf "\\0" >&4; continue; fi; '
    '__restore; builtin eval "$__command" 3<&- 4>&-; __status=$?; '
    'builtin printf \'%s %d %s\\0\' "$__number" "$__status" "$PWD" >&4; done'
)
_MAX_STATUS_BYTES = 65536
_MAX_STATE_BYTES = 2**20
_STATE_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class ShellState:
    """What a fresh bash goes on with: a directory, and the commands that set its variables and so on."""

    directory: str = "/workspace"
    text: bytes = b""


@dataclass(slots=True)
class _Bash:
    """A running bash and our ends of its descriptors. `unread` is the start of a status; `gone` is its end of file."""

    line: socket
    pipes: Pipes
    commands: int
    statuses: int
    unread: bytes = b""
    gone: bool = False

    def close(self) -> None:
        self.line.close()
        self.pipes.close()
        os.close(self.commands)
        os.close(self.statuses)


class BubblewrapShell:
    """The persistent shell of one sandbox. Not thread-safe."""

    def __init__(
        self,
        lease: Lease,
        limits: Limits,
        environment: Mapping[str, str],
        *,
        mounts: Sequence[str] = (),
        state: ShellState | None = None,
    ) -> None:
        self._lease = lease
        self._limits = limits
        self._options = [*mounts, *options(environment, directory="/")]  # where nobody can be locked out
        self._state = state or ShellState()
        self._num_commands = 0
        self._bash: _Bash | None = self._start()

    def run(self, command: str, *, timeout_s: float = 30.0) -> Report:
        """Run `command`; see Shell.run."""
        if "\0" in command:
            return Report(2, "exit", stdout=b"bash: a command cannot hold a NUL byte\n")
        started_s = time.monotonic()
        before = Counts.of(self._lease)
        bash = self._bash = self._bash or self._start()
        output = Stream(self._limits.kept_bytes)
        bash.pipes.streams = dict.fromkeys(bash.pipes.streams, output)
        seen, status = self._converse(bash, command, started_s + timeout_s)
        if status is not None:
            ended_by = own_reason(status, before.limit_hit(Counts.of(self._lease)))
            return _report(status, ended_by, output, started_s)
        ending = self._end(bash, seen)
        limit_hit = before.limit_hit(Counts.of(self._lease))
        reason = kill_reason(seen, ending)
        if reason is None and not ending.started:
            report = unstarted(output.bytes(), limit_hit, wall_s=time.monotonic() - started_s)
            return replace(report, fresh_shell=True)
        code = None if reason else ending.exit_code
        return _report(code, reason or own_reason(ending.exit_code, limit_hit), output, started_s, fresh_shell=True)

    def pause(self) -> ShellState:
        """Kill the shell and everything it started, and return what the next `run` goes on with.

        The shell itself tells: one that hangs, or has more than 1 MiB of variables, keeps its directory alone.
        """
        bash = self._bash
        if bash is not None:
            told = self._tell(bash, time.monotonic() + _STATE_TIMEOUT_S)
            self._end(bash, Watch(over=False))
            self._state = ShellState(self._state.directory, told)
        return self._state

    def go_back(self, state: ShellState) -> None:
        """Kill the shell and everything it started; the next `run` goes on from `state`."""
        self.close()
        self._state = state

    def _tell(self, bash: _Bash, deadline_s: float) -> bytes:
        told = b""
        if not _feed(bash.commands, b"state\0\0", deadline_s):
            return b""
        while not told.endswith(b"\0") and len(told) < _MAX_STATE_BYTES:
            seen = watch(bash.pipes.streams, bash.statuses, deadline_s=deadline_s, limits=self._limits)
            data = os.read(bash.statuses, 65536) if seen.over and not seen.flooded else b""
            told += data
            if not data:
                return b""
        return told.split(b"\0")[-2] if told.endswith(b"\0") else b""

    def close(self) -> None:
        """Kill the shell and everything it started. The next `run` starts a fresh one."""
        if self._bash is not None:
            self._end(self._bash, Watch(over=False))

    def forget(self) -> None:
        """Close our ends without waiting: for when the whole sandbox goes."""
        if self._bash is not None:
            self._bash.close()
            self._bash = None

    def _converse(self, bash: _Bash, command: str, deadline_s: float) -> tuple[Watch, int | None]:
        """Send `command` and read until its status is there. No status: the shell has ended, or must."""
        self._num_commands += 1
        if not _feed(bash.commands, b"%d\0%b\0" % (self._num_commands, utf8(command)), deadline_s):
            return watch(bash.pipes.streams, bash.line, deadline_s=deadline_s, limits=self._limits), None
        while True:
            seen = watch(bash.pipes.streams, bash.statuses, deadline_s=deadline_s, limits=self._limits)
            if not seen.over or seen.flooded:
                return replace(seen, over=False), None
            status = self._take_status(bash)
            if status is not None:
                drain(bash.pipes.streams)
                return seen, status
            if len(bash.unread) > _MAX_STATUS_BYTES:
                return Watch(over=False, flooded=True), None
            if bash.gone:  # it exited, or it became another program that may still run
                return watch(bash.pipes.streams, bash.line, deadline_s=deadline_s, limits=self._limits), None

    def _take_status(self, bash: _Bash) -> int | None:
        """Read what is there of statuses; return that of the last command, if it is among them."""
        data = os.read(bash.statuses, 4096)
        records = (bash.unread + data).split(b"\0")
        bash.unread = records.pop()
        bash.gone = not data
        for record in records:
            number, _, rest = record.partition(b" ")
            status, _, directory = rest.partition(b" ")
            if number == b"%d" % self._num_commands and status.isdigit():
                self._state = ShellState(os.fsdecode(directory))
                return int(status) & 0xFF
        return None

    def _end(self, bash: _Bash, seen: Watch) -> Ending:
        """Wait until all of `bash` is gone; kill it first, unless it was `seen` to be over."""
        self._bash = None
        try:
            if not seen.over:
                with contextlib.suppress(BrokenPipeError):  # it has ended just now, or the launcher has
                    bash.line.send(b"kill")
            ending = ended(bash.line)
            drain(bash.pipes.streams)
            return ending
        finally:
            bash.close()

    def _start(self) -> _Bash:
        their_commands, commands = os.pipe()
        statuses, their_statuses = os.pipe()
        nothing = os.open("/dev/null", os.O_RDONLY)
        state = memory_file("state", self._state.text + b"\0")
        os.set_blocking(commands, False)
        os.set_blocking(statuses, False)
        pipes = Pipes(1, kept_bytes=self._limits.kept_bytes)
        sink = pipes.sinks[0]
        argv = ["/bin/bash", "--norc", "--noprofile", "-c", _LOOP, "bash", self._state.directory]
        try:
            line = self._lease.spawn(argv, self._options, [nothing, sink, sink, their_commands, their_statuses, state])
        except BaseException:
            os.close(commands)
            os.close(statuses)
            pipes.close()
            raise
        finally:
            pipes.close_sinks()
            for fd in (nothing, their_commands, their_statuses, state):
                os.close(fd)
        return _Bash(line, pipes, commands, statuses)


def _feed(fd: int, text: bytes, deadline_s: float) -> bool:
    """Write all of `text` by the deadline; return whether that was possible."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    view = memoryview(text)
    while view:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0 or not poll.poll(left_s * 1000):
            return False
        try:
            view = view[os.write(fd, view) :]
        except BrokenPipeError:
            return False
        except BlockingIOError:
            continue
    return True


def _report(code: int | None, reason: Reason, output: Stream, started_s: float, *, fresh_shell: bool = False) -> Report:
    wall_s = time.monotonic() - started_s
    return Report(code, reason, output.bytes(), b"", output.clipped, wall_s, fresh_shell)
