from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyathlon_trainer.learning.bytechat import ANSWER, CUT, END, NUM_OUTPUT_IDS, OBSERVATION, ByteChat


def test_a_context_is_the_prompts_bytes_and_a_mark() -> None:
    chat = ByteChat(64)
    assert chat.open("ab", instructions="never read") == (97, 98, ANSWER)
    assert chat.reply("no") == (OBSERVATION, 110, 111, ANSWER)
    assert chat.encode_turn("é") == (0xC3, 0xA9, END)


def test_head_and_tail_of_a_long_prompt_are_kept() -> None:
    chat = ByteChat(8)
    assert chat.open("abcdefghij", instructions="") == (97, 98, 99, CUT, 104, 105, 106, ANSWER)
    assert chat.reply("abcdefghij") == (OBSERVATION, 97, 98, 99, CUT, 105, 106, ANSWER)
    assert chat.open("abcdefg", instructions="") == (*b"abcdefg", ANSWER)


def test_the_policy_can_only_write_bytes_and_the_end() -> None:
    assert NUM_OUTPUT_IDS == END + 1


def test_any_ids_decode() -> None:
    chat = ByteChat(64)
    assert chat.decode((0xFF, 97, END)) == "\ufffda"
    assert chat.decode((OBSERVATION, 97, CUT)) == "a"


def test_a_lone_surrogate_does_not_break_encoding() -> None:
    assert ByteChat(64).open("\ud800", instructions="") == (ord("?"), ANSWER)


def test_a_chat_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="max_prompt_tokens is 7"):
        ByteChat(7)


@given(st.text(), st.integers(8, 40))
def test_contexts_fit_and_turns_come_back(text: str, size: int) -> None:
    chat = ByteChat(size)
    assert len(chat.open(text, instructions="")) <= size
    assert len(chat.reply(text)) <= size
    safe = text.encode("utf-8", errors="replace").decode()
    assert chat.decode(chat.encode_turn(text)) == safe
