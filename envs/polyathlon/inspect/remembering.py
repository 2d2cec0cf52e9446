"""A verifier that judges the same evidence once: the checks of an inspection ask for the same verdicts again."""

from __future__ import annotations

import hashlib

from polyathlon.canonical import Json, content_hash
from polyathlon.domain import Evidence, Task, Verdict, Verifier
from polyathlon.sandbox.protocol import Room


class Remembering:
    """Judges by `verifier`, and gives the verdict it gave before where a task's evidence is the same in every part.

    Whether a verdict repeats is another check's question, which asks the domain's own verifier.
    """

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._verdicts: dict[str, Verdict] = {}

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        """Return the verdict. An exception is remembered as none."""
        mark = evidence_mark(task, evidence)
        if mark is not None and mark in self._verdicts:
            return self._verdicts[mark]
        verdict = self._verifier.judge(task, evidence, room)
        if mark is not None:
            self._verdicts[mark] = verdict
        return verdict


def evidence_mark(task: Task, evidence: Evidence) -> str | None:
    """Return a hash that two evidences of a task share only when they are the same; None where there is none."""
    tree: Json = [
        [path, entry.kind, entry.mode, entry.mtime_s, hashlib.sha256(entry.data).hexdigest()]
        for path, entry in sorted(evidence.tree.entries.items())
    ]
    ledger: Json = [[call.name, call.arguments, call.result, call.ok] for call in evidence.ledger]
    try:
        return content_hash([task.id, evidence.answer, ledger, tree, evidence.state])
    except (TypeError, ValueError):  # a state that is no plain JSON
        return None
