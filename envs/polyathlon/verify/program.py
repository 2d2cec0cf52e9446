"""Judging Python programs out of process: the candidate computes in a sandbox, expected values never leave this one."""

from __future__ import annotations

# sound everywhere, endswith: a nonce and a case's number, in a frame of our own
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polyathlon.canonical import Json, parse_json
from polyathlon.errors import SandboxLost, VerifierError
from polyathlon.sandbox.protocol import Limits, Report, Room
from polyathlon.sandbox.warm import judge_python
from polyathlon.verify.text import same_value

MAX_SOURCE_CHARS = 20_000
MAX_RESULT_BYTES = 8 * 2**10
CASE_CPU_S = 0.3
CASE_WALL_S = 2.5
JUDGE_TIMEOUT_S = 30.0  # the server ends sooner by itself, unless the candidate stops it or the machine is starved
MEMORY_BYTES = 192 * 2**20

_SERVER = (Path(__file__).parent / "inside" / "case_server.py").read_text(encoding="utf-8")
_LIMITS = Limits(memory_bytes=256 * 2**20, disk_bytes=4 * 2**20, max_files=64, max_processes=16, cpu_s=30.0)
_FENCE = re.compile(r"^```[A-Za-z0-9_+-]*[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    """One call: its arguments, and what must come of it: {"value": result} or {"error": "ValueError"}."""

    arguments: Sequence[Json]
    expected: Json


def only_code(text: str) -> str | None:
    """Return the code of `text`: what its one fenced block holds, else the whole of it. None when there are two."""
    blocks = _FENCE.findall(text)
    if len(blocks) > 1 or (not blocks and "```" in text):  # sound: a fence that is open
        return None
    return str(blocks[0]) if blocks else text


def run_cases(room: Room, source: str, *, entry: str, arguments: Sequence[Sequence[Json]]) -> tuple[Json, ...]:
    """Return what `entry` of `source` did with each list of arguments: {"value": ...}, {"error": class name} or None.

    One fresh sandbox; in it each call runs in a fork of its own, under limits, its output discarded. None stands for a
    call that gave no result that is plain JSON: it ended the process, took too long, or there is no such function.

    Raises:
        SandboxLost: the sandbox died for a reason that is not the candidate's.
        VerifierError: the interpreter in the sandbox did not start.

    """
    if len(source) > MAX_SOURCE_CHARS or not arguments:
        return (None,) * len(arguments)
    nonce = secrets.token_hex(16)
    request = {
        "nonce": nonce,
        "source": source,
        "entry": entry,
        "cases": [list(each) for each in arguments],
        "memory_bytes": MEMORY_BYTES,
        "cpu_s": CASE_CPU_S,
        "wall_s": CASE_WALL_S,
        "max_result_bytes": MAX_RESULT_BYTES,
    }
    report = judge_python(
        room, _SERVER, stdin=ascii(request).encode("ascii"), limits=_LIMITS, timeout_s=JUDGE_TIMEOUT_S
    )
    lines = framed_lines(report, nonce)
    return tuple(_outcome(lines, number) for number in range(len(arguments)))


def right_cases(room: Room, source: str, *, entry: str, cases: Sequence[Case]) -> tuple[bool, ...]:
    """Return which of `cases` the program gets right, compared here and with exact types. Raises as `run_cases`."""
    outcomes = run_cases(room, source, entry=entry, arguments=[case.arguments for case in cases])
    return tuple(_same(found, case.expected) for found, case in zip(outcomes, cases, strict=True))


def framed_lines(report: Report, nonce: str) -> list[str]:
    """Return the lines that a server inside wrote under `nonce`, without it. Lines of anyone else are dropped.

    Raises:
        SandboxLost: the sandbox was lost.
        VerifierError: the server never said that it was ready, so nothing can be judged.

    """
    if report.reason == "lost":
        raise SandboxLost("The sandbox was lost while a program was judged.")
    lines = report.stdout.decode("utf-8", errors="replace").split("\n")
    mine = [line[len(nonce) + 1 :] for line in lines if line.startswith(f"{nonce} ")]
    if not mine or mine[0] != "ready":
        trouble = report.stderr.decode("utf-8", errors="replace")[-300:]
        raise VerifierError(
            f"The judge inside the sandbox did not start ({report.reason}, exit code {report.exit_code}): {trouble}. "
            "Is python3 there?"
        )
    return mine[1:]


def _same(found: Json, expected: Json) -> bool:
    try:
        return found is not None and same_value(found, expected)
    except RecursionError:  # nested deeper than any expected value
        return False


def _outcome(lines: Sequence[str], number: int) -> Json:
    head = f"{number} "
    texts = [line[len(head) :] for line in lines if line.startswith(head)]
    if len(texts) != 1:  # a second line for the same case is forged
        return None
    try:
        found = parse_json(texts[0])
    except ValueError:
        return None
    return found if isinstance(found, dict) and set(found) in ({"value"}, {"error"}) else None
