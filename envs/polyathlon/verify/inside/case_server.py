"""Runs a program nobody trusts on one list of arguments after another, each in a fork of its own.

Sent as text to an isolated interpreter. Standard input: one Python literal, an object with `nonce`, `source`, `entry`,
`cases` (lists of arguments), `memory_bytes`, `cpu_s`, `wall_s`, `max_result_bytes`. Standard output: one line
`<nonce> ready`, then a line `<nonce> <case number> <JSON>` for each case that came to an end. What a right result is,
is not known here: whoever forges a line must already know it.

Only modules that load in a millisecond are used: `json` and `signal` would double the cost of a verdict.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # the part of signal that is written in C
import gc
import os
import resource
import select
import sys
import time
from _json import encode_basestring_ascii as quoted

TYPE_CHECKING = False  # importing typing would cost more than all else here
if TYPE_CHECKING:
    from typing import Any

MAX_STUCK_CASES = 2  # after so many cases over their time, the rest is not run


def written(value: object) -> str:
    """Return `value` as JSON; a tuple, a set or odd keys are marked as such, so that they equal no list or object.

    Raises:
        TypeError: `value` holds anything but exact plain types, such as a subclass of int.

    """
    kind = type(value)
    if value is None or value is True or value is False:
        return "null" if value is None else "true" if value else "false"
    if kind is int or (kind is float and value - value == 0):  # type: ignore[operator]  # a number; not inf, not nan
        return repr(value)
    if kind is str:
        return quoted(value)  # type: ignore[arg-type]  # a string
    if kind is list:
        return f"[{','.join(map(written, value))}]"  # type: ignore[call-overload]  # a list
    if kind is tuple:
        return f'{{"(tuple)":{written(list(value))}}}'  # type: ignore[call-overload]  # a tuple
    if kind is set:
        return f'{{"(set)":{written(sorted(map(written, value)))}}}'  # type: ignore[call-overload]  # a set
    if kind is dict:
        pairs = [(written(key), written(inner)) for key, inner in value.items()]  # type: ignore[attr-defined]  # a dict
        if all(key[0] == '"' for key, _ in pairs):
            return f"{{{','.join(f'{key}:{inner}' for key, inner in pairs)}}}"
        return f'{{"(dict)":{written(sorted(pairs))}}}'
    raise TypeError(f"{kind.__name__} is no plain value")


def outcome(source: str, entry: str, arguments: list[Any]) -> str:
    """Return {"value": result}, {"error": class name} of what `entry` raised, or {"broken": why} as JSON."""
    scope: dict[str, Any] = {"__name__": "solution", "__builtins__": __builtins__}
    try:
        exec(compile(source, "<solution>", "exec"), scope)  # noqa: S102  # this is what the sandbox is for
        function = scope[entry]
    except BaseException as error:
        return f'{{"broken":{quoted(type(error).__name__)}}}'
    try:
        result = function(*arguments)
    except BaseException as error:
        return f'{{"error":{quoted(type(error).__name__)}}}'
    try:
        return f'{{"value":{written(result)}}}'
    except BaseException as error:
        return f'{{"broken":{quoted(type(error).__name__)}}}'


def limit_self(request: dict[str, Any]) -> None:
    """Give up forks and threads for good, and all but a little memory, time and disk."""
    for limit, value in (
        (resource.RLIMIT_AS, request["memory_bytes"]),
        (resource.RLIMIT_CPU, 1 + int(request["cpu_s"])),
        (resource.RLIMIT_FSIZE, 2**20),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
    ):
        resource.setrlimit(limit, (value, value))
    signal.setitimer(signal.ITIMER_PROF, request["cpu_s"])  # ends it sooner than whole seconds can, unless it is undone


def forks_are_refused(request: dict[str, Any]) -> bool:
    """Return whether a limited child really cannot fork: the kernel exempts the host's root, whatever its name here."""
    pid = os.fork()
    if pid == 0:
        limit_self(request)
        try:
            grandchild = os.fork()
        except OSError:
            os._exit(0)
        if grandchild:
            os.waitpid(grandchild, 0)
        os._exit(1)
    _, status = os.waitpid(pid, 0)
    return status == 0


def run_child(request: dict[str, Any], arguments: list[Any], pipe: int) -> None:
    """Become the candidate: no way out but `pipe`, no forks, little memory. Never returns."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    limit_self(request)
    data = outcome(request["source"], request["entry"], arguments).encode("ascii")
    while data:
        data = data[os.write(pipe, data) :]
    os._exit(0)


def is_runnable(pid: int) -> bool:
    """Return whether a process would run if only the machine let it: a starved one is not to blame for its delay."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"R"
    except OSError:
        return False


def collect(pid: int, pipe: int, *, wall_s: float, max_bytes: int) -> tuple[bytes, bool]:
    """Return what `pipe` gave until it closed, and whether it closed in time. Too much counts as nothing.

    The clock on the wall ends only a process that waits; one that computes is ended by its CPU time.
    """
    data, deadline = b"", time.monotonic() + wall_s
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            if not is_runnable(pid):
                return b"", False
            deadline = time.monotonic() + wall_s
            continue
        chunk = os.read(pipe, 65536)
        if not chunk:
            return data, True
        data += chunk
        if len(data) > max_bytes:
            return b"", True


def run_case(request: dict[str, Any], arguments: list[Any]) -> tuple[bytes, bool]:
    """Return the bytes one forked case wrote, and whether it kept within its time."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            run_child(request, arguments, writer)
        finally:
            os._exit(1)
    os.close(writer)
    try:
        data, in_time = collect(pid, reader, wall_s=request["wall_s"], max_bytes=request["max_result_bytes"])
    finally:
        os.close(reader)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    spent = (
        os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGPROF, signal.SIGKILL) and not data
    )
    return data, in_time and not spent


def main() -> None:
    """Serve the one request on standard input."""
    request = eval(sys.stdin.buffer.read())  # noqa: S307  # a literal that the judge wrote
    gc.disable()
    gc.freeze()  # what is shared with the forks stays shared
    if not forks_are_refused(request):
        sys.exit("a limited process can still fork here: refusing to run a candidate as the host's root")
    nonce = request["nonce"].encode("ascii")
    os.write(1, nonce + b" ready\n")
    stuck = 0
    for number, arguments in enumerate(request["cases"]):
        data, in_time = run_case(request, arguments)
        if data and b"\n" not in data:
            os.write(1, b"%s %d %s\n" % (nonce, number, data))
        stuck += not in_time
        if stuck >= MAX_STUCK_CASES:
            return


if __name__ == "__main__":
    main()
