"""Kinship: relations against an independent walk of the whole family, and the credit of three answers by hand."""

from collections import deque
from itertools import pairwise

import pytest

from polyathlon import Evidence, Task, TaskKey, Verdict, draw_task
from polyathlon.canonical import expect_list
from polyathlon.sandbox.choose import default_room
from polyathlon_domains.logic._family import (
    BASIC_OF,
    CHAINS_OF,
    NUM_PEOPLE,
    TIES,
    WORDS,
    Tie,
    inverse,
    read_word,
    reduce_chain,
    reduce_steps,
)
from polyathlon_domains.logic.kinship import DOMAIN

ID = "polyathlon/logic.kinship-v1"


def _judge(words: list[str], answer: str | None) -> Verdict:
    task = Task(f"{ID}:0:train:1", 0, 1, "train", "", {}, {"words": words}, "00")
    return DOMAIN.verifier.judge(task, Evidence(answer=answer), default_room())


GOLD = ["grandmother", "son", "brother-in-law"]


@pytest.mark.parametrize(
    "answer",
    [
        "grandmother, son, brother-in-law",
        "Grandmother,SON, brother in law",
        " grand-mother , son , brother-in-law ",
    ],
)
def test_three_right_relations_pass_however_they_are_spelt(answer: str) -> None:
    assert _judge(GOLD, answer).passed


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ("grandmother, son, sister-in-law", 1 / 3),  # share 5/6: (5/6 - 1/2) / (1/2) = 2/3
        ("grandmother, son, cousin", 1 / 6),  # share 2/3: 1/3
        ("grandmother, daughter, cousin", 0.0),  # share 1/2
        ("grandfather, daughter, sister-in-law", 0.0),
        ("grandmother, cousin, cousin", 0.0),
        ("grandfather, daughter, cousin", 0.0),
        ("son, brother-in-law, grandmother", 0.0),
        ("grandmother, son", 0.0),
        ("grandmother, son, brother-in-law, aunt", 0.0),
        ("grandmother/grandfather, son, brother-in-law", 1 / 6),
        ("not a grandmother, not a son, no", 0.0),
        ("grandmother son brother-in-law", 0.0),
        ("", 0.0),
        (None, 0.0),
    ],
)
def test_half_of_it_right_is_worth_nothing_and_the_wrong_gender_counts_half(answer: str | None, reward: float) -> None:
    verdict = _judge(GOLD, answer)
    assert not verdict.passed
    assert verdict.reward == pytest.approx(reward)


def test_synonyms_are_the_same_relation() -> None:
    assert read_word("Grandaunt") == read_word("great-aunt")
    assert read_word("grandnephew") == read_word("great nephew")
    assert read_word("step-mother") is None
    assert _judge(["great-aunt", "son", "wife"], "grandaunt, son, wife").passed


def _nearest(start: int, end: int) -> set[str]:
    """Return the shortest chains of basic ties from `start` to `end` in the whole family."""
    best: set[str] = set()
    frontier = deque([(start, "")])
    depth = {start: 0}
    while frontier:
        here, chain = frontier.popleft()
        if here == end:
            best.add(chain)
            continue
        for tie in BASIC_OF[here]:
            if depth.get(tie.other, 99) >= len(chain) + 1:
                depth[tie.other] = len(chain) + 1
                frontier.append((tie.other, chain + tie.kind))
    return best


def _walks(start: int, hops: int) -> list[list[Tie]]:
    """Return all walks of `hops` told ties from `start` that name each person once."""
    walks: list[list[Tie]] = [[]]
    for _ in range(hops):
        walks = [
            [*walk, tie]
            for walk in walks
            for tie in (*BASIC_OF[walk[-1].other if walk else start], *CHAINS_OF[walk[-1].other if walk else start])
            if tie.other != start and all(tie.other != step.other for step in walk)
        ]
    return walks


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_what_a_walk_is_reduced_to_is_the_nearest_relation_in_the_family(hops: int) -> None:
    named = 0
    for start in range(NUM_PEOPLE):
        for walk in _walks(start, hops):
            chain = reduce_steps([tie.kind for tie in walk], whole_kin=True)
            if chain is not None:
                named += 1
                assert chain in _nearest(start, walk[-1].other), walk
    assert named > 100


def test_the_ties_are_a_family() -> None:
    assert {tie.kind for tie in TIES} == {"P", "C", "S", "M", "PP", "CC", "PS", "SC"}
    known = {(tie.one, tie.other, tie.kind) for tie in TIES}
    assert all((tie.other, tie.one, inverse(tie.kind)) in known for tie in TIES)
    assert all(sum(tie.kind == "P" for tie in BASIC_OF[person]) in (0, 2) for person in range(NUM_PEOPLE))


@pytest.mark.parametrize(
    ("chain", "relation"),
    [("PP", "PP"), ("PC", "S"), ("PSC", "PSC"), ("PPC", "PS"), ("CP", None), ("CSP", None), ("PSM", None), ("PM", "P")],
)
def test_chains_of_known_people_reduce(chain: str, relation: str | None) -> None:
    assert reduce_chain(chain, whole_kin=True) == relation


def test_without_the_rule_on_half_kin_only_exact_chains_count() -> None:
    assert reduce_chain("PC", whole_kin=False) is None
    assert reduce_chain("SS", whole_kin=False) == "S"
    assert reduce_chain("MP", whole_kin=False) == "MP"


def test_a_told_chain_hides_its_middle_and_is_not_reduced() -> None:
    # a grandmother's child may be one's own parent
    assert reduce_steps(["PP", "C"], whole_kin=True) is None
    assert reduce_steps(["P", "PS"], whole_kin=True) == "PPS"


@pytest.mark.parametrize("level", range(5))
def test_the_three_relations_of_a_task_differ_in_more_than_gender(level: int) -> None:
    female = {word: pair[0] for pair in WORDS.values() for word in pair}
    for seed in range(30):
        task = draw_task(DOMAIN.tasks, TaskKey(ID, level, seed))
        kinds = sorted(female[str(word)] for word in expect_list(task.hidden["words"]))
        assert all(one != other for one, other in pairwise(kinds))
