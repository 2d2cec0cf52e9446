"""N04: where all is to be left as it is, silence must not pass for having looked."""

from __future__ import annotations

import statistics

from polyathlon.domain import Evidence
from polyathlon.inspect.finding import CheckResult, measured
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.wording import fault_of, verdict_text


def check_restraint(stage: Stage) -> CheckResult:
    """N04: the mean reward of silence on the tasks whose reference leaves files and state as silence does."""
    subject, rule = stage.subject, RULES["N04"]
    few = subject.num_attempt_seeds if subject.costly else subject.num_seeds
    silent: dict[int, list[Playthrough]] = {}
    for solved in stage.solved:
        if solved.key.seed < few and solved.verdict.passed and solved.actions:
            silence = stage.play(solved.key, ())
            if _leaves_alone(solved.evidence, silence.evidence):
                silent.setdefault(solved.key.level, []).append(silence)
    if not silent:
        return CheckResult("N04", not_applicable="every reference changes something, or there is nothing to change")
    measures, faults = [], []
    for level, played in sorted(silent.items()):
        mean = statistics.fmean(max(0.0, one.reward) for one in played)
        measures.append(measured(rule, level, mean, len(played)))
        if mean > rule.gold:
            best = max(played, key=lambda one: one.reward)
            text = (
                f"silence earns {mean:.3f} on {len(played)} tasks where nothing is to be changed: {verdict_text(best)}."
            )
            faults.append(fault_of(subject, best, f"{text} Ask for a word that says so, and pay only that."))
    return CheckResult("N04", tuple(measures), tuple(faults))


def _leaves_alone(evidence: Evidence | None, untouched: Evidence | None) -> bool:
    """Whether there is a world, and `evidence` holds it as nobody's hands have left it."""
    if evidence is None or untouched is None or not (evidence.tree.entries or evidence.state):
        return False
    return evidence.tree == untouched.tree and evidence.state == untouched.state
