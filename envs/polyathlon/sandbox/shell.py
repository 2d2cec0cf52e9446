"""A persistent bash: commands go in on one descriptor, statuses come out on another, and neither meets the output."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from socket import socket

from polyathlon.sandbox.client import Lease
from polyathlon.sandbox.commands import Counts, Pipes, end, kill_reason, options, own_reason, unstarted, utf8
from polyathlon.sandbox.launcher.wire import memory_file
from polyathlon.sandbox.line import Ending
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
    "IFS= builtin read -r -d '' -u 5 __command; exec 5<&-; "
    'builtin eval "$__command" 3<&- 4>&- >/dev/null 2>&1; '
    "while builtin read -r -d '' -u 3 __number && [[ $__number != save ]] && "
    "IFS= builtin read -r -d '' -u 3 __command; do __restore; "
    'builtin eval -- "$__command" 3<&- 4>&-; __status=$?; '
    'builtin printf \'%s %d %s\\0\' "$__number" "$__status" "$PWD" >&4; done; '
    # To be killed after this: it waits, so that no trap of its own runs.
    f"{{ {_TELL_STATE}; }} 2>/dev/null >&4; builtin printf '\\0' >&4; builtin read -r -u 3"
)
_MAX_STATUS_BYTES = 65536
_MAX_STATE_BYTES = 2**20
_SAVE_LIMIT_S = 2.0


@dataclass(frozen=True, slots=True)
class SavedShell:
    """What outlives a shell: its directory, and the commands that set its variables, functions, options and so on.

    Both are the payload's own words, and may say anything. They are given to a shell in a sandbox of the same payload,
    and read nowhere else.
    """

    directory: str = "/workspace"
    state: bytes = b""


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
    """The persistent shell of one sandbox. Not thread-safe, but for `expect_death`."""

    def __init__(
        self,
        lease: Lease,
        limits: Limits,
        environment: Mapping[str, str],
        *,
        mounts: Sequence[str] = (),
        saved: SavedShell | None = None,
    ) -> None:
        self._lease = lease
        self._limits = limits
        self._options = [*mounts, *options(environment, directory="/")]  # where nobody can be locked out
        self._saved = saved or SavedShell()
        self._num_commands = 0
        self._doomed = False
        self._bash: _Bash | None = self._start()

    def run(self, command: str, *, timeout_s: float = 30.0, idle_s: float | None = None) -> Report:
        """Run `command`; see Shell.run."""
        if "\0" in command:
            return Report(2, "exit", stdout=b"bash: a command cannot hold a NUL byte\n")
        if self._doomed:
            self.close()
        started_s = time.monotonic()
        before, cpu_before_s = Counts.of(self._lease), self._lease.cpu_s()
        bash = self._bash = self._bash or self._start()
        output = Stream(self._limits.kept_bytes)
        bash.pipes.streams = dict.fromkeys(bash.pipes.streams, output)
        seen, status = self._converse(bash, command, started_s + timeout_s, idle_s)
        if status is not None:
            ended_by = own_reason(status, before.limit_hit(Counts.of(self._lease)))
            report = _report(status, ended_by, output, started_s)
        else:
            report = self._last_report(bash, seen, output, before, started_s)
        cpu_s = self._lease.cpu_s()
        used_s = None if cpu_s is None or cpu_before_s is None else cpu_s - cpu_before_s
        return replace(report, usage=self._lease.usage(used_s))

    def saved(self) -> SavedShell:
        """End the shell and return what the next one can start from. Costs nothing until it is called.

        The shell itself tells: one that hangs, or has more than 1 MiB to say, saves its directory alone, in 2 s.
        """
        bash = self._bash
        if bash is None or self._doomed:
            self.close()
            return self._saved
        state = self._tell(bash)
        self.close()
        self._saved = replace(self._saved, state=state)
        return self._saved

    def start(self, saved: SavedShell) -> None:
        """Have the next command run in a fresh shell that begins with what was `saved`, here or of another sandbox."""
        self.close()
        self._saved = saved

    def expect_death(self) -> None:
        """Take note that the shell is being killed: the next command goes to another. Any thread may call this."""
        self._doomed = True

    def close(self) -> None:
        """Kill the shell and everything it started. The next `run` starts a fresh one."""
        if self._bash is not None:
            self._end(self._bash, Watch(over=False))
        self._doomed = False

    def forget(self) -> None:
        """Close our ends without waiting: for when the whole sandbox goes."""
        if self._bash is not None:
            self._bash.close()
            self._bash = None

    def _tell(self, bash: _Bash) -> bytes:
        """Return what a bash that is asked to save says, b"" when it says nothing whole in time."""
        deadline_s = time.monotonic() + _SAVE_LIMIT_S
        if not _feed(bash.commands, b"save\0", deadline_s):
            return b""
        said = bash.unread
        while len(said) < _MAX_STATE_BYTES:
            seen = watch(bash.pipes.streams, bash.statuses, deadline_s=deadline_s, limits=self._limits)
            data = os.read(bash.statuses, 65536) if seen.over and not seen.flooded else b""
            said += data
            if data.endswith(b"\0"):
                return said.split(b"\0")[-2]
            if not data:
                break
        return b""

    def _last_report(self, bash: _Bash, seen: Watch, output: Stream, before: Counts, started_s: float) -> Report:
        """Return the report of a command that the shell did not outlive."""
        ending = self._end(bash, seen)
        limit_hit = before.limit_hit(Counts.of(self._lease))
        reason = kill_reason(seen, ending)
        if reason is None and not ending.started:
            report = unstarted(output.bytes(), limit_hit, wall_s=time.monotonic() - started_s)
            return replace(report, fresh_shell=True)
        code = None if reason else ending.exit_code
        return _report(code, reason or own_reason(ending.exit_code, limit_hit), output, started_s, fresh_shell=True)

    def _converse(self, bash: _Bash, command: str, deadline_s: float, idle_s: float | None) -> tuple[Watch, int | None]:
        """Send `command` and read until its status is there. No status: the shell has ended, or must."""
        self._num_commands += 1
        text = b"%d\0%b\0" % (self._num_commands, utf8(command))
        streams, limits = bash.pipes.streams, self._limits
        if not _feed(bash.commands, text, deadline_s):
            return watch(streams, bash.line, deadline_s=deadline_s, limits=limits, idle_s=idle_s), None
        while True:
            seen = watch(streams, bash.statuses, deadline_s=deadline_s, limits=limits, idle_s=idle_s)
            if not seen.over or seen.flooded:
                return replace(seen, over=False), None
            status = self._take_status(bash)
            if status is not None:
                drain(streams)
                return seen, status
            if len(bash.unread) > _MAX_STATUS_BYTES:
                return Watch(over=False, flooded=True), None
            if bash.gone:  # it exited, or it became another program that may still run
                return watch(streams, bash.line, deadline_s=deadline_s, limits=limits, idle_s=idle_s), None

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
                self._saved = SavedShell(os.fsdecode(directory))
                return int(status) & 0xFF
        return None

    def _end(self, bash: _Bash, seen: Watch) -> Ending:
        """Wait until all of `bash` is gone; kill it first, unless it was `seen` to be over."""
        self._bash = None
        try:
            return end(bash.line, bash.pipes.streams, seen, self._limits)
        finally:
            bash.close()

    def _start(self) -> _Bash:
        their_commands, commands = os.pipe()
        statuses, their_statuses = os.pipe()
        nothing = os.open("/dev/null", os.O_RDONLY)
        state = memory_file("state", self._saved.state + b"\0")
        os.set_blocking(commands, False)
        os.set_blocking(statuses, False)
        pipes = Pipes(1, kept_bytes=self._limits.kept_bytes)
        sink = pipes.sinks[0]
        argv = ["/bin/bash", "--norc", "--noprofile", "-c", _LOOP, "bash", self._saved.directory]
        try:
            fds = [nothing, sink, sink, their_commands, their_statuses, state]
            line = self._lease.spawn(argv, self._options, fds, cpu_s=self._limits.cpu_s)
        except BaseException:
            os.close(commands)
            os.close(statuses)
            pipes.close()
            raise
        finally:
            pipes.close_sinks()
            for fd in (nothing, their_commands, their_statuses, state):
                os.close(fd)
        self._saved = SavedShell(self._saved.directory)
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
