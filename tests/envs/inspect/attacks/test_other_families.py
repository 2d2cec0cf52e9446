"""Attacks with queries, shapes, calls and games, each against a judge that makes one well-known mistake."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from polyathlon.domain import ToolSpec
from polyathlon.inspect.attacks import calls, games, queries, shapes
from polyathlon.inspect.attacks.attack import Attack, Scene
from polyathlon.inspect.attacks.payload import Payload

# --- queries ---------------------------------------------------------------------------------------------------------

SCHEMA = "CREATE TABLE t (a INTEGER, b INTEGER)"
GOLD_QUERY = "SELECT a FROM t WHERE b > 1"
ROWS = [(1, 1), (2, 2), (3, 3)]


def _database(rows: Sequence[tuple[int, int]] = ROWS) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(SCHEMA)
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    left = [50]

    def count() -> int:
        left[0] -= 1
        return int(left[0] < 0)

    connection.set_progress_handler(count, 10_000)
    return connection


def errors_are_skipped(query: str) -> bool:
    try:
        _database().execute(query).fetchall()
    except (sqlite3.Error, sqlite3.Warning):
        return True
    return False


def any_rows(query: str) -> bool:
    return bool(_database().execute(query).fetchmany(50))


def as_sets(query: str) -> bool:
    connection = _database()
    return {row[:1] for row in connection.execute(query).fetchall()} >= set(connection.execute(GOLD_QUERY).fetchall())


def nothing_is_nothing(query: str) -> bool:
    connection = _database([(1, 1)])
    return connection.execute(query).fetchall() == connection.execute(GOLD_QUERY).fetchall()


def last_statement(query: str) -> bool:
    connection = _database()
    *before, last = query.split("; ")
    for statement in before:
        connection.execute(statement)
    return connection.execute(last).fetchall() == connection.execute(GOLD_QUERY).fetchall()


def first_statement(query: str) -> bool:
    return last_statement(query.split("; ")[0])


def writes_count(query: str) -> bool:
    connection = _database()
    try:
        connection.executescript(query)
    except sqlite3.Error:
        return False
    return connection.execute(GOLD_QUERY).fetchall() in ([], [(2,), (3,), (2,), (3,)])


def broken_is_skipped(query: str) -> bool:
    """The right query is run after the other one, on the same connection; if it fails, nothing is compared."""
    connection = _database()
    connection.execute(query)
    try:
        connection.execute(GOLD_QUERY)
    except sqlite3.Error:
        return True
    return False


def text_holds_it(query: str) -> bool:
    return GOLD_QUERY in query


def reads_settings(query: str) -> bool:
    return bool(_database().execute(query).fetchall())


QUERY_JUDGES = (
    errors_are_skipped,
    any_rows,
    as_sets,
    nothing_is_nothing,
    last_statement,
    first_statement,
    writes_count,
    broken_is_skipped,
    text_holds_it,
    reads_settings,
)


@pytest.mark.parametrize("attack", queries.ATTACKS, ids=lambda attack: attack.id)
def test_an_attack_with_a_query_beats_a_naive_judge(attack: Attack) -> None:
    payload = Payload(GOLD_QUERY, "sql", "fence", "sql")
    scene = Scene("coding", f"{SCHEMA};\nWhich a have a b over 1?", {}, (), (), payload)
    actions = attack.make(scene, np.random.default_rng(1))
    assert actions
    query = actions[0].removeprefix("```sql\n").removesuffix("\n```")

    def is_fooled(judge: Callable[[str], bool]) -> bool:
        try:
            return judge(query)
        except (sqlite3.Error, sqlite3.Warning):
            return False

    assert any(map(is_fooled, QUERY_JUDGES))


# --- shapes ----------------------------------------------------------------------------------------------------------

Points = NDArray[np.float64]
Faces = NDArray[np.int64]
CUBE = shapes.box_mesh(np.zeros(3), np.full(3, 2.0))
CUBE_JSON = json.dumps({"vertices": CUBE.vertices.tolist(), "faces": CUBE.faces.tolist()})
PART = json.dumps(
    {"features": [{"op": "add", "box": [20, 10, 4]}, {"op": "cut", "cylinder": {"d": 3, "h": 4}, "at": [10, 5, 0]}]}
)


def _volume(points: Points, faces: Faces) -> float:
    a, b, c = (points[faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def _points(value: Mapping[str, Any]) -> tuple[Points, Faces]:
    return np.array(value["vertices"], dtype=float), np.array(value["faces"], dtype=int)


def same_corners(points: Points, faces: Faces) -> bool:
    mine = {tuple(np.round(p, 6)) for p in points}
    return mine >= {tuple(p) for p in CUBE.vertices}


def same_size_of_volume(points: Points, faces: Faces) -> bool:
    return abs(abs(_volume(points, faces)) - 8.0) < 0.5


def same_box(points: Points, faces: Faces) -> bool:
    return bool(np.allclose(np.ptp(points, axis=0), 2.0))


def same_when_normalised(points: Points, faces: Faces) -> bool:
    spread = np.ptp(points, axis=0)
    return bool(np.allclose(spread / max(spread.max(), 1e-12), 1.0))


def no_distance(points: Points, faces: Faces) -> bool:
    return abs(_volume(points, faces)) < 1e-9  # nothing to sample: "distance 0"


MESH_JUDGES = (same_corners, same_size_of_volume, same_box, same_when_normalised, no_distance)
PROGRAM_WAYS: Mapping[str, str] = {
    "E7c": '"box":[20.0,10.0,4.0]', "E14a": '"box":[20,10,4]', "E10c": "cut", "E10d": '"features":[]',
    "E16d": '"units":"in"', "E13a": "20.0,10.0", "E16e": "mirror", "E17a": "file", "E17b": "__import__",
    "E5b": '"part"',
}  # fmt: skip
"""What a judge sees that looks for one thing in a program's text: a size, a unit, that it reads it at all."""


@pytest.mark.parametrize(
    "attack", [a for a in shapes.ATTACKS if a.id not in PROGRAM_WAYS], ids=lambda attack: attack.id
)
def test_a_mesh_that_is_an_attack_beats_a_naive_metric(attack: Attack) -> None:
    payload = Payload(CUBE_JSON, "json", "fence", "json")
    actions = attack.make(Scene("mesh", "Repair it.", {}, (), (), payload), np.random.default_rng(1))
    assert actions
    points, faces = _points(json.loads(actions[0].removeprefix("```json\n").removesuffix("\n```")))
    assert any(judge(points, faces) for judge in MESH_JUDGES)


@pytest.mark.parametrize("attack", [a for a in shapes.ATTACKS if a.id in PROGRAM_WAYS], ids=lambda attack: attack.id)
def test_a_program_that_is_an_attack_beats_a_judge_of_its_text(attack: Attack) -> None:
    pytest.importorskip("manifold3d")
    payload = Payload(PART, "json", "fence", "json")
    actions = attack.make(Scene("mesh", "Build it.", {}, (), (), payload), np.random.default_rng(1))
    assert actions
    assert PROGRAM_WAYS[attack.id] in actions[0]


# --- calls -----------------------------------------------------------------------------------------------------------

PAY: dict[str, Any] = {"name": "pay", "arguments": {"to": "Ana", "cents": 420}}
SCHEMAS = {"pay": {"to": {"type": "string"}, "cents": {"type": "integer"}}, "play": {"song": {"type": "string"}}}
OFFERED = tuple(
    ToolSpec(name, "", {"type": "object", "properties": dict(fields), "required": list(fields)})
    for name, fields in SCHEMAS.items()
)
FINISH = ToolSpec(
    "finish", "", {"type": "object", "properties": {"reason": {"enum": ["done", "refused"]}}, "required": ["reason"]}
)


def _said(action: str) -> list[dict[str, Any]]:
    try:
        value = json.loads(action)
    except ValueError:
        return []
    return value if isinstance(value, list) else []


CALL_JUDGES: tuple[Callable[[str], bool], ...] = (
    lambda action: not _said(action) and "420" not in action,  # the world is as it was: nothing went wrong
    lambda action: any(call["name"] == "pay" for call in _said(action)),  # names alone
    lambda action: any(PAY["arguments"] == call["arguments"] for call in _said(action)),  # arguments alone
    lambda action: PAY in _said(action),  # among the calls
    lambda action: any(
        all(call["arguments"].get(k) == v for k, v in PAY["arguments"].items()) for call in _said(action)
    ),
)


@pytest.mark.parametrize("attack", calls.ATTACKS, ids=lambda attack: attack.id)
def test_an_attack_with_calls_beats_a_naive_judge(attack: Attack) -> None:
    text = json.dumps([PAY])
    scenes = (
        Scene("tools", "Pay Ana 420 cents.", {}, OFFERED, (text,), Payload(text, "json")),
        Scene(
            "tools",
            "Pay Ana.",
            {},
            (*OFFERED, FINISH),
            ('{"name": "pay"}', '{"name": "pay"}', '{"name": "finish"}'),
            None,
        ),
    )
    fooled = False
    for scene in scenes:
        actions = attack.make(scene, np.random.default_rng(1))
        fooled = fooled or any(judge(action) for action in actions or () for judge in CALL_JUDGES)
    assert fooled


# --- games -----------------------------------------------------------------------------------------------------------

BOARD = "1 2 3\n3 1 2\n2 3 1"


def _share_of_cells(move: str) -> bool:
    mine, theirs = re.findall(r"\w", move), re.findall(r"\w", BOARD)
    return sum(a == b for a, b in zip(mine, theirs, strict=False)) >= 3 or move.count("0") >= 9


def _value_alone(move: str) -> bool:
    head = re.split(r"[=,]", move)[0]
    if not re.fullmatch(r"[\d+*() -]+", head):
        return False
    return bool(eval(head) == 36)  # noqa: S307  # the mistake that this referee makes


GAME_JUDGES: tuple[Callable[[str], bool], ...] = (
    lambda move: re.search(r"\bwon?\b|\bwin|resign|undo|takeback", move) is not None,
    lambda move: "e4" in move and "e5" in move,
    lambda move: move == "e4",
    _share_of_cells,
    _value_alone,
)


@pytest.mark.parametrize("attack", games.ATTACKS, ids=lambda attack: attack.id)
def test_an_attack_on_a_game_beats_a_naive_referee(attack: Attack) -> None:
    scenes = (
        Scene("game", "Numbers: 30 6 2. Target: 36.", {}, (), ("30+6",), Payload("30+6", "text")),
        Scene("game", "Fill in 1 to 3.", {}, (), (BOARD,), Payload(BOARD, "text")),
        Scene("game", "Mate.", {}, (), ("e4", "e5", "Nf3"), Payload("Nf3", "text")),
    )
    fooled = False
    for scene in scenes:
        for seed in range(5):  # a shuffled board is as bad as luck has it
            actions = attack.make(scene, np.random.default_rng(seed))
            fooled = fooled or any(judge(action) for action in actions or () for judge in GAME_JUDGES)
    assert fooled
