"""Runs a program nobody trusts on one list of arguments after another, each in a fork of its own.

Sent as text to an isolated interpreter. Standard input: one JSON object with `nonce`, `source`, `entry`, `cases` (lists
of arguments), `memory_bytes`, `cpu_s`, `wall_s`, `max_result_bytes`. Standard output: one line `<nonce> ready`, then a
line `<nonce> <case number> <JSON>` for each case that came to an end. What a right result is, is not known here:
whoever forges a line must already know it.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any

MAX_STUCK_CASES = 2  # after so many cases over their time, the rest is not run


def plain(value: object) -> Any:
    """Return `value` rebuilt from exact plain types; a tuple or set is marked as such, so that it equals no list.

    Raises:
        TypeError: `value` holds anything else, such as a subclass of int.

    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [plain(inner) for inner in value]  # type: ignore[attr-defined]  # a list, as `kind` says
    if kind is tuple:
        return {"(tuple)": [plain(inner) for inner in value]}  # type: ignore[attr-defined]  # a tuple
    if kind is set:
        return {"(set)": sorted(map(repr, value))}  # type: ignore[call-overload]  # a set
    if kind is dict:
        if any(type(key) is not str for key in value):  # type: ignore[attr-defined]  # a dict
            return {"(dict)": sorted([repr(k), plain(v)] for k, v in value.items())}  # type: ignore[attr-defined]
        return {key: plain(inner) for key, inner in value.items()}  # type: ignore[attr-defined]  # a dict
    raise TypeError(f"{kind.__name__} is no plain value")


def outcome(source: str, entry: str, arguments: list[Any]) -> Any:
    """Return {"value": result}, or {"error": class name} of what `entry` raised; {"broken": why} when there is no call."""
    scope: dict[str, Any] = {"__name__": "solution", "__builtins__": __builtins__}
    try:
        exec(compile(source, "<solution>", "exec"), scope)  # noqa: S102  # this is what the sandbox is for
        function = scope[entry]
    except BaseException as error:
        return {"broken": type(error).__name__}
    try:
        result = function(*arguments)
    except BaseException as error:
        return {"error": type(error).__name__}
    try:
        return {"value": plain(result)}
    except BaseException as error:
        return {"broken": type(error).__name__}


def limit_self(request: dict[str, Any]) -> None:
    """Give up forks and threads for good, and all but a little memory, time and disk."""
    for limit, value in (
        (resource.RLIMIT_AS, request["memory_bytes"]),
        (resource.RLIMIT_CPU, request["cpu_s"]),
        (resource.RLIMIT_FSIZE, 2**20),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
    ):
        resource.setrlimit(limit, (value, value))


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
    found = outcome(request["source"], request["entry"], arguments)
    try:
        text = json.dumps(found, allow_nan=False)
    except BaseException as error:
        text = json.dumps({"broken": type(error).__name__})
    data = text.encode("ascii")
    while data:
        data = data[os.write(pipe, data) :]
    os._exit(0)


def collect(pipe: int, *, wall_s: float, max_bytes: int) -> tuple[bytes, bool]:
    """Return what `pipe` gave until it closed, and whether it closed in time. Too much counts as nothing."""
    data, deadline = b"", time.monotonic() + wall_s
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return b"", False
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
        data, in_time = collect(reader, wall_s=request["wall_s"], max_bytes=request["max_result_bytes"])
    finally:
        os.close(reader)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    spent = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) and not data
    return data, in_time and not spent


def main() -> None:
    """Serve the one request on standard input."""
    request = json.loads(sys.stdin.buffer.read())
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
