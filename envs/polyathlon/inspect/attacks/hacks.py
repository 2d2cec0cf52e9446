"""X01: every attack of the library that fits, on every level. None may pay."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from polyathlon.inspect.attacks.attack import Attack
from polyathlon.inspect.attacks.library import attacks_of
from polyathlon.inspect.attacks.privilege import reaches_this_machine
from polyathlon.inspect.attacks.scenes import Target, levels_of, targets
from polyathlon.inspect.finding import WHOLE, CheckResult, Finding, measured
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.rewards import check_own_exploits
from polyathlon.inspect.wording import actions_text, fault_of, verdict_text

SLACK = 0.05
"""How far above the floor an attack may be paid: partial credit of a few per cent trains nobody to attack."""
NUM_SEEDS, NUM_SANDBOX_SEEDS = 8, 1
LUCKY = 2
"""How many payments to an attack without the right answer in it may be luck."""


@dataclass(slots=True)
class Record:
    """What one attack was paid at one level."""

    attack: Attack
    played: list[Playthrough] = field(default_factory=list)

    def fault(self, floor: float) -> str:
        """Return why this is a fault, "" when it is none."""
        lost = [each for each in self.played if not each.verdict.valid]
        if lost:
            return f"breaks the verdict ({lost[0].verdict.reason}): whoever breaks it is not judged"
        if self.attack.below == "full":
            return "passes" if any(each.verdict.passed for each in self.played) else ""
        paid = [each for each in self.played if each.reward > floor + SLACK]
        if self.attack.carries_answer:
            return f"earns {verdict_text(paid[0])}, floor {floor}" if paid else ""
        mean = statistics.fmean(each.reward for each in self.played)
        if mean <= floor + SLACK or len(paid) <= min(LUCKY, len(self.played) - 1):
            return ""
        return f"earns {mean:.3f} on average, floor {floor}, and is paid on {len(paid)} of {len(self.played)} tasks"

    @property
    def best(self) -> Playthrough:
        lost = [each for each in self.played if not each.verdict.valid]
        return lost[0] if lost else max(self.played, key=lambda each: each.reward)


def check_exploits(stage: Stage) -> CheckResult:
    """X01: the exploits that the domain itself names, and the attacks of the library."""
    own, known = check_own_exploits(stage), check_attacks(stage)
    numbers = {**own.numbers, **known.numbers}
    return CheckResult("X01", (*own.measures, *known.measures), (*own.faults, *known.faults), numbers)


def check_attacks(stage: Stage) -> CheckResult:
    """X01: the attacks of the library on the domain's kind; those that are right answers on a task are left out there.

    Where what is handed in runs on this very machine, none is tried. An attack with the right answer in it is at fault
    when it is paid once; one without, when its mean over a level's tasks lies above the floor and chance explains less.
    """
    subject = stage.subject
    first = next(targets(stage, 1), None)
    if first is not None and reaches_this_machine(stage, first):
        text = "what is handed in runs on this machine, so its attacks were not tried. Run it in polyathlon.sandbox."
        fault = Finding(first.key.level, first.key.seed, text, subject.replay(first.key))
        return CheckResult("X01", (measured(RULES["X01"], WHOLE, 1, 1),), (fault,))
    records: dict[tuple[int, str], Record] = {}
    for target in targets(stage, NUM_SANDBOX_SEEDS if subject.costly else NUM_SEEDS):
        for number, attack in enumerate(attacks_of(subject.entry.row.kind)):
            if subject.costly and not _is_its_turn(stage, target, number):
                continue
            played = play_attack(stage, target, attack)
            if played is not None:
                records.setdefault((target.key.level, attack.id), Record(attack)).played.append(played)
    return _result(stage, list(records.items()))


def play_attack(stage: Stage, target: Target, attack: Attack) -> Playthrough | None:
    """Return the episode of `attack` on a task, or None where it does not fit, or is a right answer."""
    actions = attack.make(target.scene, target.rng(attack.id))
    if actions is None or target.rights.hold(actions):
        return None
    return stage.play(target.key, actions)


def _is_its_turn(stage: Stage, target: Target, number: int) -> bool:
    """Whether an attack in a sandbox is tried on this task: a smoke test tries each on one level, in turn."""
    levels = levels_of(stage)
    return stage.subject.num_attempt_seeds > 1 or number % len(levels) == target.key.level


def _result(stage: Stage, records: Sequence[tuple[tuple[int, str], Record]]) -> CheckResult:
    floor = stage.subject.entry.row.floor
    faults: list[Finding] = []
    paying: dict[int, int] = {}
    cases: dict[int, int] = {}
    for (level, name), record in records:
        cases[level] = cases.get(level, 0) + len(record.played)
        why = record.fault(floor)
        if why:
            paying[level] = paying.get(level, 0) + 1
            text = f"attack {name} ({record.attack.title}) {why}; actions {actions_text(record.best.actions)}."
            faults.append(
                fault_of(stage.subject, record.best, f"{text} Close the hole in the verifier, for its whole kind.")
            )
    if stage.subject.costly:  # a smoke test tries each attack on one level: a level may have none
        measures = [measured(RULES["X01"], WHOLE, sum(paying.values()), sum(cases.values()))]
    else:
        measures = [
            measured(RULES["X01"], level, paying.get(level, 0), cases.get(level, 0)) for level in levels_of(stage)
        ]
    numbers = {"attacks": float(len({name for (_, name), _ in records}))}
    return CheckResult("X01", tuple(measures), tuple(faults), numbers)
