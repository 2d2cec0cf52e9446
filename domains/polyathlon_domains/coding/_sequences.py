"""Questions about order: ranks, running totals, changes, shares, trees, streaks and gaps; see `_queries`."""

# ruff: noqa: E501  # a query is easier to check on one line

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polyathlon_domains.coding._queries import Parts, Question
from polyathlon_domains.coding._tables import Theme


def top(core: Mapping[str, Any], t: Theme) -> Question:
    p, k = Parts.of(core, t), core["n"]
    place = f"RANK() OVER (PARTITION BY v.{t.e_id} ORDER BY v.{t.qty} DESC)"

    def write(condition: str, *, window: str = place, most: int = k) -> str:
        return (
            f"SELECT k, id, q FROM (SELECT v.{t.e_id} AS k, v.id AS id, v.{t.qty} AS q, {window} AS place FROM {t.v} v "
            f"WHERE v.{t.e_id} IS NOT NULL AND {condition}) WHERE place <= {most}"
        )

    larger = f"x.{t.e_id} = v.{t.e_id} AND x.{t.qty} > v.{t.qty} AND {Parts.of(core, t, 'x').both}"
    less = "no" if k == 1 else f"fewer than {k}"
    return Question(
        words=f"Take the {t.events} of known {t.entity} {p.words}. List those of them for which {less} others of them, of "
        f"the same {t.entity}, have a larger {t.qty}.",
        columns=f"{t.e_id}, id of the {t.event}, {t.qty}",
        sql=write(p.both),
        others=(
            f"SELECT v.{t.e_id}, v.id, v.{t.qty} FROM {t.v} v WHERE v.{t.e_id} IS NOT NULL AND {p.both} AND (SELECT "
            f"COUNT(*) FROM {t.v} x WHERE {larger}) < {k}",
            f"SELECT v.{t.e_id}, v.id, v.{t.qty} FROM {t.v} v LEFT JOIN {t.v} x ON {larger} WHERE v.{t.e_id} IS NOT NULL "
            f"AND {p.both} GROUP BY v.id HAVING COUNT(x.id) < {k}",
        ),
        rivals={
            "ties broken": write(p.both, window=place.replace("RANK", "ROW_NUMBER").replace("DESC)", "DESC, v.id)")),
            "ties without holes": write(p.both, window=place.replace("RANK", "DENSE_RANK"), most=k + (k == 1)),
            "smallest": write(p.both, window=place.replace("DESC", "ASC")),
            "one more": write(p.both, most=k + 1),
            "over all": write(p.both, window=place.replace(f"PARTITION BY v.{t.e_id} ", "")),
            "filtered after ranking": f"SELECT k, id, q FROM (SELECT v.*, v.{t.e_id} AS k, v.{t.qty} AS q, {place} AS "
            f"place FROM {t.v} v) v WHERE k IS NOT NULL AND place <= {k} AND {p.both}",
            **p.misses(write),
        },
        trivial=(f"SELECT v.{t.e_id}, v.id, v.{t.qty} FROM {t.v} v", write("1", most=10**6)),
    )


def running(core: Mapping[str, Any], t: Theme) -> Question:
    p, least = Parts.of(core, t), 2 * core["n"]
    over = f"(PARTITION BY v.{t.e_id} ORDER BY v.{t.day}, v.id)"
    order = f"ORDER BY v.{t.day} DESC, v.id DESC"

    def write(condition: str, *, window: str = over, last: str = order, bound: str = f">= {least}") -> str:
        total = f"SUM(v.{t.qty}) OVER {window}"
        inner = f"SELECT v.id, v.{t.e_id}, v.{t.day}, {total} AS total FROM {t.v} v WHERE v.{t.e_id} IS NOT NULL AND {condition}"
        return f"SELECT v.id, v.total FROM ({inner}) v WHERE v.total {bound} {last}"

    x = Parts.of(core, t, "x")
    earlier = f"x.{t.e_id} = v.{t.e_id} AND (x.{t.day} < v.{t.day} OR (x.{t.day} = v.{t.day} AND x.id <= v.id))"
    summed = f"(SELECT SUM(x.{t.qty}) FROM {t.v} x WHERE {earlier} AND {x.both})"
    return Question(
        words=f"Take the {t.events} of known {t.entity} {p.words}. Per {t.entity}, in the order of {t.day} and then id, "
        f"keep a running total of {t.qty}. List the {t.events} at which it is at least {least}, with that total.",
        columns=f"id of the {t.event}, running total",
        sql=write(p.both),
        others=(
            f"SELECT v.id, {summed} AS total FROM {t.v} v WHERE v.{t.e_id} IS NOT NULL AND {p.both} AND total >= {least} {order}",
            f"SELECT v.id, SUM(x.{t.qty}) FROM {t.v} v JOIN {t.v} x ON {earlier} AND {x.both} WHERE {p.both} GROUP BY v.id "
            f"HAVING SUM(x.{t.qty}) >= {least} {order}",
        ),
        rivals={
            "days taken whole": write(p.both, window=over.replace(", v.id", "")),
            "over all": write(p.both, window=over.replace(f"PARTITION BY v.{t.e_id} ", "")),
            "totals only": write(p.both, window=f"(PARTITION BY v.{t.e_id})"),
            "oldest first": write(p.both, last=f"ORDER BY v.{t.day}, v.id"),
            "unordered": write(p.both, last=""),
            "more than": write(p.both, bound=f"> {least}"),
            **p.misses(write),
        },
        trivial=(f"SELECT v.id, v.{t.qty} FROM {t.v} v {order}", write("1", bound=">= 0")),
        order=f"Latest {t.day} first; on the same {t.day} the larger id first.",
    )


def change(core: Mapping[str, Any], t: Theme) -> Question:
    p, n = Parts.of(core, t), core["n"]
    over = f"OVER (PARTITION BY v.{t.e_id} ORDER BY v.{t.day}, v.id)"

    def write(condition: str, *, before: str = f"LAG(v.{t.qty}) {over}", bound: str = f">= {n}") -> str:
        inner = f"SELECT v.id, v.{t.qty} AS q, {before} AS p FROM {t.v} v WHERE v.{t.e_id} IS NOT NULL AND {condition}"
        return f"SELECT id, q - p FROM ({inner}) WHERE q - p {bound}"

    x = Parts.of(core, t, "x")
    earlier = f"x.{t.e_id} = v.{t.e_id} AND (x.{t.day}, x.id) < (v.{t.day}, v.id) AND {x.both}"
    last = f"(SELECT x.{t.qty} FROM {t.v} x WHERE {earlier} ORDER BY x.{t.day} DESC, x.id DESC LIMIT 1)"
    numbered = f"SELECT v.*, ROW_NUMBER() {over} AS place FROM {t.v} v WHERE {p.both}"
    return Question(
        words=f"Take the {t.events} of known {t.entity} {p.words}, per {t.entity} in the order of {t.day} and then id. "
        f"List those whose {t.qty} is at least {n} more than that of the one just before, with the difference.",
        columns=f"id of the {t.event}, difference",
        sql=write(p.both),
        others=(
            f"SELECT v.id, v.{t.qty} - {last} AS d FROM {t.v} v WHERE v.{t.e_id} IS NOT NULL AND {p.both} AND d >= {n}",
            f"WITH w AS ({numbered}) SELECT a.id, a.{t.qty} - b.{t.qty} FROM w a JOIN w b ON b.{t.e_id} = a.{t.e_id} AND "
            f"b.place = a.place - 1 WHERE a.{t.qty} - b.{t.qty} >= {n}",
        ),
        rivals={
            "the next one": write(p.both, before=f"LEAD(v.{t.qty}) {over}"),
            "over all": write(p.both, before=f"LAG(v.{t.qty}) {over}".replace(f"PARTITION BY v.{t.e_id} ", "")),
            "zero before the first": write(p.both, before=f"LAG(v.{t.qty}, 1, 0) {over}"),
            "by id": write(p.both, before=f"LAG(v.{t.qty}) {over}".replace(f"v.{t.day}, ", "")),
            "more than": write(p.both, bound=f"> {n}"),
            **p.misses(write),
        },
        trivial=(f"SELECT v.id, v.{t.qty} FROM {t.v} v", write("1", bound=">= -99")),
    )


def share(core: Mapping[str, Any], t: Theme) -> Question:
    p = Parts.of(core, t)
    whole = f"SUM(v.{t.qty}) OVER (PARTITION BY v.{t.e_id})"

    def write(condition: str, *, part: str = f"1.0 * v.{t.qty}", total: str = whole) -> str:
        return f"SELECT v.id, {part} / {total} FROM {t.v} v WHERE v.{t.e_id} IS NOT NULL AND {condition}"

    x = Parts.of(core, t, "x")
    sums = f"SELECT x.{t.e_id} AS k, SUM(x.{t.qty}) AS s FROM {t.v} x WHERE {x.both} GROUP BY 1"
    return Question(
        words=f"Take the {t.events} of known {t.entity} {p.words}. For each of them give its id and its {t.qty} as a share "
        f"of the {t.qty} of all of them of the same {t.entity}: a decimal number, such as 0.25, not rounded.",
        columns=f"id of the {t.event}, share",
        sql=write(p.both),
        others=(
            f"SELECT v.id, CAST(v.{t.qty} AS REAL) / s.s FROM {t.v} v JOIN ({sums}) s ON s.k = v.{t.e_id} WHERE {p.both}",
            f"SELECT v.id, v.{t.qty} / (SELECT TOTAL(x.{t.qty}) FROM {t.v} x WHERE x.{t.e_id} = v.{t.e_id} AND {x.both}) "
            f"FROM {t.v} v WHERE v.{t.e_id} IS NOT NULL AND {p.both}",
        ),
        rivals={
            "whole numbers divided": write(p.both, part=f"v.{t.qty}"),
            "of all": write(p.both, total=f"SUM(v.{t.qty}) OVER ()"),
            "of all its events": write(
                p.both, total=f"(SELECT SUM(x.{t.qty}) FROM {t.v} x WHERE x.{t.e_id} = v.{t.e_id})"
            ),
            "percent": write(p.both, part=f"100.0 * v.{t.qty}"),
            "of the largest": write(p.both, total=whole.replace("SUM", "MAX")),
            **p.misses(write),
        },
        trivial=(f"SELECT v.id, 1 FROM {t.v} v WHERE {p.both}", write("1")),
    )


def below(core: Mapping[str, Any], t: Theme) -> Question:
    p, points = Parts.of(core, t), core["points"]
    seed, grow = f"SELECT id, id FROM {t.e}", f"SELECT b.top, e.id FROM b JOIN {t.e} e ON e.{t.parent} = b.id"

    def write(condition: str, *, start: str = seed, own: str = f"e.{t.points} > {points}", more: str = grow) -> str:
        tree = f"WITH RECURSIVE b(top, id) AS ({start} UNION ALL {more})"
        return (
            f"{tree} SELECT e.id, COALESCE(SUM(v.{t.qty}), 0) FROM {t.e} e LEFT JOIN b ON b.top = e.id LEFT JOIN {t.v} v "
            f"ON v.{t.e_id} = b.id AND {condition} WHERE {own} GROUP BY e.id"
        )

    up = f"SELECT u.id, e.{t.parent} FROM u JOIN {t.e} e ON e.id = u.top WHERE e.{t.parent} IS NOT NULL"
    summed = f"SELECT v.{t.e_id} AS k, SUM(v.{t.qty}) AS s FROM {t.v} v WHERE {p.both} GROUP BY 1"
    own = f"e.{t.points} > {points}"
    return Question(
        words=f"{t.parent} names the {t.entity} directly above; below means at any depth. For every {t.entity} with "
        f"{t.points} over {points} give its id and the sum of {t.qty} of the {t.events} {p.words} that it or any "
        f"{t.entity} below it has (0 if there are none).",
        columns="id, sum",
        sql=write(p.both),
        others=(
            f"WITH RECURSIVE u(id, top) AS (SELECT id, id FROM {t.e} UNION {up}) SELECT e.id, COALESCE(SUM(x.s), 0) FROM "
            f"{t.e} e JOIN u ON u.top = e.id LEFT JOIN ({summed}) x ON x.k = u.id WHERE {own} GROUP BY e.id",
            write(p.both).replace("UNION ALL", "UNION"),
        ),
        rivals={
            "itself left out": write(p.both, start=f"SELECT {t.parent}, id FROM {t.e} WHERE {t.parent} IS NOT NULL"),
            "one level only": write(p.both, more=f"SELECT e.{t.parent}, e.id FROM {t.e} e").replace(" RECURSIVE", ""),
            "itself only": write(p.both, more=f"{seed} WHERE 0"),
            "upwards": write(
                p.both, more=f"SELECT b.top, e.{t.parent} FROM b JOIN {t.e} e ON e.id = b.id WHERE e.{t.parent} > 0"
            ),
            "none for no events": write(p.both).replace(f"LEFT JOIN {t.v}", f"JOIN {t.v}"),
            "own bound moved": write(p.both, own=f"e.{t.points} >= {points}"),
            **p.misses(write),
        },
        trivial=(f"SELECT id, 0 FROM {t.e}", f"SELECT id, 0 FROM {t.e} e WHERE {own}", write("1", own="1")),
    )


def streak(core: Mapping[str, Any], t: Theme) -> Question:
    p, n = Parts.of(core, t), core["n"]
    days = f"SELECT DISTINCT v.{t.e_id} AS k, v.{t.day} AS day FROM {t.v} v WHERE v.{t.e_id} IS NOT NULL AND "

    def write(condition: str, *, source: str = days, bound: str = f">= {n}", pick: str = "MAX(length)") -> str:
        island = "julianday(day) - ROW_NUMBER() OVER (PARTITION BY k ORDER BY day)"
        return (
            f"WITH d AS ({source}{condition}), m AS (SELECT k, {island} AS island FROM d), r AS (SELECT k, COUNT(*) AS "
            f"length FROM m GROUP BY k, island) SELECT k, {pick} FROM r GROUP BY k HAVING {pick} {bound}"
        )

    starts = (
        "SELECT k, day FROM d a WHERE NOT EXISTS (SELECT 1 FROM d b WHERE b.k = a.k AND b.day = date(a.day, '-1 day'))"
    )
    walk = "SELECT w.k, date(w.day, '+1 day'), w.n + 1 FROM w JOIN d ON d.k = w.k AND d.day = date(w.day, '+1 day')"
    marks = (
        "SELECT k, day, SUM(new) OVER (PARTITION BY k ORDER BY day) AS g FROM (SELECT k, day, day IS NOT date(LAG(day) OVER "
        "(PARTITION BY k ORDER BY day), '+1 day') AS new FROM d)"
    )
    return Question(
        words=f"Per {t.entity}, take the days ({t.day}) of its {t.events} {p.words}. Find its longest run of such days with "
        f"no day missing in between; list every {t.entity} where that is {n} days or more.",
        columns=f"{t.e_id}, length in days",
        sql=write(p.both),
        others=(
            f"WITH RECURSIVE d AS ({days}{p.both}), w(k, day, n) AS (SELECT k, day, 1 FROM ({starts}) UNION ALL {walk}) "
            f"SELECT k, MAX(n) FROM w GROUP BY k HAVING MAX(n) >= {n}",
            f"WITH d AS ({days}{p.both}), g AS ({marks}), r AS (SELECT k, COUNT(*) AS c FROM g GROUP BY k, g) SELECT k, "
            f"MAX(c) FROM r GROUP BY k HAVING MAX(c) >= {n}",
        ),
        rivals={
            "a day counted twice": write(p.both, source=days.replace("DISTINCT ", "")),
            "all days": f"WITH d AS ({days}{p.both}) SELECT k, COUNT(*) FROM d GROUP BY k HAVING COUNT(*) >= {n}",
            "all runs": write(p.both, pick="SUM(length)"),
            "more than": write(p.both, bound=f"> {n}"),
            "no bound": write(p.both, bound=">= 1"),
            **p.misses(write),
        },
        trivial=(f"SELECT v.{t.e_id}, COUNT(*) FROM {t.v} v GROUP BY 1", f"SELECT id, {n} FROM {t.e}"),
    )


def gap(core: Mapping[str, Any], t: Theme) -> Question:
    p, n = Parts.of(core, t), core["n"]
    days = f"SELECT DISTINCT v.{t.e_id} AS k, v.{t.day} AS day FROM {t.v} v WHERE v.{t.e_id} IS NOT NULL AND "
    over = "OVER (PARTITION BY k ORDER BY day)"

    def write(condition: str, *, window: str = over, bound: str = f">= {n}") -> str:
        return (
            f"WITH d AS ({days}{condition}), g AS (SELECT k, day, LEAD(day) {window} AS later FROM d) SELECT k, day, later "
            f"FROM g WHERE julianday(later) - julianday(day) {bound}"
        )

    x = Parts.of(core, t, "x")
    following = (
        f"(SELECT MIN(x.{t.day}) FROM {t.v} x WHERE x.{t.e_id} = v.{t.e_id} AND x.{t.day} > v.{t.day} AND {x.both})"
    )
    between = "NOT EXISTS (SELECT 1 FROM d c WHERE c.k = a.k AND c.day > a.day AND c.day < b.day)"
    return Question(
        words=f"Per {t.entity}, take the days ({t.day}) of its {t.events} {p.words}. List every two of them that follow one "
        f"another, with none of them in between, and lie at least {n} days apart.",
        columns=f"{t.e_id}, earlier day, later day",
        sql=write(p.both),
        others=(
            f"SELECT DISTINCT v.{t.e_id}, v.{t.day}, {following} AS later FROM {t.v} v WHERE v.{t.e_id} IS NOT NULL AND "
            f"{p.both} AND julianday(later) - julianday(v.{t.day}) >= {n}",
            f"WITH d AS ({days}{p.both}) SELECT a.k, a.day, b.day FROM d a JOIN d b ON b.k = a.k AND b.day >= date(a.day, "
            f"'+{n} days') WHERE {between}",
        ),
        rivals={
            "more than": write(p.both, bound=f"> {n}"),
            "over all": write(p.both, window=over.replace("PARTITION BY k ", "")),
            "any two days": f"WITH d AS ({days}{p.both}) SELECT a.k, a.day, b.day FROM d a JOIN d b ON b.k = a.k AND "
            f"julianday(b.day) - julianday(a.day) >= {n}",
            "no bound": write(p.both, bound=">= 1"),
            "events after any event": write(p.both).replace(
                f"LEAD(day) {over} AS later FROM d",
                f"(SELECT MIN(x.{t.day}) FROM {t.v} x WHERE x.{t.e_id} = d.k AND x.{t.day} > d.day) AS later FROM d",
            ),
            **p.misses(write),
        },
        trivial=(write("1", bound=">= 1"), write("1")),
    )
