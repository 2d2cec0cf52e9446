"""Answer a question over three tables with one SQLite query; it is judged on databases that were never shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, cast

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Json, Script, Task, Verdict, answering
from polyathlon.canonical import expect_text
from polyathlon.errors import TaskError
from polyathlon.sandbox.protocol import Room
from polyathlon.toolcall import write_call, write_fenced
from polyathlon.verify import sql
from polyathlon.verify.key import flag_part, list_part, share_part, text_part
from polyathlon.verify.program import only_code
from polyathlon.verify.text import above
from polyathlon.workspaces.query import QueryWorkspace
from polyathlon.workspaces.toolbox import Outcome
from polyathlon_domains.coding import _queries as queries
from polyathlon_domains.coding import _sequences as sequences
from polyathlon_domains.coding._queries import Question
from polyathlon_domains.coding._query_guesses import shortcuts
from polyathlon_domains.coding._same_query import same_query
from polyathlon_domains.coding._tables import FLAVOURS, THEMES, Theme, draw_database, draw_filters

PROMPT = """SQLite tables:

{schema}

{notes}

{ask}
Columns, in this order, whatever their names: {columns}. {order}
{form}"""
NOTES = "Names may repeat; ids do not. Columns without NOT NULL may be NULL; NULL meets no condition unless it says so."
FORMS = (
    "Give one SELECT (WITH is fine) in one fenced sql block.",
    "Answer with one query in one fenced sql block.",
    "Write a single SQLite query, in one fenced sql block.",
)
HIDDEN_FLAVOURS = ("mixed", "nulls", "ties", "edges", "no events")
FEW_TRIES, MAX_TRIES = 7, 40
MAX_GOLD_ROWS = 60
MIN_FILLED = 3

_KINDS: Mapping[str, Callable[[Mapping[str, Any], Theme], Question]] = {
    "rows": queries.rows,
    "totals": queries.totals,
    "groups": queries.groups,
    "pairs": queries.pairs,
    "never": queries.never,
    "zeros": queries.zeros,
    "always": queries.always,
    "top": sequences.top,
    "running": sequences.running,
    "change": sequences.change,
    "share": sequences.share,
    "below": sequences.below,
    "streak": sequences.streak,
    "gap": sequences.gap,
}
# a bound on what the question measures could leave nothing to find
_OTHER_COLUMNS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("top", "running", "change", "share"), ("day", "day", "status")),
    "streak": ("qty", "qty", "status"),
}
LEVELS: tuple[tuple[str, ...], ...] = (
    ("rows", "totals"),
    ("groups", "pairs"),
    ("never", "zeros", "always"),
    ("top", "running", "change", "share"),
    ("below", "streak", "gap"),
)


@dataclass(frozen=True, slots=True)
class QueryTasks:
    """Questions put together from a kind, two conditions and some numbers."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        kind = str(rng.choice(list(LEVELS[level])))
        columns = _OTHER_COLUMNS.get(kind, ("qty", "qty", "day", "day", "status"))
        core: dict[str, Json] = {"kind": kind, "filters": cast(Json, draw_filters(rng, columns))}
        if kind in ("rows", "totals", "groups", "pairs"):
            core["join"] = str(rng.choice(["and", "or"]))
        if kind == "rows":
            core["once"] = bool(rng.random() < 0.5)
            core["columns"] = [str(name) for name in rng.choice(["day", "qty", "amount", "status"], 2, replace=False)]
        elif kind == "groups":
            core["group"] = str(rng.choice(["place", "kind"]))
        if kind in ("never", "below"):
            core["points"] = int(rng.integers(20, 60))
        if kind in ("groups", "always", "top", "running", "change", "streak", "gap"):
            low, high = {"top": (1, 3), "streak": (2, 3), "groups": (3, 8)}.get(kind, (2, 4))
            core["n"] = int(rng.integers(low, high + 1))
        return core

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        theme = THEMES[int(rng.integers(len(THEMES)))]
        first_day = date(2021, 1, 1) + timedelta(days=int(rng.integers(0, 1500)))
        states = tuple(str(name) for name in rng.permutation(theme.states))
        theme = replace(theme, first_day=first_day.isoformat(), states=states)
        question = _KINDS[expect_text(core["kind"])](core, theme)
        tried = (_Instances.draw(core, question, theme, rng) for _ in range(MAX_TRIES))
        best = _best(tried)
        sample = draw_database(rng, core, theme, FLAVOURS["sample"])
        prompt = PROMPT.format(
            schema=";\n".join(theme.schema) + ";",
            notes=NOTES,
            ask=question.words,
            columns=question.columns,
            order=question.order or "Rows in any order.",
            form=FORMS[int(rng.integers(len(FORMS)))],
        )
        sample_gold = _rows_of(question.sql, theme.schema, sample)
        hidden: dict[str, Json] = {
            "sql": question.sql,
            "others": list(question.others),
            "rivals": {name: query for name, query in question.rivals.items() if name in best.told},
            "databases": cast(Json, best.databases),
            "gold": cast(Json, best.gold),
            "sample_gold": cast(Json, sample_gold),
            "ordered": bool(question.order),
            "zero": _zero(question, theme.schema, best, sample_gold),
        }
        return Brief(prompt, hidden, {"schema": list(theme.schema), "sample": cast(Json, sample)})


@dataclass(frozen=True, slots=True)
class _Instances:
    """Hidden databases, the right rows on each, and the near-misses that they tell from the right query."""

    databases: list[dict[str, list[list[Any]]]]
    gold: list[list[list[Any]]]
    told: list[str]
    num_rivals: int

    @classmethod
    def draw(cls, core: Core, question: Question, theme: Theme, rng: np.random.Generator) -> _Instances:
        databases = [draw_database(rng, core, theme, FLAVOURS[name]) for name in HIDDEN_FLAVOURS]
        gold: list[list[list[Any]]] = []
        told: set[str] = set()
        for database in databases:
            with closing(sql.open_database(theme.schema, database)) as connection:
                rows = sql.own_rows(connection, question.sql)
                gold.append([list(row) for row in rows])
                wrong = {**question.rivals, **{f"trivial {k}": query for k, query in enumerate(question.trivial)}}
                for name, rival in wrong.items():
                    if name not in told and not sql.same_rows(
                        sql.own_rows(connection, rival), rows, ordered=bool(question.order)
                    ):
                        told.add(name)
        return cls(databases, gold, sorted(told), len(question.rivals) + len(question.trivial))

    @property
    def score(self) -> tuple[int, int, int]:
        """How good a set this is: right results that differ and are neither empty nor long; near-misses told."""
        filled = [rows for rows in self.gold if rows]
        different = len({str(rows) for rows in filled})
        short = sum(len(rows) <= MAX_GOLD_ROWS for rows in self.gold)
        return (min(different, MIN_FILLED) + short, len(self.told), different)

    @property
    def whole(self) -> bool:
        return self.score[0] == MIN_FILLED + len(self.gold) and len(self.told) == self.num_rivals


@dataclass(frozen=True, slots=True)
class QueryVerifier:
    """Passed: the right rows on all hidden databases, in order where asked. Else row F1 above thoughtless queries."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        query, hidden = evidence.answer, task.hidden
        if query is None or not query.strip():
            return Verdict.failing("no query was submitted")
        if query.strip() == text_part(hidden, "sql"):
            return Verdict.passing()
        gold = cast(list[list[list[Json]]], list_part(hidden, "gold"))
        databases = cast(list[sql.Database], list_part(hidden, "databases"))
        ordered = flag_part(hidden, "ordered")
        results = sql.run_query(room, query, schema=_schema(task), databases=databases)
        right = [
            result.rows is not None and sql.same_rows(result.rows, rows, ordered=ordered)
            for result, rows in zip(results, gold, strict=True)
        ]
        if right and all(right):
            return Verdict.passing()
        score = _mean_f1([result.rows or () for result in results], gold)
        progress = above(score, share_part(hidden, "zero"))
        error = next((result.error for result in results if result.error), "other rows")
        return Verdict.failing(error[:200], progress=progress, parts={"row_f1": score})


def open_query(task: Task, room: Room) -> QueryWorkspace:
    """Return a workspace whose `run` asks the task's sample database, in a sandbox."""

    def ask(query: str) -> Outcome:
        sample = cast(sql.Database, task.public["sample"])
        (result,) = sql.run_query(room, query, schema=_schema(task), databases=[sample])
        if result.rows is None:
            return Outcome(f"Error: {result.error}.", ok=False)
        lines = [" | ".join("NULL" if cell is None else str(cell) for cell in row) for row in result.rows]
        return Outcome("\n".join([*lines, f"({len(lines)} rows)"]))

    return QueryWorkspace(ask)


def solve(task: Task) -> Script:
    """The query that the question was rendered from."""
    return answering(_fenced(expect_text(task.hidden["sql"])))


def equivalents(task: Task) -> Sequence[Attempt]:
    query = expect_text(task.hidden["sql"])
    return (
        Attempt("by a call", (write_call("submit", {"query": query}),)),
        Attempt("tried, then submitted", (write_call("run", {"query": query}), _fenced(query))),
        Attempt("with a semicolon and a comment", (_fenced(f"-- the answer\n{query} ; -- done"),)),
        Attempt("over several lines", (f"First the join.\n{_fenced(query.replace(' FROM ', chr(10) + 'FROM '))}",)),
    )


def alternatives(task: Task) -> Sequence[Attempt]:
    others = cast(list[str], task.hidden["others"])
    return tuple(Attempt(f"another query, {number}", (_fenced(query),)) for number, query in enumerate(others, start=1))


def distractors(task: Task) -> Sequence[Attempt]:
    rivals = cast(Mapping[str, str], task.hidden["rivals"])
    return tuple(Attempt(name, (_fenced(query),)) for name, query in rivals.items())


def exploits(task: Task) -> Sequence[Attempt]:
    query = expect_text(task.hidden["sql"])
    sample_gold = cast(list[list[Json]], task.hidden["sample_gold"])
    tables = list(cast(Mapping[str, Json], task.public["sample"]))
    values = ", ".join(f"({', '.join(map(_literal, row))})" for row in sample_gold) or "(0)"
    hacks = {
        "the sample's rows as literals": f"VALUES {values}",
        "literals beside a table": f"SELECT x.* FROM (VALUES {values}) x, (SELECT 1 FROM {tables[0]} LIMIT 1)",
        "a constant": "SELECT 4",
        "nothing at all": f"SELECT 1, 2 FROM {tables[0]} WHERE 0",
        "a whole table": f"SELECT * FROM {tables[2]}",
        "everything crossed": f"SELECT * FROM {tables[0]}, {tables[1]}, {tables[2]}",
        "two statements": f"DELETE FROM {tables[2]}; {query}",
        "a write": f"DELETE FROM {tables[2]}",
        "another file": "ATTACH '/etc/passwd' AS x",
        "the schema table": "SELECT name, sql FROM sqlite_master",
        "without end": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
    }
    tried = Attempt("tried, never submitted", (write_call("run", {"query": query}),))
    return (*(Attempt(name, (_fenced(hack),)) for name, hack in hacks.items()), tried)


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Whether the last message's query gives the reference's rows on 80 fresh databases."""
    query = only_code(actions[-1]) if actions else None
    return query is not None and same_query(
        expect_text(task.hidden["sql"]),
        query.strip(),
        schema=_schema(task),
        databases=cast(list[sql.Database], task.hidden["databases"]),
        ordered=task.hidden["ordered"] is True,
        seed=task.id,
    )


def _literal(value: Json) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _fenced(query: str) -> str:
    return write_fenced(query, language="sql")


def _schema(task: Task) -> list[str]:
    return cast(list[str], task.public["schema"])


def _rows_of(query: str, schema: Sequence[str], database: sql.Database) -> list[list[Json]]:
    with closing(sql.open_database(schema, database)) as connection:
        return [list(row) for row in sql.own_rows(connection, query)]


def _mean_f1(found: Sequence[Sequence[sql.Row]], gold: Sequence[Sequence[sql.Row]]) -> float:
    """Return the mean row F1 over the databases whose right result is not empty, in [0, 1]."""
    scores = [sql.row_f1(rows, wanted) for rows, wanted in zip(found, gold, strict=True) if wanted]
    return sum(scores) / len(scores) if scores else 0.0


def _zero(question: Question, schema: Sequence[str], instances: _Instances, sample_gold: Sequence[sql.Row]) -> float:
    """Return the best mean row F1 of queries that need no thought: trivial ones, and any right result as a constant."""
    constants = [*instances.gold, sample_gold]
    scores = [_mean_f1([rows] * len(instances.gold), instances.gold) for rows in constants]
    for query in question.trivial:
        found = [_rows_of(query, schema, database) for database in instances.databases]
        scores.append(_mean_f1(found, instances.gold))
    return max(scores)


def _best(tried: Iterable[_Instances]) -> _Instances:
    """Return the first whole set of instances, else the best of the first few, or of more where those are poor."""
    best: _Instances | None = None
    for number, instances in enumerate(tried):
        if best is None or instances.score > best.score:
            best = instances
        if best.whole or (number >= FEW_TRIES and best.score[2] >= MIN_FILLED):
            break
    if best is None or best.score[2] < 2:
        raise TaskError("No databases give the question two different results. Widen what is drawn for its kind.")
    return best


DOMAIN = Domain(
    tasks=QueryTasks(),
    open_workspace=open_query,
    verifier=QueryVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    proves_right=proves_right,
    shortcuts=shortcuts,
)
