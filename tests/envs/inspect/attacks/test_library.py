"""The library is whole, bound by its hashes, and every attack in it beats a verifier that makes its mistake."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from polyathlon.catalog import KINDS, Kind
from polyathlon.inspect.attacks import answers, library
from polyathlon.inspect.attacks.attack import Attack, Scene
from polyathlon.inspect.attacks.payload import Payload

from .naive_answers import JUDGES

PROMPT = "Add the numbers 12 and 30 together. Answer with one integer."
RECORD = (
    '{"name": "Ada", "total": 42, "rows": [{"a": 1, "b": 20}, {"a": 2, "b": 30}, {"a": 3, "b": 40}, {"a": 4, "b": 50}]}'
)
SCENES = (
    ("42", Payload("42", "text")),
    ("12;30;42", Payload("12;30;42", "text")),
    ("12, 31", Payload("12, 31", "text")),
    ("12 31 42", Payload("12 31 42", "text")),
    ("12\n31\n42", Payload("12\n31\n42", "text")),
    ("blue", Payload("blue", "text")),
    (RECORD, Payload(RECORD, "json")),
)


def _scene(payload: Payload, kind: Kind = "question") -> Scene:
    return Scene(kind, PROMPT, {"given": [1, 2, 3, 4, 20, 30, 40, 50, 42]}, (), (payload.text,), payload)


def _family(attack: Attack) -> str:
    return re.sub(r"[a-z]+$", "", attack.id)


def test_every_attack_has_a_name_of_its_own_and_a_kind() -> None:
    ids = [attack.id for attack in library.LIBRARY]
    assert len(ids) == len(set(ids))
    assert len(ids) > 180
    assert all(attack.kinds and set(attack.kinds) <= set(KINDS) for attack in library.LIBRARY)
    assert all(library.attacks_of(kind) for kind in KINDS)  # type: ignore[arg-type]  # every kind


def test_a_new_attack_makes_the_certificates_of_its_kinds_stale_and_of_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = {kind: library.library_hash(kind) for kind in KINDS}  # type: ignore[arg-type]
    more = Attack("Z1a", ("game", "mesh"), "a new one", lambda scene, rng: None)
    monkeypatch.setattr(library, "LIBRARY", (*library.LIBRARY, more))
    changed = {kind for kind in KINDS if library.library_hash(kind) != before[kind]}  # type: ignore[arg-type]
    assert changed == {"game", "mesh"}


def test_a_changed_attack_makes_them_stale_too(monkeypatch: pytest.MonkeyPatch) -> None:
    before = library.library_hash("question")
    first, *rest = library.LIBRARY
    monkeypatch.setattr(library, "LIBRARY", (replace(first, below="full"), *rest))
    assert library.library_hash("question") != before


@pytest.mark.parametrize("attack", answers.ATTACKS, ids=lambda attack: attack.id)
def test_an_attack_with_an_answer_beats_a_naive_judge(attack: Attack) -> None:
    best = 0.0
    for gold, payload in SCENES:
        actions = attack.make(_scene(payload), np.random.default_rng(7))
        for judge in JUDGES[_family(attack)] if actions is not None else ():
            if (payload.language == "json") == judge.__name__.endswith(("fields", "key", "columns", "json")):
                best = max(best, judge(actions[0], gold))  # type: ignore[index]  # actions is not None here
    assert best > 0.05, "no naive judge pays for it: what is it an attack on?"


@pytest.mark.parametrize("attack", answers.ATTACKS, ids=lambda attack: attack.id)
def test_no_attack_with_an_answer_is_the_answer(attack: Attack) -> None:
    for gold, payload in SCENES:
        actions = attack.make(_scene(payload), np.random.default_rng(7))
        assert actions is None or actions[0].strip() != gold
