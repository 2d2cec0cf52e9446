"""D01: one key is one task, byte by byte: again, in another order, in threads, and in processes unlike this one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from polyathlon.canonical import Json, expect_int, expect_list, expect_map, expect_text
from polyathlon.drawing import TaskKey, draw_task
from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.fingerprint import fingerprint
from polyathlon.inspect.play import Stage, Subject
from polyathlon.inspect.repeats.elsewhere import COMMA_LOCALES, Place, run_elsewhere
from polyathlon.inspect.tally import Tally
from polyathlon.registration import load_domain

NUM_THREADS = 8
NUM_SANDBOX_KEYS = 8
NUM_THREADED, NUM_SANDBOX_THREADED = 8, 2
WORK = "polyathlon.inspect.repeats.generation:fingerprints_there"
PLACES = (
    Place(
        "under hash seed 0, in Kathmandu, with an ASCII locale",
        {"PYTHONHASHSEED": "0", "TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ),
    Place("under hash seed 1, on Pacific/Apia", {"PYTHONHASHSEED": "1", "TZ": "Pacific/Apia"}, ("C.UTF-8",)),
    Place(
        "under hash seed 4242, in St. John's, with a decimal comma",
        {"PYTHONHASHSEED": "4242", "TZ": "America/St_Johns"},
        COMMA_LOCALES,
    ),
)
ADVICE = "Draw only from `rng`; iterate over no set of strings; read no clock, zone, locale, file or global state."


def check_generation(stage: Stage) -> CheckResult:
    """D01: the share of tasks that are the same in every way of drawing them."""
    subject = stage.subject
    tally = Tally("D01", subject.entry.row.levels)
    keys = subject.task_keys(NUM_SANDBOX_KEYS if subject.costly else None)
    here = {key: stage.as_drawn(key) for key in keys}
    unlike: dict[TaskKey, str] = {}
    for way, found in _ways_here(subject, keys):
        for key, mark in found.items():
            if mark != here[key]:
                unlike.setdefault(key, f"{way}, the same key gives another task. {ADVICE}")
    num_comma = 0
    for place in PLACES:
        marks, trouble, in_force = _marks_at(subject, keys, place)
        num_comma += in_force in COMMA_LOCALES
        for key in keys:
            if trouble:
                unlike.setdefault(key, f"{place.name}, no task can be drawn: {trouble}. {ADVICE}")
            elif marks[key] != here[key]:
                unlike.setdefault(key, f"in a process {place.name}, the same key gives another task. {ADVICE}")
    told: set[str] = set()
    for key in keys:
        tally.count(key.level, key not in unlike)
        if key in unlike and unlike[key] not in told:
            told.add(unlike[key])
            tally.fault(key.level, key.seed, unlike[key], subject.replay(key))
    return tally.result(tally.shares(), {"places": len(PLACES), "decimal_comma_tried": num_comma})


def fingerprints_there(request: Json) -> list[str]:
    """Return the fingerprint of each [level, seed] of {"domain", "pairs"}, in order: what the fresh process runs."""
    asked = expect_map(request)
    domain_id = expect_text(asked["domain"])
    source = load_domain(domain_id).tasks
    pairs = [expect_list(pair) for pair in expect_list(asked["pairs"])]
    keys = [TaskKey(domain_id, expect_int(level), expect_int(seed)) for level, seed in pairs]
    return [fingerprint(draw_task(source, key)) for key in keys]


def _ways_here(subject: Subject, keys: Sequence[TaskKey]) -> Iterator[tuple[str, dict[TaskKey, str]]]:
    def drawn(key: TaskKey) -> str:
        return fingerprint(draw_task(subject.domain.tasks, key))

    yield "drawn again, in reverse order", {key: drawn(key) for key in reversed(keys)}
    most = NUM_SANDBOX_THREADED if subject.costly else NUM_THREADED
    few = [key for key in keys if key.seed < most]
    with ThreadPoolExecutor(NUM_THREADS) as pool:
        yield f"drawn by {NUM_THREADS} threads at a time", dict(zip(few, pool.map(drawn, few), strict=True))


def _marks_at(subject: Subject, keys: Sequence[TaskKey], place: Place) -> tuple[dict[TaskKey, str], str, str]:
    pairs: Json = [[key.level, key.seed] for key in keys]
    word = run_elsewhere(WORK, {"domain": subject.entry.id, "pairs": pairs}, place)
    if word.trouble:
        return {}, word.trouble, word.locale
    marks = [expect_text(mark) for mark in expect_list(word.answer)]
    return dict(zip(keys, marks, strict=True)), "", word.locale
