from __future__ import annotations

from collections import Counter
from dataclasses import replace

import msgspec
import pytest

from polyathlon_trainer.learning.batch import SftExample
from polyathlon_trainer.learning.bytechat import END, ByteChat
from polyathlon_trainer.mixture import DomainCard
from polyathlon_trainer.rollout.crew import Crew
from polyathlon_trainer.sft import NothingToImitate, ReferenceRules, ReferenceStream
from polyathlon_trainer.state import SftState

COPY = DomainCard("toys/toy.copy-v1", levels=3, max_turns=1)
NEXT = DomainCard("toys/toy.next-v1", levels=2, max_turns=1, weight=3.0)
DOOR = DomainCard("toys/toy.door-v1", levels=2, max_turns=4)
RULES = ReferenceRules(
    seed=0, stage="sft", max_prompt_tokens=200, max_new_tokens=32, max_context_tokens=300, sandbox_tasks=4
)
CHAT = ByteChat(200)


def stream(
    crew: Crew, *cards: DomainCard, rules: ReferenceRules = RULES, state: SftState | None = None
) -> ReferenceStream:
    return ReferenceStream(cards, crew, CHAT, rules, state or SftState())


def prompt(example: SftExample) -> str:
    return CHAT.decode(example.prompt_ids)


def test_domains_come_by_their_shares(crew: Crew) -> None:
    examples = stream(crew, COPY, NEXT).batch(40)
    assert Counter(example.domain_id for example in examples) == {COPY.id: 10, NEXT.id: 30}


def test_an_example_is_what_the_reference_writes_with_its_end(crew: Crew) -> None:
    (example,) = stream(crew, COPY).batch(1)
    ((written, observed),) = example.turns
    assert CHAT.decode(written) == prompt(example).removeprefix("copy ")
    assert written[-1] == END
    assert observed == ()


def test_levels_come_in_equal_parts(crew: Crew) -> None:
    lengths = Counter(len(prompt(example)) for example in stream(crew, COPY).batch(300))
    assert all(70 <= count <= 130 for count in lengths.values())
    assert len(lengths) == 3


def test_references_of_several_turns_are_played_in_their_world(crew: Crew) -> None:
    (example,) = stream(crew, DOOR).batch(1)
    code = prompt(example).removeprefix("dial ")
    assert "".join(CHAT.decode(written) for written, _ in example.turns) == code
    assert CHAT.decode(example.turns[0][1]) == f"dialled {code[0]}"
    assert example.turns[-1][1] == ()


def test_the_stream_is_the_same_every_time_and_goes_on_where_it_stood(crew: Crew) -> None:
    whole = stream(crew, COPY, NEXT, DOOR)
    expected = whole.batch(12) + whole.batch(12)
    whole.close()
    first = stream(crew, COPY, NEXT, DOOR)
    start = first.batch(12)
    kept = msgspec.json.decode(msgspec.json.encode(first.state), type=SftState)
    first.close()
    second = stream(crew, COPY, NEXT, DOOR, state=kept)
    assert start + second.batch(12) == expected
    second.close()


def test_references_that_do_not_fit_are_left_out_counted_and_replaced(crew: Crew) -> None:
    # words of 4, 5 and 6 letters and the end: only the first two fit 6 ids
    source = stream(crew, COPY, rules=replace(RULES, max_new_tokens=6))
    examples = source.batch(60)
    assert len(examples) == 60
    assert {len(prompt(example)) for example in examples} == {9, 10}
    assert source.left_out[COPY.id] == 6  # then the level is given up
    assert source.state.closed == (f"{COPY.id}:2",)
    assert source.shut == ()


def test_a_domain_whose_references_never_fit_gives_its_share_to_the_others(crew: Crew) -> None:
    # "copy abcd" takes 10 ids and its answer 5; the door's two turns and what lies between them never fit 16
    tight = stream(crew, COPY, DOOR, rules=replace(RULES, max_context_tokens=16))
    assert {example.domain_id for example in tight.batch(30)} == {COPY.id}
    assert tight.shut == (DOOR.id,)
    tight.close()


def test_a_prompt_that_had_to_be_cut_is_not_imitated(crew: Crew) -> None:
    # "copy abcd" takes 10 ids, then 11 and 12
    chat = ByteChat(11)
    source = ReferenceStream([COPY], crew, chat, replace(RULES, max_prompt_tokens=11), SftState())
    assert {chat.decode(example.prompt_ids)[:5] + str(len(example.prompt_ids)) for example in source.batch(20)} == {
        "copy 10"
    }


def test_when_no_reference_fits_at_all_that_is_said(crew: Crew) -> None:
    with pytest.raises(NothingToImitate, match=r"rl\.max_new_tokens"):
        stream(crew, COPY, rules=replace(RULES, max_new_tokens=1)).batch(1)


def test_early_in_the_stage_only_the_shortest_third_comes(crew: Crew) -> None:
    # "next e" and its answer are shorter than "copy abcd" and its own; the door takes two turns
    source = stream(crew, COPY, NEXT, DOOR, rules=replace(RULES, short_first=0.5))
    early = [example for _ in range(5) for example in source.batch(4, progress=0.49)]
    assert {example.domain_id for example in early} == {NEXT.id}
    assert source.state.short == (NEXT.id,)
    late = Counter(example.domain_id for _ in range(5) for example in source.batch(10, progress=0.5))
    assert late == {COPY.id: 10, NEXT.id: 30, DOOR.id: 10}  # nothing is made up for: each has its share from here on
    source.close()


def test_the_short_ones_are_the_same_after_a_stop(crew: Crew) -> None:
    rules = replace(RULES, short_first=0.5)
    whole = stream(crew, COPY, NEXT, DOOR, rules=rules)
    expected = [whole.batch(6, progress=progress) for progress in (0.0, 0.4, 0.6)]
    whole.close()
    first = stream(crew, COPY, NEXT, DOOR, rules=rules)
    start = first.batch(6, progress=0.0)
    first.close()
    second = stream(crew, COPY, NEXT, DOOR, rules=rules, state=first.state)
    assert [start, *(second.batch(6, progress=progress) for progress in (0.4, 0.6))] == expected
    second.close()


def test_where_every_domain_takes_turns_all_of_them_come_early(crew: Crew) -> None:
    source = stream(crew, DOOR, rules=replace(RULES, short_first=1.0))
    assert {example.domain_id for example in source.batch(4, progress=0.0)} == {DOOR.id}
    source.close()


def test_a_domain_with_a_sandbox_repeats_a_few_tasks(crew: Crew) -> None:
    dear = replace(DOOR, needs_sandbox=True)
    source = stream(crew, dear)
    prompts = {prompt(example) for _ in range(10) for example in source.batch(4)}
    assert len(prompts) <= 4
    source.close()
