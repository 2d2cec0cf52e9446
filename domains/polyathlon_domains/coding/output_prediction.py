"""Say exactly what a small program prints; a right beginning of the output earns part of the reward."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Script, Task, Verdict, answering
from polyathlon.canonical import expect_text
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.key import text_part
from polyathlon.workspaces.question import open_question
from polyathlon_domains.coding._interpreter import ProgramError, run_program
from polyathlon_domains.coding._programs import FORMS, Dice

PROMPTS = (
    "What does this Python print?\n{source}",
    "Exact output of this Python:\n{source}",
    "{source}\nWhat does this Python print, exactly?",
)
NAMES = "abcdeghijkmnpqrstuvwxyz"
MIN_TOKENS, MAX_OUTPUT_CHARS = 3, 60

_NUMBER = re.compile(r"\d+")
_VARIABLE = re.compile(r"[A-Z]")


@dataclass(frozen=True, slots=True)
class OutputTasks:
    """Programs by level; those with short, constant or copied output are drawn again."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        dice, forms = Dice(rng), FORMS[level]
        while True:
            source = forms[dice.number(0, len(forms) - 1)](dice)
            try:
                printed = run_program(source)
            except ProgramError:
                continue
            if _is_good(source, printed):
                return {"source": source}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        source = expect_text(core["source"])
        letters = sorted(set(_VARIABLE.findall(source)))
        names = dict(zip(letters, (NAMES[int(k)] for k in rng.permutation(len(NAMES))), strict=False))
        named = _VARIABLE.sub(lambda match: names[match[0]], source)
        prompt = PROMPTS[int(rng.integers(len(PROMPTS)))].format(source=named)
        return Brief(prompt, hidden={"output": _trimmed(run_program(source))})


@dataclass(frozen=True, slots=True)
class OutputVerifier:
    """Passed: the output exactly, blanks at line ends aside. Else the share of tokens right from the first one on.

    Tokens too many cost their share, and more than twice as many earn nothing.
    """

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        gold, answer = text_part(task.hidden, "output"), _trimmed(evidence.answer or "")
        if answer == gold:
            return Verdict.passing()
        wanted, got = gold.split(), answer.split()
        right = 0
        while right < len(wanted) and right < len(got) and got[right] == wanted[right]:
            right += 1
        longest = max(len(wanted), len(got))
        progress = right / longest if longest <= 2 * len(wanted) else 0.0
        return Verdict.failing("another output", progress=progress, parts={"prefix": progress})


def solve(task: Task) -> Script:
    """What the interpreter printed."""
    return answering(expect_text(task.hidden["output"]))


def equivalents(task: Task) -> Sequence[Attempt]:
    output = expect_text(task.hidden["output"])
    return (
        Attempt("newline at the end", (output + "\n",)),
        Attempt("blanks at line ends", ("  \n".join(output.split("\n")) + " ",)),
        Attempt("carriage returns", (output.replace("\n", "\r\n"),)),
        Attempt("in answer tags after reasoning", (f"I step through it.\n<answer>\n{output}\n</answer>",)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    output = expect_text(task.hidden["output"])
    tokens = output.split()
    numbers = _NUMBER.findall(output)
    last = output.rindex(numbers[-1])
    wrong = {
        "last number one more": output[:last] + str(int(numbers[-1]) + 1) + output[last + len(numbers[-1]) :],
        "last token missing": output[: -len(tokens[-1])],
        "last token twice": f"{output} {tokens[-1]}",
        "backwards": " ".join(reversed(tokens)),
        "quoted": f'"{output}"',
    }
    return tuple(Attempt(name, (text,)) for name, text in wrong.items() if _trimmed(text) != output)


def exploits(task: Task) -> Sequence[Attempt]:
    literals = [number for number in _NUMBER.findall(task.prompt)]
    return (
        Attempt("the program itself", (task.prompt,)),
        Attempt("its literals in order", (" ".join(literals),)),
        Attempt("its literals, one a line", ("\n".join(literals),)),
        Attempt("its last literal", (literals[-1],)),
        Attempt("a long spray", (" ".join(map(str, range(2_000))),)),
        Attempt("no output", ("None",)),
        Attempt("an expression to be run", ("print(open('/etc/hostname').read())",)),
    )


def shortcuts(task: Task) -> Sequence[Attempt]:
    """What the program shows, as if it were printed: its numbers, its last line, its words in other letters."""
    numbers, words = _NUMBER.findall(task.prompt), re.findall(r"'(\w+)'", task.prompt)
    shown = [word.upper() for word in words] or numbers
    return (
        Attempt("its numbers in a list", (f"[{', '.join(numbers)}]",)),
        Attempt("its numbers backwards", (" ".join(numbers[::-1]),)),
        Attempt("its words in capitals", ("\n".join(dict.fromkeys(shown)),)),
        Attempt("its first number in every place", (" ".join(numbers[:1] * 3),)),
    )


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def _is_good(source: str, printed: str) -> bool:
    output = _trimmed(printed)
    tokens = output.split()
    if len(tokens) < MIN_TOKENS or len(output) > MAX_OUTPUT_CHARS or len(set(tokens)) < MIN_TOKENS:
        return False
    if printed[:1].isspace() or any(not line.strip() for line in output.splitlines()):
        return False
    literals, shown = set(_NUMBER.findall(source)), _NUMBER.findall(output)
    copied = sum(number in literals for number in shown)
    first = _NUMBER.search(tokens[0])
    return 2 * copied <= len(shown) and not (first is not None and first[0] in literals)


DOMAIN = Domain(
    tasks=OutputTasks(),
    open_workspace=open_question,
    verifier=OutputVerifier(),
    solve=solve,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    shortcuts=shortcuts,
)
