"""The inspection of one domain: all checks in order, on one stage, going on from what was found before."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from polyathlon.drawing import TaskKey
from polyathlon.errors import PolyathlonError
from polyathlon.inspect import histogram
from polyathlon.inspect.binding import bind
from polyathlon.inspect.certificate import certificate_record, certify, unfit
from polyathlon.inspect.check import COSTS, Check
from polyathlon.inspect.checks import checks_of
from polyathlon.inspect.closure import Sources
from polyathlon.inspect.depth import USUAL, Depth
from polyathlon.inspect.finding import Inspection
from polyathlon.inspect.kept import DamagedResult, Kept, ResultStore, domain_folder, write_whole
from polyathlon.inspect.play import Stage, Subject
from polyathlon.inspect.standing import RECORD
from polyathlon.inspect.waivers import expired_text, waivers_of
from polyathlon.plugins import Entry
from polyathlon.registration import load_domain, registry
from polyathlon.sandbox.choose import default_room


@dataclass(frozen=True, slots=True)
class Begun:
    """Word from an inspection under way: this check has begun, this share of the work is done, and this was found."""

    domain_id: str
    check: str
    share_done: float
    so_far: Inspection | None = None


@dataclass(frozen=True, slots=True)
class Noted:
    """Word from an inspection under way: what whoever asked for it should know."""

    domain_id: str
    text: str


Tell = Callable[[Begun | Noted], None]


def _silent(_: Begun | Noted) -> None:
    pass


def inspect_domain(
    domain_id: str, *, depth: Depth = USUAL, cache: Path | None = None, tell: Tell = _silent
) -> Inspection:
    """Run the checks of `depth` on one domain. A domain that cannot be inspected at all is `broken`.

    Results are kept in the folder `cache`, and those that are there for the same sources are not looked for again; None
    keeps nothing. `tell` hears of each check as it begins.
    """
    began_s, cpu_began_s = time.perf_counter(), time.process_time()
    inspection = Inspection(domain_id, num_seeds=depth.num_seeds, tier=depth.tier)
    at_work = ["loading"]

    def told(word: Begun | Noted) -> None:
        if isinstance(word, Begun):
            at_work.append(word.check)
            word = replace(word, so_far=inspection)
        tell(word)

    try:
        entry = registry().entry(domain_id)
        inspection = _opened(inspection, entry, told)
        store = None if cache is None else ResultStore(cache, entry.id, inspection.parts, depth)
        for kept in _looked(entry, depth, store, told):
            inspection = replace(
                inspection,
                results=(*inspection.results, *kept.results),
                rewards=histogram.added(inspection.rewards, kept.rewards),
            )
        if cache is not None and not unfit(inspection):
            _record(inspection, entry, cache)
    except PolyathlonError as error:
        inspection = replace(inspection, broken=f"{at_work[-1]}: {type(error).__name__}: {error}")
    except Exception as error:  # whatever a domain does wrong is a finding about it, not a crash of the inspector
        inspection = replace(inspection, broken=f"{at_work[-1]}: the domain raised {type(error).__name__}: {error}")
    return replace(inspection, wall_s=time.perf_counter() - began_s, cpu_s=time.process_time() - cpu_began_s)


def _opened(inspection: Inspection, entry: Entry, tell: Tell) -> Inspection:
    """Return `inspection` with what it is of: the row, the hashes of the sources, the waivers in force."""
    waivers = waivers_of(entry)
    in_force = [waiver for waiver in waivers if waiver.in_force(datetime.date.today())]
    for waiver in waivers:
        if waiver not in in_force:
            tell(Noted(entry.id, expired_text(waiver)))
    return replace(
        inspection,
        domain_id=entry.id,
        num_levels=entry.row.levels,
        waived=tuple(waiver.check for waiver in in_force),
        parts=dict(bind(entry, waivers, Sources()).parts),
    )


def _looked(entry: Entry, depth: Depth, store: ResultStore | None, tell: Tell) -> Iterator[Kept]:
    """Yield what each check finds, or has found before; the domain is loaded for the first that must look."""
    changed: list[tuple[int, int, str]] = []
    stage: Stage | None = None
    with ExitStack() as stack:
        for check, share_done in _with_share_done(checks_of(depth)):
            tell(Begun(entry.id, check.title, share_done))
            kept = None if store is None else _known(store, check, entry, tell)
            if kept is None:
                if stage is None:
                    subject = Subject(entry, load_domain(entry.id), default_room(), depth.num_seeds, depth.tier)
                    stage = stack.enter_context(Stage(subject))
                stage.remember_changes(_key(entry, *place) for place in changed)
                results = check.run(stage)
                places = tuple((key.level, key.seed, key.split) for key in stage.take_changes())
                kept = Kept(results, stage.take_rewards(), places)
                if store is not None:
                    store.put(check, kept)
            changed += kept.changed
            yield kept


def _known(store: ResultStore, check: Check, entry: Entry, tell: Tell) -> Kept | None:
    try:
        return store.get(check)
    except DamagedResult as error:
        tell(Noted(entry.id, f"{error}. It is looked at anew."))
        return None


def _record(inspection: Inspection, entry: Entry, cache: Path) -> None:
    """Write down that this inspection was run here."""
    in_force = [waiver for waiver in waivers_of(entry) if waiver.check in inspection.waived]
    record = certificate_record(certify(inspection, waivers=in_force))
    write_whole(domain_folder(cache, entry.id) / RECORD, json.dumps({entry.id: record}))


def _key(entry: Entry, level: int, seed: int, split: str) -> TaskKey:
    return TaskKey(entry.id, level, seed, "test" if split == "test" else "train")


def _with_share_done(checks: Sequence[Check]) -> list[tuple[Check, float]]:
    costs = [COSTS[check.cost] for check in checks]
    return [(check, sum(costs[:place]) / sum(costs)) for place, check in enumerate(checks)]
