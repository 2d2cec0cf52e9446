"""Hostile text made fit to be read, and commands that send it again."""

import json
import shlex

from polyathlon.inspect.hostile import hostile_texts
from polyathlon.inspect.readable import readable
from polyathlon.inspect.replay import MAX_TYPED_CHARS, replay_command

ID = "acme/docs.claims-v1"


def test_plain_text_in_any_alphabet_stays_as_it_is() -> None:
    text = "naïve Σ ∑ 東京 ½\n\tindented  – \u2212" + "4 🙂"
    assert readable(text) == text


def test_what_cannot_be_seen_is_spelt_out() -> None:
    assert readable("\x00\x1b\x7f\r\x85\xad") == "\u2400\u241b\u2421\u240d\\x85\\xad"
    assert readable("\u202eab\u202c\u200b\ufeff\u2028") == "\\u202eab\\u202c\\u200b\\ufeff\\u2028"
    assert readable("\ud800\udfff\U000e0041") == "\\ud800\\udfff\\U000e0041"


def test_a_tower_of_marks_is_counted_and_an_accent_is_not() -> None:
    assert readable("a" + "\u0301" * 50) == "a[50 combining marks]"
    assert readable("e\u0301") == "e\u0301"


def test_long_texts_and_many_lines_are_cut_with_a_mark() -> None:
    assert readable("x" * 101, max_chars=100) == "x" * 50 + "\n[... 1 characters cut ...]\n" + "x" * 50
    assert readable("\n".join("abcdefg"), max_lines=4) == "a\nb\n[... 3 lines cut ...]\nf\ng"


def test_every_hostile_text_becomes_utf_8_of_bounded_size() -> None:
    assert all(len(readable(text).encode("utf-8")) < 70_000 for _, text in hostile_texts())


def test_a_replay_command_gives_the_shell_the_very_messages() -> None:
    for name, text in hostile_texts():
        words = shlex.split(replay_command(ID, 1, 3, (text, "it's")))
        assert words[:7] == ["polyathlon", "play", ID, "--level", "1", "--seed", "3"], name
        if len(json.dumps([text, "it's"])) <= MAX_TYPED_CHARS:
            assert json.loads(words[8]) == [text, "it's"], name
        else:
            assert words[7:] == [], name


def test_without_actions_a_replay_is_the_task_alone() -> None:
    assert replay_command(ID, 0, 9) == f"polyathlon play {ID} --level 0 --seed 9"
