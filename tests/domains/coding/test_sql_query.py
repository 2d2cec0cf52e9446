"""SQL queries: hand-worked results of every kind of question, and hidden databases that tell near-misses apart."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from polyathlon import Evidence, Task, TaskKey, draw_task
from polyathlon.sandbox.choose import default_room
from polyathlon.toolcall import write_call
from polyathlon.verify import sql
from polyathlon_domains.coding._same_query import same_query, without_rings
from polyathlon_domains.coding._tables import THEMES
from polyathlon_domains.coding.sql_query import _KINDS, DOMAIN, LEVELS

ID = "polyathlon/coding.sql-query-v1"
SHOP = THEMES[0]
AMOUNT, QTY = ["amount", "over", 10], ["qty", "least", 2]

# id, customer, product, day, quantity, amount, status
SHOP_ROWS: dict[str, list[list[Any]]] = {
    "customers": [
        [1, "Ada", "Ely", 50, None],
        [2, "Ben", None, 30, 1],
        [3, "Ada", "Ely", 41, 2],
        [4, "Cleo", "Brill", None, 1],
    ],
    "products": [[1, "saw", "tools"], [2, "top", "toys"]],
    "orders": [
        [10, 1, 1, "2024-03-01", 2, 11, "paid"],
        [11, 1, 1, "2024-03-02", 5, 20, None],
        [12, 1, 2, "2024-03-02", 5, 30, "open"],
        [13, 1, 2, "2024-03-05", 3, None, "paid"],
        [14, 2, 1, "2024-03-03", 2, 12, "paid"],
        [15, 2, 2, "2024-03-04", 1, 99, "paid"],
        [16, None, 1, "2024-03-04", 4, 50, "paid"],
        [17, 3, 2, "2024-03-09", 6, 40, "open"],
        [18, 3, 1, "2024-03-06", 2, 10, "open"],
    ],
}
# over 10 and quantity at least 2: orders 10, 11, 12 (customer 1), 14 (2), 16 (nobody), 17 (3)
BY_HAND: dict[str, tuple[dict[str, Any], list[list[Any]]]] = {
    "rows": ({"join": "and", "once": True, "columns": ["day", "qty"]}, [
        ["2024-03-01", 2], ["2024-03-02", 5], ["2024-03-03", 2], ["2024-03-04", 4], ["2024-03-09", 6]]),
    "totals": ({"join": "or"}, [[9, 8, 6]]),
    "groups": ({"join": "and", "group": "place", "n": 1}, [["Ely", 4, 18], [None, 1, 2]]),
    "pairs": ({"join": "and", "n": 1}, [["Ada", "saw"], ["Ada", "top"], ["Ben", "saw"]]),
    "never": ({"points": 29}, []),
    "zeros": ({}, [[1, 3, 12], [2, 1, 2], [3, 1, 6], [4, 0, 0]]),
    "always": ({"n": 2}, [[1, "Ada"], [2, "Ben"], [3, "Ada"]]),
    "top": ({"n": 1}, [[1, 11, 5], [1, 12, 5], [2, 14, 2], [3, 17, 6]]),
    "running": ({"n": 3}, [[17, 6], [12, 12], [11, 7]]),
    "change": ({"n": 3}, [[11, 3]]),
    "share": ({}, [[10, 2 / 12], [11, 5 / 12], [12, 5 / 12], [14, 1.0], [17, 1.0]]),
    "below": ({"points": 29}, [[1, 20], [2, 8], [3, 6]]),
    "streak": ({"n": 2}, [[1, 2]]),
    "gap": ({"n": 1}, [[1, "2024-03-01", "2024-03-02"]]),
}  # fmt: skip


@pytest.mark.parametrize("kind", _KINDS)
def test_each_kind_of_question_gives_what_was_worked_out_by_hand(kind: str) -> None:
    extra, wanted = BY_HAND[kind]
    question = _KINDS[kind]({"kind": kind, "filters": [AMOUNT, QTY], **extra}, SHOP)
    with closing(sql.open_database(SHOP.schema, SHOP_ROWS)) as connection:
        for query in (question.sql, *question.others):
            found = sql.own_rows(connection, query)
            assert sql.same_rows(found, wanted, ordered=bool(question.order)), query


def task_at(level: int, seed: int) -> Task:
    return draw_task(DOMAIN.tasks, TaskKey(ID, level, seed))


def reward(task: Task, query: str) -> float | None:
    return DOMAIN.verifier.judge(task, Evidence(answer=query), default_room()).reward


def hidden(task: Task, key: str) -> Any:
    return task.hidden[key]


@pytest.mark.parametrize("level", range(5))
def test_hidden_databases_hold_different_right_results_and_one_has_no_events(level: int) -> None:
    for seed in range(5):
        gold = [rows for rows in hidden(task_at(level, seed), "gold") if rows]
        assert len(gold) >= 3
        assert len({str(rows) for rows in gold}) >= 3
        assert any(not list(database.values())[2] for database in hidden(task_at(level, seed), "databases"))


def test_nearly_all_near_misses_are_told_apart() -> None:
    told = known = 0
    for level in range(len(LEVELS)):
        rng = np.random.default_rng(level)
        for _ in range(6):
            core = DOMAIN.tasks.draw(rng, level)
            rivals = DOMAIN.tasks.render(core, rng).hidden["rivals"]
            assert isinstance(rivals, dict)
            told += len(rivals)
            known += len(_KINDS[str(core["kind"])](core, SHOP).rivals)
    assert told >= 0.97 * known


@pytest.mark.parametrize("level", range(5))
def test_other_right_queries_earn_all_and_near_misses_at_most_half(level: int) -> None:
    task = task_at(level, 2)
    for query in hidden(task, "others"):
        assert reward(task, query) == 1.0, query
    for query in hidden(task, "rivals").values():
        value = reward(task, query)
        assert value is not None
        assert value <= 0.5, query


@pytest.mark.parametrize("level", range(5))
def test_constants_and_whole_tables_earn_nothing(level: int) -> None:
    task = task_at(level, 4)
    for attempt in DOMAIN.exploits(task):
        workspace = DOMAIN.open_workspace(task, default_room())
        for action in attempt.actions:
            workspace.act(action)
        assert DOMAIN.verifier.judge(task, workspace.evidence(), default_room()).reward == 0.0, attempt
        workspace.close()


def test_the_rows_of_one_hidden_database_are_worth_nothing_on_the_others() -> None:
    task = task_at(1, 3)
    table = next(iter(hidden(task, "databases")[0]))
    rows = next(rows for rows in hidden(task, "gold") if rows)
    values = ", ".join("(" + ", ".join("NULL" if v is None else repr(v) for v in row) + ")" for row in rows)
    assert reward(task, f"SELECT x.* FROM (VALUES {values}) x, (SELECT id FROM {table} LIMIT 1)") == 0.0


def test_order_is_judged_where_it_was_asked() -> None:
    task = next(task for seed in range(40) if hidden(task := task_at(3, seed), "ordered"))
    assert "Latest" in task.prompt
    query = hidden(task, "sql")
    assert reward(task, query.rsplit(" ORDER BY", 1)[0]) != 1.0
    assert reward(task, f"SELECT * FROM ({query})") == 1.0


def test_a_run_shows_the_sample_and_is_not_an_answer() -> None:
    task = task_at(0, 0)
    workspace = DOMAIN.open_workspace(task, default_room())
    shown = workspace.act(write_call("run", {"query": hidden(task, "sql")}))
    assert shown.text.endswith("rows)")
    assert workspace.act(write_call("run", {"query": "SELEC"})).error
    assert DOMAIN.verifier.judge(task, workspace.evidence(), default_room()).reward == 0.0


def test_nothing_hidden_is_in_what_the_policy_sees() -> None:
    for level in range(5):
        task = task_at(level, 7)
        assert hidden(task, "sql") not in task.prompt + str(task.public)
        assert set(task.public) == {"schema", "sample"}
        assert str(hidden(task, "databases")[0]) not in str(task.public)


def test_the_proof_varies_a_tree_into_a_tree() -> None:
    rows: list[list[Any]] = [[1, "Ada", 3], [2, "Ben", 1], [3, "Cleo", 2], [4, "Dan", 4], [5, "Eve", 1]]
    # 1 lies under 3, 2 under 1; 3 under 2 would close the ring; 4 lies under itself
    assert without_rings(rows, 2) == [[1, "Ada", 3], [2, "Ben", 1], [3, "Cleo", None], [4, "Dan", None], [5, "Eve", 1]]


BELOW = (
    "WITH RECURSIVE b(top, id) AS (SELECT id, id FROM customers UNION{} SELECT b.top, c.id FROM b JOIN customers c "
    "ON c.{} = b.id) SELECT top, COUNT(*) FROM b GROUP BY top"
)


@pytest.mark.parametrize(
    ("other", "proven"),
    [(BELOW.format("", SHOP.parent), True), (f"{BELOW.format('', SHOP.parent)} HAVING COUNT(*) > 1", False)],
)
def test_the_proof_knows_two_walks_down_a_tree_as_the_same(other: str, proven: bool) -> None:
    right = BELOW.format(" ALL", SHOP.parent)
    same = same_query(right, other, schema=SHOP.schema, databases=[SHOP_ROWS], ordered=False, seed="a tree")
    assert same is proven


def test_the_proof_declines_where_the_right_query_has_no_result() -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT id FROM customers UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
    assert not same_query(endless, endless, schema=SHOP.schema, databases=[SHOP_ROWS], ordered=False, seed="endless")
