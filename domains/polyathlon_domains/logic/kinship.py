"""From statements about a family, name three relations that follow; what is right beyond half of it earns a part."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Json, Script, Task, Verdict, answering
from polyathlon.canonical import expect_int, expect_list, expect_text
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.key import list_part
from polyathlon.verify.text import above, plain
from polyathlon.workspaces.question import open_question
from polyathlon_domains.logic._family import (
    BASIC_OF,
    CHAINS_OF,
    COUPLES,
    FEMALE,
    NEUTRAL,
    NUM_PEOPLE,
    SYNONYMS,
    WORDS,
    Path,
    Tie,
    inverse,
    paths_between,
    read_word,
    reduce_steps,
)
from polyathlon_domains.logic._kinship_guesses import shortcuts

PROMPTS = (
    "{facts}\nName a, b, c: {asks}",
    "{facts}\nAnswer a, b, c. {asks}",
    "{facts}\n{asks} Reply a, b, c.",
)
WHOLE_KIN = " No half- or step-kin."
TWO_GENDERS = " Couples are man and woman."
NAMES = "Ash Bo Cam Eli Fin Jo Kai Kim Kit Lee Lex Lou Max Mo Pat Rae Rio Rue Sam Sky Val Wyn Zee".split()  # noqa: SIM905  # one line to read
NUM_ASKS = 3
MAX_WORD_CHARS = 200
BLIND_SHARE = 1 / 2
NEUTRAL_SHARE = 0.25
CHAIN_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Level:
    """`num_facts` statements, of which `num_idle` at least matter to no question; chains of `hops` statements."""

    num_facts: int
    hops: tuple[int, int]
    num_idle: int = 0
    in_laws: bool = False
    infer_gender: bool = False


LEVELS = (
    Level(4, (1, 2)),
    Level(4, (2, 3)),
    Level(5, (2, 4), in_laws=True),
    Level(6, (2, 5), num_idle=2, in_laws=True),
    Level(7, (3, 7), num_idle=1, in_laws=True, infer_gender=True),
)


@dataclass(frozen=True, slots=True)
class Fact:
    """Person `subject` is person `owner`'s `word`."""

    subject: int
    word: str
    owner: int


@dataclass(frozen=True, slots=True)
class KinshipTasks:
    """A tree of ties out of one large family, told as statements; the questions follow from these alone."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        shape = LEVELS[level]
        while True:
            genders = _genders(rng)
            ties = _grow(rng, shape.num_facts)
            facts = [_tell(rng, tie, genders) for tie in ties]
            asks = _choose(rng, shape, ties, facts, genders)
            if asks:
                return _numbered(facts, asks, level_rules=[shape.in_laws, shape.infer_gender])

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        names = [NAMES[int(k)] for k in rng.permutation(len(NAMES))]
        facts = [_fact(fact) for fact in expect_list(core["facts"])]
        asks = [_fact(ask) for ask in expect_list(core["asks"])]
        order = rng.permutation(len(facts))
        told = [f"{names[f.subject]} is {names[f.owner]}'s {f.word}." for f in (facts[int(k)] for k in order)]
        whole_kin, two_genders = expect_list(core["rules"])
        rules = (WHOLE_KIN if whole_kin else "") + (TWO_GENDERS if two_genders else "")
        questions = " ".join(f"{names[ask.subject]} is {names[ask.owner]}'s?" for ask in asks)
        template = PROMPTS[int(rng.integers(len(PROMPTS)))]
        return Brief(
            template.format(facts=" ".join(told) + rules, asks=questions), hidden={"words": [ask.word for ask in asks]}
        )


@dataclass(frozen=True, slots=True)
class KinshipVerifier:
    """Passed: all three relations. Else what is right beyond half, a wrong gender halving; one may be told."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        wanted = [read_word(word) for word in _words(task)]
        got = [
            read_word(plain(part[:MAX_WORD_CHARS])) for part in (evidence.answer or "").split(",", maxsplit=NUM_ASKS)
        ]
        if len(got) != len(wanted):
            return Verdict.failing("not three relations with commas between")
        if got == wanted:
            return Verdict.passing()
        share = sum(_credit(mine, right) for mine, right in zip(got, wanted, strict=True)) / NUM_ASKS
        return Verdict.failing("other relations", progress=above(share, BLIND_SHARE), parts={"share": share})


def solve(task: Task) -> Script:
    """The relations in the order of the questions."""
    return answering(", ".join(_words(task)))


def alternatives(task: Task) -> Sequence[Attempt]:
    """Return the answer in the other accepted words, where there are any: a great-aunt is a grandaunt."""
    other = {word: synonym for synonym, word in SYNONYMS.items()}
    words = [other.get(word, word) for word in _words(task)]
    return (Attempt("synonyms", (", ".join(words),)),) if words != _words(task) else ()


def equivalents(task: Task) -> Sequence[Attempt]:
    words = _words(task)
    return (
        Attempt("capitals", (", ".join(word.title() for word in words),)),
        Attempt("no spaces", (",".join(words),)),
        Attempt("no hyphens", (", ".join(word.replace("-", " ") for word in words),)),
        Attempt("white space around it", (f"\n  {', '.join(words)} \n",)),
        Attempt("in answer tags after reasoning", (f"A mother's mother... <answer>{', '.join(words)}</answer>",)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    words = _words(task)
    wrong = {
        "first gender wrong": [_other_gender(words[0]), *words[1:]],
        "all genders wrong": [_other_gender(word) for word in words],
        "seen from the other side": [_other_side(word) for word in words],
        "last one a cousin": [*words[:-1], "cousin" if words[-1] != "cousin" else "aunt"],
        "another order": [words[1], words[2], words[0]],
        "one missing": words[:-1],
    }
    return tuple(Attempt(name, (", ".join(tried),)) for name, tried in wrong.items() if tried != words)


def exploits(task: Task) -> Sequence[Attempt]:
    words = _words(task)
    every = dict.fromkeys(word for pair in WORDS.values() for word in pair)
    return (
        Attempt("every relation listed", (", ".join(every),)),
        Attempt("cousin thrice", ("cousin, cousin, cousin",)),
        Attempt("the first answer thrice", (", ".join([words[0]] * 3),)),
        Attempt("both genders each", (", ".join(f"{word}/{_other_gender(word)}" for word in words),)),
        Attempt("the questions given back", (task.prompt.splitlines()[-1],)),
        Attempt("a fourth answer", (", ".join([*words, "cousin"]),)),
        Attempt("neutral words", ("parent, child, sibling",)),
        Attempt("a negation", (", ".join(f"not {word}" for word in words),)),
    )


def _words(task: Task) -> list[str]:
    return [expect_text(word) for word in list_part(task.hidden, "words")]


def _credit(mine: tuple[str, int | None] | None, right: tuple[str, int | None] | None) -> float:
    if mine is None or right is None or mine[0] != right[0]:
        return 0.0
    return 1.0 if mine == right else 0.5


def _other_gender(word: str) -> str:
    female, male = next(pair for pair in WORDS.values() if word in pair)
    return "aunt" if female == male else male if word == female else female


def _other_side(word: str) -> str:
    chain, pair = next((chain, pair) for chain, pair in WORDS.items() if word in pair)
    return WORDS[inverse(chain)][pair.index(word)]


def _genders(rng: np.random.Generator) -> list[int]:
    genders = [int(k) for k in rng.integers(0, 2, size=NUM_PEOPLE)]
    for one, other in COUPLES:
        genders[other] = 1 - genders[one]
    return genders


def _grow(rng: np.random.Generator, num_ties: int) -> list[Tie]:
    """Return ties that join `num_ties` + 1 people, each new one to somebody already there."""
    there = [int(rng.integers(NUM_PEOPLE))]
    ties: list[Tie] = []
    while len(ties) < num_ties:
        near = (CHAINS_OF if rng.random() < CHAIN_SHARE else BASIC_OF)[there[int(rng.integers(len(there)))]]
        tie = near[int(rng.integers(len(near)))] if near else None
        if tie is not None and tie.other not in there:
            there.append(tie.other)
            ties.append(tie if rng.random() < 0.5 else Tie(tie.other, tie.one, inverse(tie.kind)))
    return ties


def _tell(rng: np.random.Generator, tie: Tie, genders: Sequence[int]) -> Fact:
    word = WORDS[tie.kind][genders[tie.other]]
    if tie.kind in NEUTRAL and rng.random() < NEUTRAL_SHARE:
        word = NEUTRAL[tie.kind]
    return Fact(tie.other, word, tie.one)


def _choose(
    rng: np.random.Generator, shape: Level, ties: Sequence[Tie], facts: Sequence[Fact], genders: Sequence[int]
) -> list[Fact]:
    """Return three questions, with their answers, that fit the level and follow from `facts`; none when there are none.

    The three are different relations, gender aside: one word for all of them earns nothing.
    """
    said = {fact.subject for fact in facts if fact.word not in NEUTRAL.values()}
    inferred = {fact.owner for fact in facts if fact.word in WORDS["M"]} - said if shape.infer_gender else set()
    if (shape.in_laws and all(tie.kind != "M" for tie in ties)) or (shape.infer_gender and not inferred):
        return []
    open_asks: dict[str, list[tuple[Fact, Path]]] = {}
    for (owner, subject), path in paths_between(ties):
        chain = reduce_steps([kind for _, kind in path], whole_kin=shape.in_laws)
        if chain is None or not shape.hops[0] <= len(path) <= shape.hops[1]:
            continue
        through_marriage = "M" in chain and chain != "M"
        if (subject in said or subject in inferred) and (shape.in_laws or not through_marriage):
            ask = Fact(subject, WORDS[chain][genders[subject]], owner)
            open_asks.setdefault(WORDS[chain][FEMALE], []).append((ask, path))
    kinds = sorted(open_asks)
    for _ in range(3 if len(kinds) >= NUM_ASKS else 0):
        chosen = [open_asks[kinds[int(k)]] for k in rng.permutation(len(kinds))[:NUM_ASKS]]
        picked = [pairs[int(rng.integers(len(pairs)))] for pairs in chosen]
        asks, used = [ask for ask, _ in picked], {place for _, path in picked for place, _ in path}
        if _fits(shape, asks, facts, [ties[place] for place in used], inferred):
            return asks
    return []


def _fits(
    shape: Level, asks: Sequence[Fact], facts: Sequence[Fact], used: Sequence[Tie], inferred: Collection[int]
) -> bool:
    if sum(ask in facts for ask in asks) > 1 or len(facts) - len(used) < shape.num_idle:
        return False
    if shape.in_laws and not any(tie.kind == "M" for tie in used):
        return False
    return not shape.infer_gender or any(ask.subject in inferred and ask.word != "cousin" for ask in asks)


def _numbered(facts: Sequence[Fact], asks: Sequence[Fact], *, level_rules: list[bool]) -> Core:
    """Return the core, people numbered as the questions and then the facts name them: the same task, the same core."""
    numbers: dict[int, int] = {}
    for ask in asks:
        numbers.setdefault(ask.subject, len(numbers))
        numbers.setdefault(ask.owner, len(numbers))
    left = list(facts)
    while left:
        ready = [fact for fact in left if fact.subject in numbers or fact.owner in numbers]
        fact = min(ready, key=lambda one: _rank(one, numbers))
        numbers.setdefault(fact.subject, len(numbers))
        numbers.setdefault(fact.owner, len(numbers))
        left.remove(fact)
    written: list[list[Json]] = [
        [[numbers[one.subject], one.word, numbers[one.owner]] for one in part] for part in (facts, asks)
    ]
    return {"facts": sorted(written[0], key=str), "asks": written[1], "rules": list(level_rules)}


def _rank(fact: Fact, numbers: Mapping[int, int]) -> tuple[int, int, str]:
    return (numbers.get(fact.subject, NUM_PEOPLE), numbers.get(fact.owner, NUM_PEOPLE), fact.word)


def _fact(value: object) -> Fact:
    subject, word, owner = expect_list(value)  # type: ignore[arg-type]  # drawn above
    return Fact(expect_int(subject), expect_text(word), expect_int(owner))


DOMAIN = Domain(
    tasks=KinshipTasks(),
    open_workspace=open_question,
    verifier=KinshipVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    shortcuts=shortcuts,
)
