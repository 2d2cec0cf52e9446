"""The library's process, from this side: items and scores by request, whatever becomes of the process on the way."""

from __future__ import annotations

import atexit
import functools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

from polyathlon.canonical import Json, expect_int, expect_list, expect_map, expect_text
from polyathlon.errors import TaskError, VerifierError
from polyathlon_domains.bridges.reasoning_gym import serving
from polyathlon_domains.bridges.reasoning_gym.line import receive, send

WALL_LIMIT_S = 60.0
START_LIMIT_S = 120.0
END_LIMIT_S = 5.0
MAX_WORDS = 400
HASH_SEED = 0


@dataclass(frozen=True, slots=True)
class Generator:
    """What the library says of one generator. `broken_levels`: its curriculum's levels that are none here, with why."""

    name: str
    family: str
    levels: int
    broken_levels: Mapping[str, str]
    default_scorer: bool


class Theirs:
    """One process of the library, started at the first request and again whenever it is gone. For many threads.

    `hash_seed` is its PYTHONHASHSEED and `ambient` seeds the random numbers that it takes from nobody's generator: with
    these, and UTC and an empty environment, an item depends on (generator, level, seed) alone.
    """

    def __init__(self, *, hash_seed: int = HASH_SEED, ambient: int = 0) -> None:
        self._hash_seed, self._ambient = hash_seed, ambient
        self._lock = threading.Lock()
        self._line: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._words: BinaryIO | None = None
        self._owner_pid = os.getpid()

    def generators(self) -> dict[str, Generator]:
        """Return every generator by name.

        Raises:
            TaskError: the library cannot be used.

        """
        try:
            found = self._ask({"do": "facts"}, limit_s=START_LIMIT_S)
        except _Failed as error:
            raise TaskError(f"reasoning-gym cannot be used: {error}") from error
        return {generator.name: generator for generator in map(_generator, expect_list(found))}

    def item(self, name: str, level: int, seed: int) -> Mapping[str, Json]:
        """Return an item of generator `name`, as `wire` writes it.

        Raises:
            TaskError: the generator raised, took more than 5 s of CPU, or gave what cannot be carried.

        """
        request: dict[str, Json] = {"do": "item", "name": name, "level": level, "seed": seed, "ambient": self._ambient}
        try:
            return expect_map(self._ask(request))
        except _Failed as error:
            raise TaskError(f"reasoning-gym {name}, level {level}, seed {seed}: its generator {error}") from error

    def score(self, name: str, level: int, answer: str | None, item: Mapping[str, Json]) -> float:
        """Return what the generator's own verifier gives `answer`: any finite number.

        Raises:
            VerifierError: it raised, took more than 5 s of CPU or 1 GiB, ended its process, or gave no finite number.

        """
        request: dict[str, Json] = {"do": "score", "name": name, "level": level, "answer": answer, "item": item}
        try:
            found = self._ask(request)
        except _Failed as error:
            raise VerifierError(f"reasoning-gym's verifier of {name} {error}") from error
        if not isinstance(found, int | float):
            raise VerifierError(f"reasoning-gym's verifier of {name} gave {found}, which is no score")
        return float(found)

    def aside(self, name: str, level: int, item: Mapping[str, Json]) -> Mapping[str, bool]:
        """Return, of an item whose answer is right, `line_feed_costs` and `changes_item`: see `generators.aside`.

        Raises:
            VerifierError: as `score`.

        """
        try:
            found = expect_map(self._ask({"do": "aside", "name": name, "level": level, "item": item}))
        except _Failed as error:
            raise VerifierError(f"reasoning-gym's verifier of {name} {error}") from error
        return {key: value is True for key, value in found.items()}

    def close(self) -> None:
        """End the process. May be called twice."""
        with self._lock:
            self._end()

    def _ask(self, request: Json, *, limit_s: float = WALL_LIMIT_S) -> Json:
        with self._lock:
            line = self._open()
            line.settimeout(limit_s)
            try:
                send(line, request)
                reply = expect_map(receive(line))
            except TimeoutError:
                self._end()
                raise _Failed(f"did not end within {limit_s:g} s") from None
            except (EOFError, OSError) as error:
                self._end()
                raise _Failed(f"took its process down with it ({error}) {self._last_words()}") from error
        if "done" in reply:
            return reply["done"]
        raise _Failed(_cause(reply))

    def _open(self) -> socket.socket:
        if self._owner_pid != os.getpid():  # a fork of ours: the line belongs to whoever opened it
            self._line, self._process, self._owner_pid = None, None, os.getpid()
        if self._line is None:
            self._line, theirs = socket.socketpair()
            self._words = self._words or tempfile.TemporaryFile()  # noqa: SIM115  # open as long as this is
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", serving.__name__, str(theirs.fileno())],
                    pass_fds=(theirs.fileno(),),
                    env=_environment(self._hash_seed),
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._words,
                )
            atexit.register(self.close)
        return self._line

    def _last_words(self) -> str:
        """Return the end of what the process wrote until it was ready: why it could not start."""
        if self._words is None:
            return ""
        self._words.seek(0)
        text = self._words.read().decode(errors="replace")[-MAX_WORDS:]
        self._words.truncate(0)
        return text

    def _end(self) -> None:
        line, process = self._line, self._process
        self._line, self._process = None, None
        if line is not None:
            line.close()
        if process is None or self._owner_pid != os.getpid():
            return
        try:
            process.wait(END_LIMIT_S / 10)  # it ends with its line, unless it is at work
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(END_LIMIT_S)


class _Failed(Exception):
    """A request was not answered; the text says what its generator or its verifier did, as a verb."""


@functools.cache
def theirs() -> Theirs:
    """Return the process that all domains of this one share."""
    return Theirs()


@functools.cache
def elsewhere() -> Theirs:
    """Return another one, in which all that should not matter is different: hash seed and ambient random numbers."""
    return Theirs(hash_seed=4242, ambient=1)


@functools.cache
def known_generators() -> Mapping[str, Generator]:
    """Return every generator by name."""
    return theirs().generators()


def _environment(hash_seed: int) -> dict[str, str]:
    return {
        "PATH": os.defpath,
        "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path if path),
        "PYTHONHASHSEED": str(hash_seed),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "agg",
    }


def _cause(reply: Mapping[str, Json]) -> str:
    if "uncarried" in reply:
        place, kind = map(expect_text, expect_list(reply["uncarried"]))
        return f"gives an item with a {kind} at {place}, which cannot be carried as JSON"
    if "died" in reply:
        return f"ended its process ({_ending(expect_int(reply['died']))})"
    return f"raised {expect_text(reply['raised'])}"


def _ending(code: int) -> str:
    if code == -signal.SIGPROF:
        return f"more than {serving.CPU_LIMIT_S:g} s of CPU"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _generator(found: Json) -> Generator:
    row = expect_map(found)
    broken = {level: expect_text(why) for level, why in expect_map(row["broken_levels"]).items()}
    name, family = expect_text(row["name"]), expect_text(row["family"])
    return Generator(name, family, expect_int(row["levels"]), broken, row["default_scorer"] is True)
