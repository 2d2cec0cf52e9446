"""Domains with one fault each, for the checks of leaks, repeats, space, promises, difficulty and cost."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from tests.envs.inspect.planted import SOUND, SumTasks, SumVerifier, gold

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Json, Observation, Script, Task, Tree, Verdict, answering
from polyathlon.canonical import expect_int, expect_list, expect_map, expect_text, parse_json
from polyathlon.domain import ToolSpec
from polyathlon.errors import SandboxError
from polyathlon.sandbox.protocol import Room
from polyathlon.toolcall import write_call, write_fenced
from polyathlon.tree import Entry
from polyathlon.verify.numbers import read_number
from polyathlon.workspaces.question import QuestionWorkspace
from polyathlon.workspaces.terminal import TerminalWorkspace, read_tree
from polyathlon.workspaces.tools import CallsWorkspace

# --- promises -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NumpyVerifier:
    """Near misses earn a little: as numpy's own kind of number."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        value = read_number(evidence.answer or "", "integer")
        near = value is not None and abs(value - gold(task)) == 100
        if value == gold(task):
            return Verdict.passing()
        return Verdict(np.float64(0.05) if near else 0.0, passed=False, reason="another number")


@dataclass(frozen=True)
class LenientVerifier:
    """Takes a missing answer key for a wrong answer."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        value = read_number(evidence.answer or "", "integer")
        return Verdict.passing() if value == task.hidden.get("sum") else Verdict.failing("another number")


@dataclass(frozen=True)
class SwallowingVerifier:
    """Asks a sandbox, and takes one that it cannot have for a wrong answer."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        try:
            with room.open(Tree()) as sandbox:
                fine = sandbox.run(["true"]).ok
        except SandboxError:
            fine = False
        value = read_number(evidence.answer or "", "integer")
        return Verdict.passing() if fine and value == gold(task) else Verdict.failing("another number")


_SOLVED: set[str] = set()


def _solve_and_tell(task: Task) -> Script:
    _SOLVED.add(task.id)
    return answering(str(gold(task)))


@dataclass(frozen=True)
class PrivilegedVerifier:
    """Passes only where the reference was asked in this process."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        verdict = SumVerifier().judge(task, evidence, room)
        return verdict if task.id in _SOLVED or not verdict.passed else Verdict.failing("never solved here")


@dataclass(frozen=True)
class WrongGoldTasks(SumTasks):
    """Every fourth sum is off by ten."""

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        brief = super().render(core, rng)
        total = expect_int(core["sum"])
        return replace(brief, hidden={"sum": total + 10 * (total % 4 == 0)})


def _adds_up(task: Task, actions: Sequence[str]) -> bool:
    numbers = [int(word.rstrip(".")) for word in task.prompt.split() if word.rstrip(".").isdigit()]
    return len(actions) == 1 and read_number(actions[0], "integer") == sum(numbers)


@dataclass(frozen=True)
class KeyedTasks(SumTasks):
    """Asks for an object, and does not say what its key is."""

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        brief = super().render(core, rng)
        return replace(brief, prompt=brief.prompt.replace("one integer", "a JSON object"))


@dataclass(frozen=True)
class KeyedVerifier:
    """Passed: an object with the sum under its key."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        try:
            value = parse_json(evidence.answer or "")
        except ValueError:
            return Verdict.failing("no JSON")
        wanted = {"grand_total": expect_int(task.hidden["sum"])}
        return Verdict.passing() if value == wanted else Verdict.failing("another object")


def _object(total: int) -> str:
    return f'{{"grand_total": {total}}}'


UNDOCUMENTED = replace(SOUND, verifier=type("Bare", (), {"judge": SumVerifier().judge})())
NUMPY_REWARD = replace(SOUND, verifier=NumpyVerifier())
LENIENT = replace(SOUND, verifier=LenientVerifier())
SWALLOWING = replace(SOUND, verifier=SwallowingVerifier())
PRIVILEGED = replace(SOUND, verifier=PrivilegedVerifier(), solve=_solve_and_tell)
WRONG_GOLD = replace(SOUND, tasks=WrongGoldTasks(), proves_right=_adds_up)
UNNAMED_KEY = replace(
    SOUND,
    tasks=KeyedTasks(),
    verifier=KeyedVerifier(),
    solve=lambda task: answering(_object(gold(task))),
    equivalents=lambda task: (Attempt("spaces", (f" {_object(gold(task))}\n",)),),
    distractors=lambda task: tuple(Attempt(f"off by {k}", (_object(gold(task) + k),)) for k in (1, -1, 100)),
)

# --- leaks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EncodedTasks(SumTasks):
    """Carries the answer in its public part, in base64."""

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        mark = base64.b64encode(f"sum={core['sum']};".encode()).decode()
        return replace(super().render(core, rng), public={"mark": mark})


WORDS = tuple(f"{first}{second}" for first in ("ba", "ke", "li", "mo", "nu", "pa", "re", "si") for second in "bdfgk")
STYLES = tuple(f"{first} {second}" for first in ("please", "now", "kindly", "do", "just") for second in "abcdefgh")


@dataclass(frozen=True)
class StyledTasks(SumTasks):
    """The answer is one of forty words, and each word has a style of asking of its own."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return {**super().draw(rng, level), "word": int(rng.integers(len(WORDS)))}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        numbers, word = expect_list(core["numbers"]), expect_int(core["word"])
        prompt = f"{STYLES[word]}: which word do {' '.join(map(str, numbers))} stand for?"
        return Brief(prompt, hidden={"word": WORDS[word]})


@dataclass(frozen=True)
class WordVerifier:
    """Passed: the word, and nothing else."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        wanted = expect_text(task.hidden["word"])
        if not wanted:
            raise ValueError("there is no word to compare with")
        return Verdict.passing() if (evidence.answer or "") == wanted else Verdict.failing("another word")


def word_domain(tasks: SumTasks) -> Domain:
    """Return a domain that asks `tasks`, whose hidden part is one "word"."""
    return Domain(
        tasks,
        SOUND.open_workspace,
        WordVerifier(),
        lambda task: answering(expect_text(task.hidden["word"])),
        equivalents=lambda task: (Attempt("line feed", (f"{task.hidden['word']}\n",)),),
        distractors=lambda task: tuple(Attempt(f"with {k}", (f"{task.hidden['word']}{k}",)) for k in "xyz"),
        exploits=lambda task: tuple(Attempt(f"hack {k}", (f"hack {k}",)) for k in range(4)),
    )


class TellingWorkspace(QuestionWorkspace):
    """Says of every guess whether it is too low or too high; a message without a guess is the answer."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self._sum = expect_int(task.hidden["sum"])

    def act(self, action: str) -> Observation:
        guess = read_number(action.removeprefix("guess "), "integer") if action.startswith("guess ") else None
        if guess is None:
            return super().act(action)
        return Observation("too low" if guess < self._sum else "too high")


def _after_a_guess(task: Task) -> Script:
    yield "guess 1500"
    yield str(gold(task))


ENCODED = replace(SOUND, tasks=EncodedTasks())
STYLED = word_domain(StyledTasks())
TELLING_GUESSES = replace(SOUND, open_workspace=lambda task, room: TellingWorkspace(task), solve=_after_a_guess)

# --- leaks of calls: a request says what stands in them, but for the sum ---------------------------------------------

CALL = "record"
_NUMBER: Json = {"type": "integer"}
_RECORD = ToolSpec(
    CALL,
    "Keep two numbers and their sum.",
    {
        "type": "object",
        "properties": {"first": _NUMBER, "second": _NUMBER, "sum": _NUMBER},
        "required": ["first", "second", "sum"],
    },
)


def _calls(numbers: Sequence[Json], total: int) -> list[Json]:
    return [{"name": CALL, "arguments": {"first": numbers[0], "second": numbers[1], "sum": total}}]


@dataclass(frozen=True)
class CallTasks(SumTasks):
    """Asks to record two numbers and their sum. `mark` of the calls and the sum is what is public."""

    mark: Callable[[list[Json], int], Json] = field(default=lambda calls, total: None)

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return super().draw(rng, 0)

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        numbers, total = expect_list(core["numbers"]), expect_int(core["sum"])
        calls = _calls(numbers, total)
        prompt = f"Call record(first, second, sum) for {numbers[0]} and {numbers[1]}."
        return Brief(prompt, hidden={"sum": total, "calls": calls}, public={"mark": self.mark(calls, total)})


@dataclass(frozen=True)
class CallVerifier:
    """Passed: the one call."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        got: list[Json] = [{"name": call.name, "arguments": dict(call.arguments)} for call in evidence.ledger]
        return Verdict.passing() if got == task.hidden["calls"] else Verdict.failing("other calls")


def _as_a_call(task: Task) -> Sequence[Attempt]:
    call = expect_map(expect_list(task.hidden["calls"])[0])
    return (Attempt("as a call", (write_call(CALL, expect_map(call["arguments"])),)),)


SOUND_CALLS = Domain(
    CallTasks(),
    lambda task, room: CallsWorkspace([_RECORD]),
    CallVerifier(),
    lambda task: answering(json.dumps(task.hidden["calls"], separators=(",", ":"))),
    alternatives=_as_a_call,
    equivalents=lambda task: (Attempt("spaced", (json.dumps(task.hidden["calls"], indent=1),)),),
    distractors=lambda task: tuple(
        Attempt(f"off by {k}", (json.dumps(_calls([k, k], gold(task))),)) for k in (1, 2, 100)
    ),
    exploits=lambda task: (Attempt("no calls", ("[]",)),),
)
CALLS_ENCODED = replace(
    SOUND_CALLS, tasks=CallTasks(lambda calls, _: base64.b64encode(json.dumps(calls).encode()).decode())
)
ARGUMENT_ENCODED = replace(SOUND_CALLS, tasks=CallTasks(lambda _, total: str(total).encode().hex()))
ARGUMENT_BESIDE = replace(SOUND_CALLS, tasks=CallTasks(lambda _, total: f"n {total}"))

# --- a sandbox: sound, and with what is hidden in a cache of it ------------------------------------------------------

ANSWER = "answer.txt"


@dataclass(frozen=True)
class FileTasks(SumTasks):
    """Sums of numbers in a file, to be written to another one."""

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        lines = "".join(f"{number}\n" for number in expect_list(core["numbers"]))
        prompt = ("Add the numbers in numbers.txt", "Sum numbers.txt")[int(rng.integers(2))]
        return Brief(
            f"{prompt} and write the sum to {ANSWER}.",
            hidden={"sum": core["sum"], "note": f"set by {int(rng.integers(10**6))}"},
            public={"files": {"numbers.txt": {"text": lines}}},
        )


@dataclass(frozen=True)
class FileVerifier:
    """Passed: the answer's file holds the sum."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        value = read_number(evidence.tree.text(ANSWER) or "", "integer")
        return Verdict.passing() if value == gold(task) else Verdict.failing("another number, or none")


SUBMIT = write_call("submit", {})


def _write(total: Json) -> tuple[str, str]:
    return write_call("write_file", {"path": ANSWER, "text": f"{total}\n"}), SUBMIT


def _add_up(task: Task) -> Script:
    shown = yield write_fenced("cat numbers.txt")
    numbers = [int(line) for line in shown.text.splitlines()[1:] if line.isdigit()]
    for message in _write(sum(numbers)):  # noqa: UP028  # a tuple takes no send()
        yield message


def _open_with_cache(task: Task, room: Room) -> TerminalWorkspace:
    notes = gzip.compress(expect_text(task.hidden["note"]).encode(), mtime=0)
    tree = read_tree(task.public["files"])
    return TerminalWorkspace(tree.with_files({".cache/notes.gz": Entry("file", 0o600, notes)}), room)


SOUND_FILES = Domain(
    FileTasks(),
    lambda task, room: TerminalWorkspace(read_tree(task.public["files"]), room),
    FileVerifier(),
    _add_up,
    alternatives=lambda task: (Attempt("by the shell", (write_fenced(f"echo {gold(task)} > {ANSWER}"), SUBMIT)),),
    equivalents=lambda task: (Attempt("spaces", _write(f"  {gold(task)} ")),),
    distractors=lambda task: tuple(Attempt(f"off by {k}", _write(gold(task) + k)) for k in (1, -1, 100)),
    exploits=lambda task: tuple(Attempt(text, _write(text)) for text in ("nan", "1e999", "all", "0")),
)
CACHED = replace(SOUND_FILES, open_workspace=_open_with_cache)
