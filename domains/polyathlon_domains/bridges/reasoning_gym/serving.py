"""The process that holds the library: it answers one request after another, and a fork of it dies in its place.

Their verifiers evaluate answers as Python, take towers of powers, or never end. So each request has a limit of CPU time
that no C code can outlast (a signal that kills), memory is bounded, and what a fork leaves in globals dies with it.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
from collections.abc import Callable

from polyathlon.canonical import Json, expect_int, expect_map, expect_text
from polyathlon_domains.bridges.reasoning_gym import generators
from polyathlon_domains.bridges.reasoning_gym.line import receive, send
from polyathlon_domains.bridges.reasoning_gym.wire import Uncarried

CPU_LIMIT_S = 5.0
MAX_EXTRA_BYTES = 1 << 30
MAX_REASON_CHARS = 300
LINE_CLOSED = 113
"""The exit code of a fork whose asker has gone: none that an answer is likely to choose."""

_FORBIDDEN = frozenset(
    (
        "ctypes.dlopen", "os.chmod", "os.exec", "os.fork", "os.kill", "os.mkdir", "os.posix_spawn", "os.putenv",
        "os.remove", "os.rename", "os.rmdir", "os.spawn", "os.symlink", "os.system", "shutil.rmtree", "socket.bind",
        "socket.connect", "subprocess.Popen",
    )
)  # fmt: skip
_scoring = False


class Reached(BaseException):
    """An answer made its verifier touch the world. No `except Exception` of theirs may turn this into a score."""


def main(descriptor: int) -> None:
    """Answer the requests that come on the socket `descriptor`, until its other end is closed."""
    with socket.socket(fileno=descriptor) as line:
        generators.facts()  # imported once, before all forks
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # from here on it is theirs that would be talking
        _bound_memory()
        while (ending := _fork_and_wait(line)) != LINE_CLOSED:
            send(line, {"died": ending})


def _fork_and_wait(line: socket.socket) -> int:
    """Return how a fork that answers has ended: LINE_CLOSED, else its exit code, or -signal."""
    pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            sys.addaudithook(_refuse)
            _serve(line)
        except BaseException:  # it must not go on as its own parent
            os._exit(1)
        os._exit(LINE_CLOSED)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _serve(line: socket.socket) -> None:
    while True:
        try:
            request = expect_map(receive(line))
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_PROF, CPU_LIMIT_S)
        reply = _reply(_ACTS[expect_text(request["do"])], request)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        send(line, reply)


def _reply(act: Callable[[dict[str, Json]], Json], request: object) -> Json:
    global _scoring
    try:
        return {"done": act(dict(expect_map(request)))}  # type: ignore[arg-type]  # it is checked here
    except Uncarried as error:
        return {"uncarried": [error.place, error.kind]}
    except Reached as error:
        return {"raised": f"the answer ran as a program: {error}"}
    except Exception as error:  # theirs may raise anything; it is told, not swallowed
        return {"raised": f"{type(error).__name__}: {error}"[:MAX_REASON_CHARS]}
    finally:
        _scoring = False


def _facts(_: dict[str, Json]) -> Json:
    return [
        {
            "name": found.name,
            "family": found.family,
            "levels": found.levels,
            "broken_levels": dict(found.broken_levels),
            "default_scorer": found.default_scorer,
        }
        for found in generators.facts()
    ]


def _item(request: dict[str, Json]) -> Json:
    name, level, seed = expect_text(request["name"]), expect_int(request["level"]), expect_int(request["seed"])
    return generators.item(name, level, seed, ambient=expect_int(request["ambient"]))


def _aside(request: dict[str, Json]) -> Json:
    return generators.aside(expect_text(request["name"]), expect_int(request["level"]), request["item"])


def _score(request: dict[str, Json]) -> Json:
    global _scoring
    answer = request["answer"]
    assert answer is None or isinstance(answer, str)
    name, level = expect_text(request["name"]), expect_int(request["level"])
    generators.prepare(name, level)
    _scoring = True
    return generators.score(name, level, answer, request["item"])


_ACTS: dict[str, Callable[[dict[str, Json]], Json]] = {
    "aside": _aside,
    "facts": _facts,
    "item": _item,
    "score": _score,
}


def _refuse(event: str, args: tuple[object, ...]) -> None:
    """Stop what no verifier of an answer has any business with. A guard against accidents: no wall."""
    if not _scoring:
        return
    writes = event == "open" and len(args) > 1 and isinstance(args[1], str) and bool(set(args[1]) & set("wax+"))
    if writes or event in _FORBIDDEN:
        raise Reached(event)


def _bound_memory() -> None:
    with open("/proc/self/statm", encoding="ascii") as numbers:
        used = int(numbers.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MAX_EXTRA_BYTES, used + MAX_EXTRA_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


if __name__ == "__main__":
    main(int(sys.argv[1]))
