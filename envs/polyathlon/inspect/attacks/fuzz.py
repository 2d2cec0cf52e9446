"""X04: a budgeted search for texts that are paid and are no right answers.

What counts, and why a single payment often does not:

* A *pass* of a text that holds other words or numbers than every right answer, and is not proved right, is a find.
* *Partial credit* may be luck: where an answer can be half right, some texts are. So a text that is paid is shrunk to
  the smallest one that still is, and played on other tasks of its level, where it owes nothing to the prompt. A find is
  what is paid there too. What pays on average by reading the prompt without solving is no affair of this check, but
  of N05, which has a threshold for it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polyathlon.inspect.attacks.grammar import FAMILIES, Words, proposed
from polyathlon.inspect.attacks.level_forms import Known, pools_of
from polyathlon.inspect.attacks.payload import payload_of
from polyathlon.inspect.attacks.privilege import reaches_this_machine
from polyathlon.inspect.attacks.scenes import Target, levels_of, target_of, targets
from polyathlon.inspect.attacks.shrinking import shrunk
from polyathlon.inspect.finding import CheckResult, Finding, measured
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.wording import actions_text, fault_of, verdict_text

TRIES_A_SEED, MAX_TRIES = 8, 10_000
SANDBOX_TRIES = 20
NUM_TASKS, NUM_SANDBOX_TASKS = 16, 1
NUM_ELSEWHERE = 8
SLACK = 0.05
MAX_SHRINKS, MAX_SANDBOX_SHRINKS = 300, 10
MAX_FINDS = 3
SLOW_KINDS = ("mesh", "document")


@dataclass(frozen=True, slots=True)
class Find:
    """A text that is paid and is no right answer: the family that made it, and the episode after shrinking."""

    family: str
    played: Playthrough
    why: str


def check_fuzz(stage: Stage) -> CheckResult:
    """X04: 8 tries a level for each task looked at, 10,000 for a certificate, 20 in all in a sandbox."""
    proves = stage.subject.proves
    return fuzz(stage, tries_a_level=MAX_TRIES if proves else TRIES_A_SEED * stage.subject.num_seeds)


def fuzz(stage: Stage, *, tries_a_level: int) -> CheckResult:
    """X04: try texts made of what the prompt shows. Costly kinds get a small fixed number of tries."""
    subject = stage.subject
    first = next(targets(stage, 1), None)
    if first is not None and reaches_this_machine(stage, first):
        return CheckResult("X04", not_applicable="what is handed in runs on this machine: X03 says so")
    if subject.costly:
        tries_a_level = max(1, SANDBOX_TRIES // len(levels_of(stage)))
    elif subject.entry.row.kind in SLOW_KINDS:
        tries_a_level //= 8
    measures, faults = [], list[Finding]()
    for level in levels_of(stage):
        search = _Search(stage, level)
        finds = search.run(tries_a_level)
        measures.append(measured(RULES["X04"], level, len(finds), search.num_tries))
        for find in finds:
            text = f"a wrong text ({find.family}) {find.why}: {actions_text(find.played.actions)} earns "
            text += f"{verdict_text(find.played)}, floor {subject.entry.row.floor}."
            faults.append(
                fault_of(subject, find.played, f"{text} It is no right answer: find out what was read in it.")
            )
    return CheckResult("X04", tuple(measures), tuple(faults))


class _Search:
    """The search on one level."""

    def __init__(self, stage: Stage, level: int) -> None:
        self.stage, self.level = stage, level
        self.floor = stage.subject.entry.row.floor
        self.num_tries = 0
        here = [played for played in stage.solved if played.key.level == level and played.verdict.passed]
        few = NUM_SANDBOX_TASKS if stage.subject.costly else NUM_TASKS
        self.targets = [target_of(stage, played) for played in here[: few + NUM_ELSEWHERE]]
        self.searched = self.targets[:few]
        self.known = Known.of(stage, level)

    def run(self, num_tries: int) -> list[Find]:
        """Return what was found, each shrunk; at most three."""
        finds: list[Find] = []
        best: dict[str, tuple[Target, Playthrough]] = {}
        for target, family, played in self._tries(num_tries):
            self.num_tries += 1
            if played.reward <= self.floor + 1e-9 or len(finds) >= MAX_FINDS or target.rights.resemble(played.actions):
                continue
            if played.verdict.passed:
                finds.append(self._shrunk(target, family, played, "passes"))
            elif family not in best or played.reward > best[family][1].reward:
                best[family] = (target, played)
        for family, (target, played) in best.items():
            found = self._shrunk(target, family, played, "is paid wherever it is sent")
            if len(finds) < MAX_FINDS and self._is_paid_elsewhere(target, found.played):
                finds.append(found)
        return _apart(finds)

    def _tries(self, num_tries: int) -> Iterator[tuple[Target, str, Playthrough]]:
        if not self.searched:
            return
        words = [self._words(target) for target in self.searched]
        for number in range(num_tries):
            place = number % len(self.searched)
            target = self.searched[place]
            family = [*FAMILIES][number // len(self.searched) % len(FAMILIES)]
            actions = proposed(family, words[place], target.rng("fuzz", number))
            if actions:
                yield target, family, self.stage.play(target.key, actions)

    def _words(self, target: Target) -> Words:
        task = self.stage.task(target.key)
        forms = self.known.others(target.key)
        carrier = target.scene.payload
        return Words.of(task.prompt, pools=pools_of(task), forms=forms, tools=target.scene.tools, carrier=carrier)

    def _shrunk(self, target: Target, family: str, played: Playthrough, why: str) -> Find:
        """Return the find with the smallest text that is still paid as a pass, or half of what it was."""
        carrier = target.scene.payload
        payload = payload_of(played.actions, target.scene.tools, target.scene.kind)
        if carrier is None or payload is None:
            return Find(family, played, why)
        least = played.reward if played.verdict.passed else max(self.floor + 1e-9, played.reward / 2.0)

        def keeps(text: str) -> bool:
            again = self.stage.play(target.key, carrier.carrying(text))
            return again.reward >= least and again.reward > self.floor and not target.rights.resemble(again.actions)

        tries = MAX_SANDBOX_SHRINKS if self.stage.subject.costly else MAX_SHRINKS
        text = shrunk(payload.text, keeps, max_tries=tries)
        return Find(family, self.stage.play(target.key, carrier.carrying(text)), why)

    def _is_paid_elsewhere(self, target: Target, played: Playthrough) -> bool:
        """Whether the same actions are paid on other tasks of the level, where they are not right either."""
        rewards = []
        for other in self.targets[-NUM_ELSEWHERE:]:
            if other.key != target.key and not other.rights.resemble(played.actions):
                rewards.append(self.stage.play(other.key, played.actions).reward)
        num_paid = sum(reward > self.floor + 1e-9 for reward in rewards)
        return num_paid > 1 and statistics.fmean(rewards) > self.floor + SLACK


def _apart(finds: Sequence[Find]) -> list[Find]:
    """Return the finds whose actions differ, white space aside."""
    apart = {tuple(action.strip() for action in find.played.actions): find for find in reversed(finds)}
    return list(apart.values())[::-1]
