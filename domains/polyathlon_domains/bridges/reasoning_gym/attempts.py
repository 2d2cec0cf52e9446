"""What the inspection tries on a generator: rewrites that must pass, wrong answers that must not, hacks, guesses.

Where a task has one right answer, whatever says something else is wrong. Where it has many (`wrong.WRONG`), only
answers that break a rule of the task are called wrong, and no mutant is: nobody but the verifier could tell, and it is
on trial.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from polyathlon.canonical import Json, expect_list, expect_map
from polyathlon.domain import Attempt, Task
from polyathlon.errors import TaskError
from polyathlon_domains.bridges.reasoning_gym import near
from polyathlon_domains.bridges.reasoning_gym.theirs import theirs
from polyathlon_domains.bridges.reasoning_gym.wrong import WRONG

NO_ANSWERS = ("xyzzy", "I do not know", "nan", "nan+nanj", "inf")
CONSTANTS = ("0", "1", "True", "False", "yes", "no")
OTHER_SEEDS = (1_900_000_001, 1_900_000_002, 1_900_000_003)
ROUNDED = frozenset(("power_function",))
"""Generators that grade three significant figures, as their question says: a number near the right one may be right."""
IN_METADATA = {
    "graph_color": "possible_answer",
    "propositional_logic": "example_answer",
    "rubiks_cube": "example_correct_answer",
}
"""Where a generator that gives no answer keeps an example of one."""
SCOPE = ('entry["answer"]', "oracle_answer", '[entry["answer"]]', 'entry["answer"].splitlines()')
"""Names that the library's verifiers use for what is right: answers to those that evaluate what they are sent."""
_NEAR: Mapping[str, Callable[[str], str | None]] = {
    "the last number plus one": near.last_number_plus_one,
    "the last digit plus five": near.last_digit_plus_five,
    "the other sign": near.sign_flipped,
    "ten times": near.tenfold,
    "a word turned round": near.word_flipped,
    "the last letter missing": near.shortened,
}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def right_answer(task: Task) -> str | None:
    """Return the answer that the generator ships, or the example in its metadata; None where there is neither."""
    entry = expect_map(task.hidden["entry"])
    if isinstance(entry["answer"], str):
        return entry["answer"]
    example = expect_map(entry["metadata"]).get(IN_METADATA.get(_generator(task), ""))
    if example is None or isinstance(example, str):
        return example
    pairs = expect_list(
        expect_list(expect_map(example)["~"])[1]
    )  # a mapping whose keys are no strings, as `wire` has it
    return json.dumps({str(key): value for key, value in map(expect_list, pairs)})


def equivalents(task: Task) -> Sequence[Attempt]:
    """Return ways to send the right answer that mean the same everywhere."""
    gold = right_answer(task)
    if gold is None:
        return ()
    return (
        Attempt("line feed after", (f"{gold}\n",)),
        Attempt("space before", (f" {gold}",)),
        Attempt("in tags", (f"So it is clear.\n<answer>{gold}</answer>",)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    """Return wrong answers, each with its kind as name."""
    gold = right_answer(task) or ""
    attempts = [Attempt(f"no answer: {text}", (text,)) for text in NO_ANSWERS if not near.same(text, gold)]
    name = _generator(task)
    if name in WRONG:
        metadata = expect_map(expect_map(task.hidden["entry"])["metadata"])
        found = {kind: wrong(gold, metadata) for kind, wrong in WRONG[name].items()} if gold else {}
    else:
        found = dict(_single_wrong(task, gold))
    return (*attempts, *(Attempt(kind, (text,)) for kind, text in found.items() if text is not None))


def exploits(task: Task) -> Sequence[Attempt]:
    """Return hacks: no answer at all, several answers, the right one among others, names from the verifier's scope."""
    gold = right_answer(task) or ""
    attempts = [Attempt(f"no answer: {text}", (text,)) for text in NO_ANSWERS if not near.same(text, gold)]
    attempts += [Attempt(f"the verifier's own variable: {text}", (text,)) for text in SCOPE]
    attempts.append(Attempt("a program", ('__import__("os").system("true")',)))
    if not gold:
        return tuple(attempts)
    other = next((text for text in _others(task) if not near.same(text, gold)), "another thing")
    attempts.append(Attempt("two answers, the right one first", (f"{gold} or {other}",)))
    attempts.append(Attempt("two answers, the right one last", (f"{other} or {gold}",)))
    attempts.append(Attempt("the right answer and junk", (f"{gold} xyzzy",)))
    if near.value_of(gold) is not None:
        attempts.append(Attempt("a guess in words", (f"I guess {gold} cats or -3",)))
        attempts.append(Attempt("many numbers", (" ".join(map(str, range(300))),)))
    return tuple(attempts)


def shortcuts(task: Task) -> Sequence[Attempt]:
    """Return guesses that read the question and do not solve it."""
    numbers, lines = _NUMBER.findall(task.prompt), [line for line in task.prompt.splitlines() if line.strip()]
    guesses: dict[str, str | None] = {
        "the question's first number": numbers[0] if numbers else None,
        "the question's last number": numbers[-1] if numbers else None,
        "the question's last line": lines[-1] if lines else None,
        "the question's last word": task.prompt.split()[-1] if task.prompt.split() else None,
        **{f"always {text}": text for text in CONSTANTS},
    }
    return tuple(Attempt(name, (text,)) for name, text in guesses.items() if text is not None)


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Whether `actions` may be right for all that can be known without the verifier.

    With one right answer: they say the same as it. With many, or at a stated rounding: always.
    """
    gold = right_answer(task)
    if _generator(task) in WRONG or _generator(task) in ROUNDED or gold is None:
        return True
    return bool(actions) and near.same(actions[-1], gold)


def _single_wrong(task: Task, gold: str) -> Iterator[tuple[str, str | None]]:
    rounded = _generator(task) in ROUNDED
    for kind, change in _NEAR.items():
        if not (rounded and kind in ("the last number plus one", "the last digit plus five")):
            yield kind, _unless_same(change(gold), gold)
    other = next((text for text in _others(task) if sorted(text.lower()) != sorted(gold.lower())), None)
    yield "another task's answer", _unless_same(other, gold)
    if near.value_of(gold) is not None:
        yield "zero", _unless_same("0", gold)
        yield "one", _unless_same("1", gold)


def _unless_same(text: str | None, gold: str) -> str | None:
    return None if text is None or near.same(text, gold) else text


def _others(task: Task) -> Iterator[str]:
    """Yield answers to other tasks of the level."""
    name = _generator(task)
    for seed in OTHER_SEEDS:
        try:
            answer: Json = theirs().item(name, task.level, seed)["answer"]
        except TaskError:  # what is inspected is this task; that one's generator is seen by other checks
            continue
        if isinstance(answer, str) and answer:
            yield answer


def _generator(task: Task) -> str:
    name = task.hidden["generator"]
    assert isinstance(name, str)
    return name
