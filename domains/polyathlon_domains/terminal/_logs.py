"""An incident told as the logs of its services: healthy traffic, noise, louder decoys, rotation, skewed clocks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon import Json
from polyathlon_domains.terminal._incident import GATEWAY, Incident, Weather, request_id

CAUSES = (
    "connection pool exhausted: 32 of 32 busy, waited 5000 ms",
    "no space left on device while appending to segment 0041",
    "certificate of the primary store expired",
    "too many open files (limit 1024)",
    "deadlock detected, transaction rolled back",
    "lease lost: another node holds the shard",
    "row version 7 is newer than schema version 6",
    "out of memory in worker, request dropped",
)
BACKGROUND = (
    "cache refresh failed, serving the stale copy",
    "metrics push failed: collector refused the connection",
    "nightly cleanup job failed, will run again",
    "could not reload feature flags, keeping the old ones",
    "audit file could not be synced, buffered in memory",
)
CURED = ("call timed out after 800 ms, trying again", "read failed on replica 2, trying the next one")
CALM = ("pool 11 of 32 busy", "gc pause 38 ms", "slow query 412 ms", "heartbeat ok", "config checked, no change")
TRACES = (
    "    at store.Session.commit(Session.java:88)\n    at store.Session.run(Session.java:41)\n"
    "    Caused by: java.io.IOException: ERROR 1040\n    at net.Socket.read(Socket.java:203)",
    'Traceback (most recent call last):\n  File "/srv/app/worker.py", line 214, in handle\n    self.store.write(row)\n'
    "RuntimeError: ERROR while writing",
)
PATHS = ("/checkout", "/basket", "/search", "/account", "/upload", "/report")


@dataclass(frozen=True, slots=True)
class Event:
    """One log entry, at true time. `request` is "" for background work."""

    time_ms: int
    level: str
    request: str
    text: str
    trace: str = ""


Log = dict[str, list[Event]]


def write_logs(incident: Incident, weather: Weather, rng: np.random.Generator) -> dict[str, Json]:
    """Return {path: file} as plain JSON: logs/<service>/<service>.log, its rotated parts, and clocks.txt if skewed."""
    log: Log = {name: [] for name in (GATEWAY, *incident.services)}
    _add_traffic(log, incident, weather, rng)
    _add_failures(log, incident, weather, rng)
    _add_decoys(log, incident, weather, rng)
    files: dict[str, Json] = {}
    for name in (GATEWAY, *incident.services):
        write = _write_access if name == GATEWAY else _FORMATS[int(rng.integers(len(_FORMATS)))]
        files |= _rotated(name, log[name], incident.skew_ms.get(name, 0), write, weather.num_parts)
    if incident.skew_ms:
        rows = [
            f"{name} host-{number:02d} {skew:+d}" for number, (name, skew) in enumerate(incident.skew_ms.items(), 1)
        ]
        text = "# service host local_clock_minus_true_utc_ms\n" + "\n".join(rows) + "\n"
        files["clocks.txt"] = {"text": text, "mtime_s": incident.end_ms // 1000}
    return files


def _add_traffic(log: Log, incident: Incident, weather: Weather, rng: np.random.Generator) -> None:
    times = np.sort(rng.integers(incident.start_ms, incident.end_ms, weather.num_requests)).tolist()
    for start_ms in times:
        place = int(rng.integers(len(incident.routes)))
        request, route = request_id(rng), incident.routes[place]
        status = 404 if rng.random() < 0.06 else 200
        end_ms = _walk(log, route, request, start_ms, rng)
        if weather.cured and rng.random() < 0.08:
            shaky = route[int(rng.integers(len(route)))]
            log[shaky].append(Event(end_ms - 2, "ERROR", request, CURED[int(rng.integers(len(CURED)))]))
            log[shaky].append(Event(end_ms - 1, "INFO", request, "second try succeeded"))
        log[GATEWAY].append(Event(end_ms + 3, "INFO", request, f"{PATHS[place]} {status} {end_ms - start_ms}"))
    for name in incident.services:
        for moment in rng.integers(incident.start_ms, incident.end_ms, weather.num_requests // 6).tolist():
            level = "WARN" if rng.random() < 0.3 else "INFO"
            log[name].append(Event(moment, level, "", CALM[int(rng.integers(len(CALM)))]))


def _walk(log: Log, route: Sequence[str], request: str, start_ms: int, rng: np.random.Generator) -> int:
    """Log a request that goes down `route` and comes back in good health; return when it was done."""
    steps = rng.integers(2, 40, len(route)).tolist()
    for name, step in zip(route[::-1], steps, strict=True):
        start_ms += step
        log[name].append(Event(start_ms, "INFO", request, f"done in {step + 3} ms"))
    return start_ms


def _add_failures(log: Log, incident: Incident, weather: Weather, rng: np.random.Generator) -> None:
    """Plant the incident; from level 3 on, also a few requests that fail for another service's reason."""
    routes = [(place, route) for place, route in enumerate(incident.routes) if incident.root in route]
    cause = CAUSES[int(rng.integers(len(CAUSES)))]
    room_ms = min(incident.end_ms - incident.first_ms, 40 * 60_000) - 5_000
    later = np.sort(rng.integers(1_000, room_ms, incident.affected - 1)).tolist()
    for number, delay_ms in enumerate([0, *later]):
        place, route = routes[int(rng.integers(len(routes)))]
        request = incident.request_id if number == 0 else request_id(rng)
        _fail(log, (incident.root, cause), (place, route, request), incident.first_ms + delay_ms, weather, rng)
    if not weather.skewed:
        return
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(incident.routes)))
        others = [name for name in incident.routes[place] if name != incident.root]
        culprit = others[int(rng.integers(len(others)))], "restarted for a deploy, request dropped"
        moment = int(rng.integers(incident.start_ms + 5_000, incident.end_ms - 5_000))
        _fail(log, culprit, (place, incident.routes[place], request_id(rng)), moment, weather, rng)


def _fail(
    log: Log,
    culprit: tuple[str, str],
    journey: tuple[int, Sequence[str], str],
    moment_ms: int,
    weather: Weather,
    rng: np.random.Generator,
) -> None:
    """Log a request that fails at the culprit (its name, its reason) at `moment_ms`, and what its callers say of it."""
    (name, cause), (place, route, request) = culprit, journey
    trace = TRACES[int(rng.integers(len(TRACES)))] if weather.traces and rng.random() < 0.6 else ""
    log[name].append(Event(moment_ms, "ERROR", request, cause, trace))
    if weather.cured and rng.random() < 0.5:
        log[name].append(Event(moment_ms + 150, "ERROR", request, f"{cause}; giving up"))
    end_ms = moment_ms + 160
    callers = route[: route.index(name)]
    for caller, callee in zip(callers[::-1], route[route.index(name) : 0 : -1], strict=True):
        end_ms += int(rng.integers(2, 30))
        log[caller].append(Event(end_ms, "ERROR", request, f"upstream {callee} answered 503"))
    status = (502, 503, 500)[int(rng.integers(3))]
    log[GATEWAY].append(Event(end_ms + 4, "ERROR", request, f"{PATHS[place]} {status} {end_ms - moment_ms + 20}"))


def _add_decoys(log: Log, incident: Incident, weather: Weather, rng: np.random.Generator) -> None:
    """Add bursts of background errors, each louder than the incident, in services other than its root."""
    others = [name for name in incident.services if name != incident.root]
    for place in rng.permutation(len(others))[: weather.num_decoys].tolist():
        text = BACKGROUND[int(rng.integers(len(BACKGROUND)))]
        begin = int(rng.integers(incident.start_ms, incident.end_ms - 600_000))
        loud = int(incident.affected * (2.2 + rng.random()))
        for moment in rng.integers(begin, begin + 600_000, loud).tolist():
            trace = TRACES[int(rng.integers(len(TRACES)))] if weather.traces and rng.random() < 0.2 else ""
            log[others[place]].append(Event(moment, "ERROR", "", text, trace))


def _rotated(
    name: str, events: list[Event], skew_ms: int, write: Callable[[str, int, Event], str], num_parts: int
) -> dict[str, Json]:
    events.sort(key=lambda event: event.time_ms)
    files: dict[str, Json] = {}
    size = -(-len(events) // num_parts)
    for part in range(num_parts):
        age = num_parts - 1 - part
        chunk = events[part * size : (part + 1) * size]
        lines = []
        for event in chunk:
            lines.append(write(name, event.time_ms + skew_ms, event))
            if event.trace and write is not _write_json:
                lines.append(event.trace)
        path = f"logs/{name}/{name}.log" + (f".{age}" if age else "") + (".gz" if age > 1 else "")
        mtime_s = (chunk[-1].time_ms + skew_ms) // 1000 if chunk else 0
        files[path] = {"text": "".join(f"{line}\n" for line in lines), "gzip": age > 1, "mtime_s": mtime_s}
    return files


def clock(time_ms: int, *, join: str = "T", point: str = ".", end: str = "Z") -> str:
    """Return a time in milliseconds since the epoch as 2024-03-05T10:11:12.345Z, or with other marks."""
    seconds, ms = divmod(time_ms, 1000)
    return time.strftime(f"%Y-%m-%d{join}%H:%M:%S{point}{ms:03d}{end}", time.gmtime(seconds))


def _write_access(_: str, time_ms: int, event: Event) -> str:
    path, status, took = event.text.split()
    return f"{clock(time_ms)} GET {path} rid={event.request} status={status} dur={took}ms"


def _write_logfmt(name: str, time_ms: int, event: Event) -> str:
    request = f" rid={event.request}" if event.request else ""
    return f'ts={clock(time_ms)} level={event.level.lower()} svc={name}{request} msg="{event.text}"'


def _write_json(name: str, time_ms: int, event: Event) -> str:
    row = {"time": clock(time_ms), "level": event.level, "service": name, "rid": event.request or None}
    return json.dumps({**row, "msg": event.text, **({"stack": event.trace} if event.trace else {})})


def _write_classic(_: str, time_ms: int, event: Event) -> str:
    stamp = clock(time_ms, join=" ", point=",", end="")
    return f"{stamp} {event.level:<5} [worker-{time_ms % 7}] {event.request or '-'} {event.text}"


def _write_epoch(_: str, time_ms: int, event: Event) -> str:
    return f"{time_ms // 1000}.{time_ms % 1000:03d} {event.level[0]} {event.request or '-'} {event.text}"


_FORMATS = (_write_logfmt, _write_json, _write_classic, _write_epoch)
