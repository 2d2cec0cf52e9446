"""The bar that `polyathlon check` shows while it inspects."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from polyathlon.inspect.finding import Inspection
from polyathlon.inspect.grade import TRAINABLE
from polyathlon.inspect.inspector import Begun, Noted
from polyathlon.inspect.side_by_side import cost_of


class InspectionBar:
    """A bar over all checks of all domains, on a terminal: what is under way, how much is done, the time left."""

    def __init__(self, ids: Sequence[str]) -> None:
        columns = (TextColumn("{task.fields[found]}"), BarColumn(20), TimeElapsedColumn(), TextColumn("left"))
        self._rich = Progress(
            *(*columns, TimeRemainingColumn(elapsed_when_finished=False), TextColumn("{task.description}")),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
        )
        self._num_domains = len(ids)
        self._under_way: dict[str, str] = {}
        self._finished: list[Inspection] = []
        self._paid = dict.fromkeys(ids, 0.0)
        self._bar = self._rich.add_task("starting", total=sum(map(cost_of, ids)), found=f"0/{len(ids)}")

    def __enter__(self) -> Self:
        self._rich.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._rich.stop()

    def hear(self, word: Begun | Noted) -> None:
        """Show that a check has begun, those before it being done; or say what is to be said."""
        if isinstance(word, Noted):
            self._rich.console.print(word.text, style="yellow", markup=False, highlight=False, soft_wrap=True)
            return
        self._under_way[word.domain_id] = word.check
        self._show(word.domain_id, word.share_done)

    def done(self, inspection: Inspection) -> None:
        """Show that a domain is done."""
        self._under_way.pop(inspection.domain_id, None)
        self._finished.append(inspection)
        self._show(inspection.domain_id, 1.0)

    def _show(self, domain_id: str, share: float) -> None:
        cost = share * cost_of(domain_id)
        step, self._paid[domain_id] = cost - self._paid.get(domain_id, 0.0), cost
        num_below = sum(inspection.grade < TRAINABLE for inspection in self._finished)
        found = f"{len(self._finished)}/{self._num_domains}"
        found += f", {num_below} below {TRAINABLE.word}" if num_below else ""
        words = "; ".join(f"{name.rpartition('/')[2]}: {check}" for name, check in self._under_way.items())
        self._rich.update(self._bar, advance=step, description=words, found=found)
