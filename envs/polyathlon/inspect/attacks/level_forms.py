"""What an attacker knows of a level before he reads a task: the forms of its answers, and the frequent ones."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

from polyathlon.domain import Task
from polyathlon.drawing import TaskKey
from polyathlon.inspect.attacks.forms import Form, forms_of, shown_by_class
from polyathlon.inspect.attacks.payload import Payload, payload_of
from polyathlon.inspect.play import Stage

MAX_PUBLIC_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Known:
    """The answers of one level's references by seed, the form of each, and the answer's carrier (None: deeds count)."""

    seeds: tuple[int, ...]
    answers: tuple[str, ...]
    forms: tuple[Form, ...]
    carrier: Payload | None

    @classmethod
    def of(cls, stage: Stage, level: int) -> Known:
        """Return what the references of `level` show."""
        kind = stage.subject.entry.row.kind
        found = [
            (played.key.seed, payload_of(played.actions, stage.tools(played.key), kind))
            for played in stage.solved
            if played.key.level == level and played.verdict.passed
        ]
        payloads = [(seed, payload) for seed, payload in found if payload is not None]
        answers = tuple(payload.text for _, payload in payloads)
        return cls(
            tuple(seed for seed, _ in payloads),
            answers,
            tuple(forms_of(answers)),
            payloads[0][1] if payloads else None,
        )

    def others(self, key: TaskKey) -> list[Form]:
        """Return the forms of all answers but that of `key`, beginning with its successors'."""
        place = next((place for place, seed in enumerate(self.seeds) if seed > key.seed), 0)
        turned = [*range(place, len(self.seeds)), *range(place)]
        return [self.forms[each] for each in turned if self.seeds[each] != key.seed]

    def frequent(self, key: TaskKey, count: int) -> list[str]:
        """Return the most frequent answers of the level's other tasks, at most `count`."""
        others = Counter(answer for seed, answer in zip(self.seeds, self.answers, strict=True) if seed != key.seed)
        return [answer for answer, _ in others.most_common(count)]


def shown_text(task: Task) -> str:
    """Return what a policy is shown before it acts, as one text: the prompt, and the start of what comes with it."""
    return f"{task.prompt}\n{json.dumps(dict(task.public), default=str)[:MAX_PUBLIC_CHARS]}"


def pools_of(task: Task) -> dict[str, list[str]]:
    """Return the parts of the prompt by class; a class that it has none of is filled from what comes with it."""
    prompt, beside = shown_by_class(task.prompt), shown_by_class(shown_text(task))
    return {name: pool or beside[name] for name, pool in prompt.items()}
