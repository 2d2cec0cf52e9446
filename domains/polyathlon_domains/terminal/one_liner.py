"""Write one bash command for a request about a tree of files; it is run on four trees that nobody showed."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Script, Task, Tree, Verdict, answering
from polyathlon.errors import TaskError
from polyathlon.sandbox.protocol import Limits, Report, Room
from polyathlon.seeding import child
from polyathlon.verify.commands import MAX_OUTPUT_BYTES, run_on_trees
from polyathlon.verify.key import map_part, whole_part
from polyathlon.verify.text import above
from polyathlon.workspaces.question import open_question
from polyathlon_domains.terminal._asking import draw_request, word_request
from polyathlon_domains.terminal._guesses import one_liner_shortcuts
from polyathlon_domains.terminal._requests import Atom, Request, answer, compile_request, matches
from polyathlon_domains.terminal._same_command import same_command
from polyathlon_domains.terminal._twins import NUM_TWINS, PLACES, twins

RUN_TIMEOUT_S = 30.0  # a starved machine must not fail a right command; a busy loop dies sooner, of its CPU seconds
LIMITS = Limits(cpu_s=15.0)
MAX_COMMAND_CHARS = 2_000
SIGNALLED = 128
MAX_TWIN_SEEDS = 20
NUM_KEPT = 128
"""Tasks whose trees are kept: a task is judged many times in a row."""
EXIT_CREDIT = 0.1
CHANCE = {"paths": 0.0, "count": 0.5, "folders": 0.5}
"""The share of trees that a guess may match; other totals are hard to guess on more than one tree."""
OTHER_CHANCE = 0.25


@dataclass(frozen=True, slots=True)
class OneLinerTasks:
    """Conditions on name, size, time, mode, depth and words; a list or a total; at the end with a word banned."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return draw_request(rng, level).to_json()

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        request = Request.from_json(core)
        return Brief(word_request(request, rng), hidden={"request": core, "twins": _twin_seed(request, rng)})


@dataclass(frozen=True, slots=True)
class OneLinerVerifier:
    """Passed: on each of four trees the command prints what is asked. Else the share of trees above chance.

    A command that prints the same on all of them, or that nothing matches, earns nothing; exit status 0 on all of them
    adds a tenth where something matched.
    """

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        request, trees = _hidden(task)
        command = read_command(evidence.answer)
        if command is None:
            return Verdict.failing("no command that bash could read")
        if request.ban and command.count(request.ban):
            return Verdict.failing(f"the command contains {request.ban}")
        ran, reason = run_on_trees(room, command, trees, limits=LIMITS, wall_s=RUN_TIMEOUT_S)
        if reason != "exit" or len(ran) < NUM_TWINS:
            return Verdict.failing(f"the command ended by {reason}, on {len(ran)} of {NUM_TWINS} trees")
        if any(each.status > SIGNALLED or (each.status != 0 and not each.output) for each in ran):
            return Verdict.failing(f"the command ended with status {max(each.status for each in ran)}")
        reports = [
            Report(each.status, "exit", each.output, clipped=len(each.output) > MAX_OUTPUT_BYTES) for each in ran
        ]
        return _compare(request, trees, reports)


def _compare(request: Request, trees: Sequence[Tree], reports: Sequence[Report]) -> Verdict:
    printed = [read_output(request, report) for report in reports]
    matched = sum(got == answer(request, matches(request, tree)) for got, tree in zip(printed, trees, strict=True))
    if matched == NUM_TWINS:
        return Verdict.passing({"trees": 1.0})
    share = above(matched / NUM_TWINS, CHANCE.get(request.want, OTHER_CHANCE)) if len(set(printed)) > 1 else 0.0
    tidy = share > 0 and all(report.exit_code == 0 for report in reports)
    progress = (1 - EXIT_CREDIT) * share + (EXIT_CREDIT if tidy else 0.0)
    return Verdict.failing(f"right on {matched} of {NUM_TWINS} trees", progress=progress, parts={"trees": share})


_FENCED = re.compile(r"```[a-z]*[ \t]*\n(.*?)\n?```", re.DOTALL)


def read_command(answered: str | None) -> str | None:
    """Return the one command of an answer: the text of its only fenced block, else all of it, without a "$ " prompt.

    None when it is empty, longer than 2,000 characters, or holds what no command line can.
    """
    text = (answered or "").strip()
    if (
        len(text) > MAX_COMMAND_CHARS
        or text.count("\0")
        or any("\ud800" <= character <= "\udfff" for character in text)
    ):
        return None
    blocks = _FENCED.findall(text)
    if len(blocks) == 1:
        text = blocks[0]
    return text.strip().removeprefix("$ ") or None


def read_output(request: Request, report: Report) -> tuple[str, ...] | None:
    """Return what a command printed, comparable with `answer`: sorted paths without "./", or one stripped value."""
    if report.clipped:
        return None
    text = report.stdout.decode("utf-8", "surrogateescape")
    if request.want != "paths":
        return (text.strip(),)
    end = "\0" if request.odd else "\n"
    if request.odd and text[-1:] != end:
        return None
    return tuple(sorted(path.removeprefix("./") for path in text.removesuffix(end).split(end)))


@functools.lru_cache(maxsize=NUM_KEPT)
def _twins_of(request: Request, seed: int) -> tuple[Tree, ...]:
    return twins(request, child("one-liner twins", seed))


def _twin_seed(request: Request, rng: np.random.Generator) -> int:
    """Return a seed from which the twins of `request` do grow."""
    for _ in range(MAX_TWIN_SEEDS):
        seed = int(rng.integers(2**53))
        try:
            _twins_of(request, seed)
        except TaskError:
            continue
        return seed
    raise TaskError(f"no twin trees tell {request} from a lazier request. Draw its atoms so that each one matters.")


def _hidden(task: Task) -> tuple[Request, tuple[Tree, ...]]:
    request = Request.from_json(map_part(task.hidden, "request"))
    return request, _twins_of(request, whole_part(task.hidden, "twins"))


def solve(task: Task) -> Script:
    """The command that the request compiles to."""
    return answering(compile_request(Request.from_json(task.hidden["request"])))


def alternatives(task: Task) -> Sequence[Attempt]:
    request = Request.from_json(task.hidden["request"])
    loop = compile_request(replace(request, ban="find"))
    ways = {
        "a loop over globs": loop,
        "the loop, tests spelt out": loop.replace('[ -f "$f" ]', 'test -f "$f"'),
        "without a pipe": compile_request(replace(request, ban="|")),
        "in a subshell": f"( {compile_request(request)} )",
    }
    return tuple(Attempt(name, (way,)) for name, way in ways.items() if not request.ban or request.ban not in way)


def equivalents(task: Task) -> Sequence[Attempt]:
    command = compile_request(Request.from_json(task.hidden["request"]))
    return (
        Attempt("fenced", (f"```bash\n{command}\n```",)),
        Attempt("after a prompt sign, spaces around", (f"  $ {command}  \n",)),
        Attempt("in answer tags after reasoning", (f"I search, then count. <answer>{command}</answer>",)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    request, trees = _hidden(task)
    others = {"first condition left out": replace(request, atoms=request.atoms[1:])}
    if request.place != ".":
        others["another place"] = replace(request, place=PLACES[PLACES.index(request.place) - 1])
    for place, atom in enumerate(request.atoms):
        for name, slip in _slips(atom):
            others[f"{name} ({atom.about})"] = replace(
                request, atoms=(*request.atoms[:place], slip, *request.atoms[place + 1 :])
            )
    others["another total"] = replace(request, want="lines" if request.want != "lines" else "bytes")
    wrong = (
        Attempt(name, (compile_request(other),))
        for name, other in others.items()
        if any(answer(other, matches(other, tree)) != answer(request, matches(request, tree)) for tree in trees)
    )
    return tuple(wrong)


def exploits(task: Task) -> Sequence[Attempt]:
    request, trees = _hidden(task)
    first = answer(request, matches(request, trees[0]))
    by_heart = " ".join(shlex.quote(path) for path in first)
    return (
        Attempt("the first tree's answer by heart", (f"printf '%s\\{'0' if request.odd else 'n'}' {by_heart}",)),
        Attempt("a likely number", ("echo 5",)),
        Attempt("a number drawn from a hash", ("echo $(($(pwd | cksum | cut -c1-5) % 20 + 4))",)),
        Attempt("every file", ("find . -type f",)),
        Attempt("every path", ("find . -print0",)),
        Attempt("all files of the place counted", (f"find {request.place} -type f | wc -l",)),
        Attempt("delete everything, then count", ("rm -rf ./* ../*; ls | wc -l",)),
        Attempt("the twins listed", ("find .. -type f -printf '%P\\n'",)),
        Attempt("request echoed", (f"echo {shlex.quote(task.prompt)}",)),
    )


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Whether a bare command prints what the reference prints on 48 fresh trees, within the ban."""
    request = Request.from_json(task.hidden["request"])
    command = actions[0].strip() if len(actions) == 1 else ""
    if not command or len(command) > MAX_COMMAND_CHARS or (request.ban and command.count(request.ban)):
        return False
    return same_command(compile_request(request), command, request, seed=task.id)


def _slips(atom: Atom) -> list[tuple[str, Atom]]:
    slips = [("turned round", replace(atom, negated=not atom.negated))] if atom.about != "depth" else []
    if atom.about == "size":
        slips.append(("one byte off", replace(atom, value=(atom.value[0], str(int(atom.value[1]) + 1)))))
        slips.append(("one byte less", replace(atom, value=(atom.value[0], str(int(atom.value[1]) - 1)))))
    return slips


DOMAIN = Domain(
    tasks=OneLinerTasks(),
    open_workspace=open_question,
    verifier=OneLinerVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    proves_right=proves_right,
    shortcuts=one_liner_shortcuts,
)
