"""R01: how long a draw, an episode and a judgement take, against what they may."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from polyathlon.env import judge_evidence
from polyathlon.inspect.finding import CheckResult, Measure, measured
from polyathlon.inspect.play import Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.space.survey import survey_of
from polyathlon.inspect.tally import Tally

LIMIT_S, SANDBOX_LIMIT_S = 1.0, 30.0
NUM_JUDGED, NUM_SANDBOX_JUDGED = 16, 2
PERCENTILES = (50, 95, 99)


def check_speed(stage: Stage) -> CheckResult:
    """R01: the 95th percentile of the slowest of draw, episode and judgement, over the limit of its kind of domain.

    In seconds of this process's CPU, so that a busy machine changes nothing; where a sandbox does the work, by the
    clock, and the limit is wide enough for a busy one.
    """
    subject = stage.subject
    limit_s = SANDBOX_LIMIT_S if subject.costly else LIMIT_S
    tally = Tally("R01", subject.entry.row.levels)
    measures: list[Measure] = []
    everything: dict[str, list[float]] = {"draw": [], "episode": [], "judge": []}
    for draws in survey_of(stage).levels:
        played = [one for one in stage.solved if one.key.level == draws.level]
        times = {
            "draw": [*draws.cpu_s],
            "episode": [one.wall_s if subject.costly else one.cpu_s for one in played],
            "judge": _judging_s(stage, draws.level),
        }
        slowest = {name: _percentile(found, 95) for name, found in times.items()}
        worst = max(slowest, key=lambda name: slowest[name])
        measures.append(measured(RULES["R01"], draws.level, slowest[worst] / limit_s, sum(map(len, times.values()))))
        if slowest[worst] > limit_s:
            text = (
                f"the 95th percentile of a {worst} of level {draws.level} is {slowest[worst]:.2f} s; {limit_s:g} s are"
            )
            tally.fault(draws.level, 0, f"{text} the limit. Draw less, or bound the verifier's loops.")
        for name, found in times.items():
            everything[name] += found
    numbers = {
        f"{name}_p{percent}_ms": 1000 * _percentile(found, percent)
        for name, found in everything.items()
        for percent in PERCENTILES
    }
    return tally.result(tuple(measures), numbers)


def _judging_s(stage: Stage, level: int) -> list[float]:
    """Return what judging each of some episodes takes: the reference's, and wrong ones."""
    subject = stage.subject
    few = NUM_SANDBOX_JUDGED if subject.costly else NUM_JUDGED
    times = []
    for key in [key for key in subject.task_keys(few) if key.level == level]:
        task = stage.task(key)
        tries = [
            attempt.actions
            for attempt in (*subject.domain.alternatives(task)[:1], *subject.domain.distractors(task)[:1])
        ]
        for evidence in [stage.play(key, actions).evidence for actions in tries]:
            if evidence is None:
                continue
            clock = time.perf_counter if subject.costly else time.process_time
            began_s = clock()
            judge_evidence(subject.domain, task, evidence, subject.room)
            times.append(clock() - began_s)
    return times


def _percentile(times: Sequence[float], percent: int) -> float:
    return float(np.percentile(times, percent)) if times else 0.0
