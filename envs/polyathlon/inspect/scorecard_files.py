"""Scorecards in a folder: a page and a record a domain, what is needed to replay its faults, and the index of all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from polyathlon.inspect.finding import CheckResult, Finding, Inspection
from polyathlon.inspect.replay import MAX_TYPED_CHARS, replay_from, written
from polyathlon.inspect.scorecard import Scorecard, read_card, scorecard, write_card
from polyathlon.inspect.scorecard_page import index_page, scorecard_page
from polyathlon.plugins import Entry

INDEX = "index.html"
_ID = re.compile(r"[a-z][a-z0-9-]*/[a-z0-9][a-z0-9.-]*")


def write_scorecards(inspections: Sequence[Inspection], folder: Path, *, entries: Mapping[str, Entry]) -> Path:
    """Write a page and a JSON file a domain into `folder`, and an index; return the path of the index.

    `entries` are the rows by full id. Each file is written aside and renamed, so that a reader sees the old one or the
    new one. The index lists every scorecard that lies in the folder, those of earlier runs too. Messages too long for a
    command line go into files of their own, which the replay commands name.

    Raises:
        OSError: the folder cannot be written.
        ValueError: an id that is no id of a domain.

    """
    for inspection in inspections:
        if not _ID.fullmatch(inspection.domain_id):
            raise ValueError(
                f"{inspection.domain_id!r} is no id of a domain (namespace/family.name-vN); no page for it."
            )
        place = folder / f"{inspection.domain_id}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(_replays(inspection, folder), ignore_errors=True)
        card = scorecard(_replayable(inspection, folder), entries.get(inspection.domain_id))
        _write(place, write_card(card))
        _write(place.with_name(f"{place.stem}.html"), scorecard_page(card, json_name=place.name))
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / INDEX
    _write(index, index_page(read_scorecards(folder)))
    return index


def read_scorecards(folder: Path) -> list[Scorecard]:
    """Return the scorecards in `folder`, by id. Other files, and scorecards of another schema, are passed over."""
    found = []
    for path in sorted(folder.glob("*/*.json")):
        try:
            card = read_card(path.read_text(encoding="utf-8"))
        except ValueError:
            continue  # not ours, or of another version: the next inspection replaces it
        if folder / f"{card.id}.json" == path:
            found.append(card)
    return found


def _replayable(inspection: Inspection, folder: Path) -> Inspection:
    """Return `inspection` with commands that send every message, those too long to type from files written here."""
    results = tuple(
        replace(result, faults=tuple(_filed(inspection, result, place, folder) for place in range(len(result.faults))))
        for result in inspection.results
    )
    return replace(inspection, results=results)


def _filed(inspection: Inspection, result: CheckResult, place: int, folder: Path) -> Finding:
    fault = result.faults[place]
    text = written(fault.actions)
    if len(text) <= MAX_TYPED_CHARS:
        return fault
    path = _replays(inspection, folder) / f"{result.check}-{place + 1}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, text)
    return replace(fault, replay=replay_from(path, inspection.domain_id, fault.level, fault.seed))


def _replays(inspection: Inspection, folder: Path) -> Path:
    return folder / f"{inspection.domain_id}.replay"


def _write(path: Path, text: str) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        aside.write_text(text, encoding="utf-8")
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
