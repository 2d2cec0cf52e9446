"""Questions over the three tables: each in English, as the right query, as other right ones, and as near-misses."""

# ruff: noqa: E501  # a query is easier to check on one line

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from polyathlon_domains.coding._tables import Theme, filter_sql, filter_words, near_sql

Core = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `rivals` are plausible wrong queries by name; `trivial` ones look at nothing the question says."""

    words: str
    columns: str
    sql: str
    others: tuple[str, ...]
    rivals: Mapping[str, str]
    trivial: tuple[str, ...]
    order: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """The two conditions of a core in every form that questions need."""

    both: str
    words: str
    first_only: str
    second_only: str
    near_first: str
    near_second: str

    @classmethod
    def of(cls, core: Mapping[str, Any], t: Theme, alias: str = "v") -> Parts:
        first, second = core["filters"]
        joint = core.get("join", "and")
        a, b = filter_sql(first, t, alias), filter_sql(second, t, alias)
        word = f"{filter_words(second, t)} {joint} {filter_words(first, t)}"
        link = joint.upper()
        return cls(
            both=f"({a} {link} {b})",
            words=word,
            first_only=f"({a})",
            second_only=f"({b})",
            near_first=f"({near_sql(first, t, alias)} {link} {b})",
            near_second=f"({a} {link} {near_sql(second, t, alias)})",
        )

    def misses(self, write: Callable[[str], str]) -> dict[str, str]:
        """Return the query that `write` makes of a condition, for each wrong condition."""
        return {
            "second condition dropped": write(self.first_only),
            "first condition dropped": write(self.second_only),
            "first bound moved": write(self.near_first),
            "second bound moved": write(self.near_second),
        }


def rows(core: Mapping[str, Any], t: Theme) -> Question:
    p, names = Parts.of(core, t), [getattr(t, column) for column in core["columns"]]
    picked = ", ".join(f"v.{name}" for name in names)
    once = "DISTINCT " if core["once"] else ""
    link = str(core["join"])

    def write(condition: str, kind: str = once) -> str:
        return f"SELECT {kind}{picked} FROM {t.v} v WHERE {condition}"

    other = p.both.replace(f" {link.upper()} ", " OR " if link == "and" else " AND ", 1)
    case = f"CASE WHEN {p.both} THEN 1 ELSE 0 END = 1"
    grouped = f"SELECT {picked} FROM {t.v} v WHERE {p.both} GROUP BY {picked if core['once'] else 'v.id'}"
    return Question(
        words=f"List {' and '.join(names)} of the {t.events} {p.words}"
        + (", each combination once." if core["once"] else ", a row for each of them."),
        columns=", ".join(names),
        sql=write(p.both),
        others=(write(case), grouped),
        rivals={
            "DISTINCT the other way": write(p.both, "" if once else "DISTINCT "),
            "AND for OR": write(other),
            **p.misses(write),
        },
        trivial=(f"SELECT {picked} FROM {t.v} v", f"SELECT DISTINCT {picked} FROM {t.v} v"),
    )


def totals(core: Mapping[str, Any], t: Theme) -> Question:
    p = Parts.of(core, t)
    what = f"COUNT(*), COUNT(v.{t.status}), MAX(v.{t.qty})"

    def write(condition: str, picked: str = what) -> str:
        return f"SELECT {picked} FROM {t.v} v WHERE {condition}"

    return Question(
        words=f"Of the {t.events} {p.words}: how many are there, how many of them have any {t.status}, and what is "
        f"their largest {t.qty}?",
        columns=f"number, number with any {t.status}, largest {t.qty} (one row)",
        sql=write(p.both),
        others=(
            write(p.both, f"COUNT(v.id), TOTAL(v.{t.status} IS NOT NULL), MAX(v.{t.qty})"),
            f"SELECT (SELECT COUNT(*) FROM {t.v} v WHERE {p.both}), (SELECT COUNT(*) FROM {t.v} v WHERE {p.both} AND "
            f"v.{t.status} IS NOT NULL), (SELECT MAX(v.{t.qty}) FROM {t.v} v WHERE {p.both})",
        ),
        rivals={
            "COUNT of a column for COUNT(*)": write(p.both, what.replace("COUNT(*)", f"COUNT(v.{t.e_id})")),
            "COUNT(*) for COUNT of a column": write(p.both, what.replace(f"COUNT(v.{t.status})", "COUNT(*)")),
            "DISTINCT values counted": write(
                p.both, what.replace(f"COUNT(v.{t.status})", f"COUNT(DISTINCT v.{t.status})")
            ),
            **p.misses(write),
        },
        trivial=(write("1"),),
    )


def groups(core: Mapping[str, Any], t: Theme) -> Question:
    p, n = Parts.of(core, t), core["n"]
    by_entity = core["group"] == "place"
    key = f"e.{t.place}" if by_entity else f"c.{t.kind}"
    name = t.place if by_entity else t.kind
    join = f"JOIN {t.e} e ON e.id = v.{t.e_id}" if by_entity else f"JOIN {t.c} c ON c.id = v.{t.c_id}"

    def write(
        condition: str, *, joined: str = join, having: str = f"COUNT(*) >= {n}", total: str = f"SUM(v.{t.qty})"
    ) -> str:
        source = f"FROM {t.v} v {joined} WHERE {condition}"
        return f"SELECT {key}, COUNT(*), {total} {source} GROUP BY {key} HAVING {having}"

    inner = f"SELECT {key} AS g, v.{t.qty} AS q FROM {t.v} v {join} WHERE {p.both}"
    nested = f"SELECT g, COUNT(*) AS n, SUM(q) AS s FROM ({inner}) GROUP BY g"
    missing = (
        f" (leave out {t.events} of no known {t.entity}; those without {t.place} are a group too)" if by_entity else ""
    )
    return Question(
        words=f"Take the {t.events} {p.words}. For each {name}{missing} that has at least {n} of them, give the "
        f"{name}, their number, and the sum of their {t.qty}.",
        columns=f"{name}, number, sum",
        sql=write(p.both),
        others=(
            f"SELECT g, n, s FROM ({nested}) WHERE n >= {n}",
            f"WITH picked AS ({inner}) SELECT g, COUNT(*), SUM(q) FROM picked GROUP BY g HAVING COUNT(q) >= {n}",
        ),
        rivals={
            "more than": write(p.both, having=f"COUNT(*) > {n}"),
            "no HAVING": write(p.both, having="1"),
            "average": write(p.both, total=f"AVG(v.{t.qty})"),
            "outer join" if by_entity else "distinct sum": write(p.both, joined=f"LEFT {join}")
            if by_entity
            else write(p.both, total=f"SUM(DISTINCT v.{t.qty})"),
            "count of entities": write(p.both).replace("COUNT(*),", f"COUNT(DISTINCT v.{t.e_id}),", 1),
            **p.misses(write),
        },
        trivial=(write("1", having="1"), write("1")),
    )


def pairs(core: Mapping[str, Any], t: Theme) -> Question:
    p = Parts.of(core, t)
    joins = f"JOIN {t.e} e ON e.id = v.{t.e_id} JOIN {t.c} c ON c.id = v.{t.c_id}"
    column, name = "c.title", "title"

    def write(condition: str, kind: str = "DISTINCT ") -> str:
        return f"SELECT {kind}e.name, {column} FROM {t.v} v {joins} WHERE {condition}"

    exists = f"SELECT 1 FROM {t.v} v WHERE v.{t.e_id} = e.id AND v.{t.c_id} = c.id AND {p.both}"
    return Question(
        words=f"Which {t.entity} name goes with which {t.item} {name} through {t.events} {p.words}? List each pair of "
        "texts once, also where several share it.",
        columns=f"name, {name}",
        sql=write(p.both),
        others=(
            f"SELECT e.name, {column} FROM {t.v} v {joins} WHERE {p.both} GROUP BY e.name, {column}",
            f"SELECT DISTINCT e.name, {column} FROM {t.e} e, {t.c} c WHERE EXISTS ({exists})",
        ),
        rivals={
            "no DISTINCT": write(p.both, ""),
            "by id": f"SELECT e.name, {column} FROM {t.v} v {joins} WHERE {p.both} GROUP BY e.id, c.id",
            "joined on the wrong key": write(p.both).replace(f"e.id = v.{t.e_id}", f"e.id = v.{t.c_id}"),
            **p.misses(write),
        },
        trivial=(f"SELECT DISTINCT e.name, {column} FROM {t.e} e, {t.c} c", write("1")),
    )


def never(core: Mapping[str, Any], t: Theme) -> Question:
    p, points = Parts.of(core, t), core["points"]
    own = f"e.{t.points} > {points}"

    def write(condition: str, head: str = own) -> str:
        return (
            f"SELECT e.id, e.name FROM {t.e} e WHERE {head} AND NOT EXISTS "
            f"(SELECT 1 FROM {t.v} v WHERE v.{t.e_id} = e.id AND {condition})"
        )

    listed = f"SELECT v.{t.e_id} FROM {t.v} v WHERE {p.both}"
    return Question(
        words=f"List id and name of every {t.entity} with {t.points} over {points} that has no {t.event} {p.words}.",
        columns="id, name",
        sql=write(p.both),
        others=(
            f"SELECT e.id, e.name FROM {t.e} e LEFT JOIN {t.v} v ON v.{t.e_id} = e.id AND {p.both} WHERE {own} AND v.id "
            "IS NULL",
            f"SELECT e.id, e.name FROM {t.e} e WHERE {own} AND e.id NOT IN ({listed} AND v.{t.e_id} IS NOT NULL)",
        ),
        rivals={
            "NOT IN with NULLs": f"SELECT e.id, e.name FROM {t.e} e WHERE {own} AND e.id NOT IN ({listed})",
            "has one": write(p.both).replace("NOT EXISTS", "EXISTS"),
            "some event is not so": f"SELECT DISTINCT e.id, e.name FROM {t.e} e JOIN {t.v} v ON v.{t.e_id} = e.id WHERE "
            f"{own} AND NOT {p.both}",
            "own bound moved": write(p.both, f"e.{t.points} >= {points}"),
            "own condition dropped": write(p.both, "1"),
            **p.misses(write),
        },
        trivial=(f"SELECT e.id, e.name FROM {t.e} e", f"SELECT e.id, e.name FROM {t.e} e WHERE {own}"),
    )


def zeros(core: Mapping[str, Any], t: Theme) -> Question:
    p = Parts.of(core, t)

    def write(condition: str, *, number: str = "COUNT(v.id)", total: str = f"COALESCE(SUM(v.{t.qty}), 0)") -> str:
        return (
            f"SELECT e.id, {number}, {total} FROM {t.e} e LEFT JOIN {t.v} v ON v.{t.e_id} = e.id AND {condition} "
            "GROUP BY e.id"
        )

    inner = f"FROM {t.v} v WHERE v.{t.e_id} = e.id AND {p.both}"
    picked = f"SELECT v.{t.e_id} AS k, COUNT(*) AS n, SUM(v.{t.qty}) AS s FROM {t.v} v WHERE {p.both} GROUP BY 1"
    return Question(
        words=f"For every {t.entity}, also those without any, give the id, how many {t.events} it has {p.words}, and the "
        f"sum of {t.qty} over these (0 if there are none).",
        columns="id, number, sum",
        sql=write(p.both),
        others=(
            f"SELECT e.id, (SELECT COUNT(*) {inner}), (SELECT CAST(TOTAL(v.{t.qty}) AS INTEGER) {inner}) FROM {t.e} e",
            f"SELECT e.id, COALESCE(x.n, 0), COALESCE(x.s, 0) FROM {t.e} e LEFT JOIN ({picked}) x ON x.k = e.id",
        ),
        rivals={
            "filtered after the join": f"SELECT e.id, COUNT(v.id), COALESCE(SUM(v.{t.qty}), 0) FROM {t.e} e LEFT JOIN "
            f"{t.v} v ON v.{t.e_id} = e.id WHERE {p.both} GROUP BY e.id",
            "COUNT(*) for none": write(p.both, number="COUNT(*)"),
            "NULL for none": write(p.both, total=f"SUM(v.{t.qty})"),
            "sum of distinct": write(p.both, total=f"COALESCE(SUM(DISTINCT v.{t.qty}), 0)"),
            **p.misses(write),
        },
        trivial=(write("1"), f"SELECT id, 0, 0 FROM {t.e}"),
    )


def always(core: Mapping[str, Any], t: Theme) -> Question:
    n = core["n"]
    p = Parts.of({**core, "join": "or"}, t)
    inner = f"FROM {t.v} v WHERE v.{t.e_id} = e.id"

    def write(condition: str, *, least: str = f">= {n}") -> str:
        return (
            f"SELECT e.id, e.name FROM {t.e} e JOIN {t.v} v ON v.{t.e_id} = e.id GROUP BY e.id HAVING COUNT(*) {least} "
            f"AND SUM(CASE WHEN {condition} THEN 0 ELSE 1 END) = 0"
        )

    return Question(
        words=f"List id and name of every {t.entity} that has at least {n} {t.events} and all of whose {t.events} are "
        f"{p.words}. A missing value meets no condition that does not speak of it.",
        columns="id, name",
        sql=write(p.both),
        others=(
            f"SELECT e.id, e.name FROM {t.e} e WHERE (SELECT COUNT(*) {inner}) >= {n} AND NOT EXISTS (SELECT 1 {inner} "
            f"AND NOT COALESCE({p.both}, 0))",
            f"SELECT e.id, e.name FROM {t.e} e WHERE (SELECT COUNT(*) {inner} AND {p.both}) = (SELECT COUNT(*) {inner}) "
            f"AND (SELECT COUNT(*) {inner}) >= {n}",
        ),
        rivals={
            "NULL taken as met": f"SELECT e.id, e.name FROM {t.e} e JOIN {t.v} v ON v.{t.e_id} = e.id GROUP BY e.id "
            f"HAVING COUNT(*) >= {n} AND SUM(CASE WHEN NOT {p.both} THEN 1 ELSE 0 END) = 0",
            "more than": write(p.both, least=f"> {n}"),
            "some for all": f"SELECT DISTINCT e.id, e.name FROM {t.e} e JOIN {t.v} v ON v.{t.e_id} = e.id WHERE {p.both}",
            "only those that are so counted": f"SELECT e.id, e.name FROM {t.e} e JOIN {t.v} v ON v.{t.e_id} = e.id WHERE "
            f"{p.both} GROUP BY e.id HAVING COUNT(*) >= {n}",
            **p.misses(write),
        },
        trivial=(f"SELECT e.id, e.name FROM {t.e} e",),
    )
