"""Incidents: which service broke, when, for which request first, and for how many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon import Json
from polyathlon.canonical import expect_int, expect_list, expect_map, expect_text

SERVICES = (
    *("orders", "payments", "ledger", "catalog", "search", "inventory", "pricing", "sessions", "profiles", "mailer"),
    *("quotas", "reports", "uploads", "billing", "shipping", "reviews"),
)
GATEWAY = "gateway"
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
FIRST_DAY = 18_993  # 2022-01-01, in days since the epoch


@dataclass(frozen=True, slots=True)
class Weather:
    """How a level looks: counts of services, routes, healthy requests, rotated parts, loud decoys, and what else."""

    num_services: int
    num_routes: int
    num_requests: int
    num_parts: int
    num_decoys: int
    most_affected: int
    cured: bool
    skewed: bool
    traces: bool


LEVELS = (
    Weather(3, 2, 50, 1, 1, 12, cured=False, skewed=False, traces=False),
    Weather(4, 3, 90, 2, 1, 20, cured=True, skewed=False, traces=False),
    Weather(5, 3, 130, 3, 2, 25, cured=True, skewed=False, traces=True),
    Weather(7, 4, 180, 3, 2, 30, cured=True, skewed=True, traces=True),
    Weather(9, 5, 240, 4, 3, 40, cured=True, skewed=True, traces=True),
)


@dataclass(frozen=True, slots=True)
class Incident:
    """One planted failure. Times are true UTC, in milliseconds since the epoch; a skew is local less true time.

    `routes` are chains of services below the gateway, outermost first; `root` lies on at least one of them.
    """

    services: tuple[str, ...]
    routes: tuple[tuple[str, ...], ...]
    root: str
    start_ms: int
    end_ms: int
    first_ms: int
    request_id: str
    affected: int
    skew_ms: Mapping[str, int]

    def to_json(self) -> dict[str, Json]:
        return {
            "services": list(self.services),
            "routes": [list(route) for route in self.routes],
            "root": self.root,
            "start_ms": self.start_ms,
            "end_ms": self.end_ms,
            "first_ms": self.first_ms,
            "request_id": self.request_id,
            "affected": self.affected,
            "skew_ms": dict(self.skew_ms),
        }

    @classmethod
    def from_json(cls, value: Json) -> Incident:
        row = expect_map(value)
        return cls(
            services=_texts(row["services"]),
            routes=tuple(_texts(route) for route in expect_list(row["routes"])),
            root=expect_text(row["root"]),
            start_ms=expect_int(row["start_ms"]),
            end_ms=expect_int(row["end_ms"]),
            first_ms=expect_int(row["first_ms"]),
            request_id=expect_text(row["request_id"]),
            affected=expect_int(row["affected"]),
            skew_ms={name: expect_int(skew) for name, skew in expect_map(row["skew_ms"]).items()},
        )


def draw_incident(rng: np.random.Generator, level: int) -> Incident:
    """Return an incident of `level`: its root is on a route, and it starts a third to three quarters into the logs."""
    weather = LEVELS[level]
    services = tuple(SERVICES[place] for place in rng.permutation(len(SERVICES))[: weather.num_services].tolist())
    routes = _draw_routes(rng, services, weather.num_routes)
    deep = sorted({service for route in routes for service in route[1:]})
    start_ms = (FIRST_DAY + int(rng.integers(900))) * DAY_MS + int(rng.integers(14 * HOUR_MS))
    length_ms = int(rng.integers(2 * HOUR_MS, 6 * HOUR_MS))
    skews = {}
    if weather.skewed:
        skews = {name: int(rng.integers(-90_000, 90_000)) for name in (GATEWAY, *services)}
    return Incident(
        services=services,
        routes=routes,
        root=deep[int(rng.integers(len(deep)))],
        start_ms=start_ms,
        end_ms=start_ms + length_ms,
        first_ms=start_ms + int(length_ms * (0.35 + 0.4 * rng.random())),
        request_id=request_id(rng),
        affected=int(rng.integers(4, weather.most_affected + 1)),
        skew_ms=skews,
    )


def request_id(rng: np.random.Generator) -> str:
    """Return ten hexadecimal digits."""
    return f"{int(rng.integers(2**40)):010x}"


def _draw_routes(rng: np.random.Generator, services: Sequence[str], num_routes: int) -> tuple[tuple[str, ...], ...]:
    """Return chains of two to four services that together hold every service."""
    routes: list[tuple[str, ...]] = []
    while len(routes) < num_routes or {name for route in routes for name in route} != set(services):
        length = int(rng.integers(2, min(4, len(services)) + 1))
        route = tuple(services[place] for place in rng.permutation(len(services))[:length].tolist())
        routes.append(route)
        if len(routes) > num_routes:
            routes.pop(0)
    return tuple(routes)


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(expect_text(item) for item in expect_list(value))
