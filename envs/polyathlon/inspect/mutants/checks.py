"""Checks by mutation: what is wrong is refused, fewer right parts earn no more, and rewrites are accepted."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from polyathlon.domain import Attempt
from polyathlon.drawing import TaskKey
from polyathlon.inspect.finding import WHOLE, CheckResult, Finding, Measure, measured
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.intervals import wilson
from polyathlon.inspect.mutants.credit import chain_of, inversions, num_pairs
from polyathlon.inspect.mutants.picking import Picker
from polyathlon.inspect.mutants.rewrites import rewrites_of
from polyathlon.inspect.mutants.trials import EXCLUDED, Trial, num_tasks, proved_wrong, replay, trials_of, uncounted
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.rule import Rule
from polyathlon.inspect.wording import fault_of

MIN_SOLUTIONS, MIN_LOWER_BOUND = 200, 0.90
WORST_MEAN_GOLD, WORST_MEAN_SILVER = 0.5, 0.8
MANY_EXCLUDED = 0.2
NUM_REWRITTEN, COSTLY_REWRITTEN = 8, 1
NUM_PROOFS_TRIED = 1


def check_solutions(stage: Stage) -> CheckResult:
    """Programs, queries, commands, shapes and calls made wrong must not earn full reward (V01)."""
    return _check_mutants(stage, RULES["V01"], solutions=True)


def check_answers(stage: Stage) -> CheckResult:
    """Answers made wrong must not earn full reward (V02)."""
    return _check_mutants(stage, RULES["V02"], solutions=False)


def check_credit(stage: Stage) -> CheckResult:
    """Fewer right parts never earn more, and no kind of mistake earns more than half on average (V03).

    The means are over the mutants that other checks have tried by now.
    """
    rule = RULES["V03"]
    measures: list[Measure] = []
    faults: list[Finding] = []
    for level in stage.subject.levels:
        turned = pairs = 0
        for key, scripts in _chains(stage, level):
            with uncounted(stage):  # a chain begins with what is right
                rewards = [stage.play(key, script).verdict.reward for script in scripts]
            found = inversions(rewards)
            pairs, turned = pairs + num_pairs(rewards), turned + len(found)
            if found:
                more, less = scripts[found[0].more_wrong], scripts[found[0].fewer_wrong]
                values = f"{rewards[found[0].fewer_wrong]:.3f} and {rewards[found[0].more_wrong]:.3f}"
                text = f"with one more part wrong it earns more: {values} for {_all(less)} and {_all(more)}."
                hint = "Let every part that is wrong cost, whatever the others are."
                faults.append(Finding(level, key.seed, f"{text} {hint}", replay(stage.subject, key, more)))
        if pairs:
            measures.append(measured(rule, level, turned / pairs, pairs, interval=wilson(turned, pairs)))
    means = _means(trials_of(stage).so_far())
    if means:
        measures.append(_worst_mean(rule, means))
        faults += [
            Finding(WHOLE, 0, f"{operator!r} earns {mean:.2f} on average; at most {WORST_MEAN_GOLD} should.")
            for operator, mean in means.items()
            if mean > WORST_MEAN_GOLD
        ]
    if not measures:
        return CheckResult(rule.id, not_applicable="nothing has parts, and no mutant was tried")
    return CheckResult(rule.id, tuple(measures), tuple(faults), {f"mean {name}": mean for name, mean in means.items()})


def check_rewrites(stage: Stage) -> CheckResult:
    """Rewrites that change no meaning must earn full reward: the domain's own equivalents, and rules for all (V06)."""
    rule, subject = RULES["V06"], stage.subject
    measures: list[Measure] = []
    faults: list[Finding] = []
    lost = 0
    for level in subject.levels:
        accepted = tried = 0
        for name, key, actions in _rewritten(stage, level):
            played = stage.play(key, actions)
            verdict = played.verdict
            lost += verdict.reward is None
            tried += verdict.reward is not None
            accepted += verdict.passed
            if verdict.reward is not None and not verdict.passed:
                text = f"the rewrite {name!r} is refused: {verdict.reward:.3f} ({verdict.reason}); {_all(actions)}."
                hint = "Accept it, or say in the prompt that this form does not count."
                faults.append(fault_of(subject, played, f"{text} {hint}"))
        share = accepted / tried if tried else 0.0
        measures.append(measured(rule, level, share, tried, interval=wilson(accepted, tried)))
    if not any(subject.domain.equivalents(stage.task(key)) for key in subject.task_keys(1)):
        text = "the domain names no equivalents. Give rewrites of the right answer that must pass."
        faults.append(Finding(WHOLE, 0, text))
        measures.append(Measure(WHOLE, 0.0, 1, Grade.BRONZE))
    return CheckResult(rule.id, tuple(measures), tuple(faults), {"lost": float(lost)})


def _check_mutants(stage: Stage, rule: Rule, *, solutions: bool) -> CheckResult:
    trials = trials_of(stage)
    measures: list[Measure] = []
    faults: list[Finding] = []
    tried: list[Trial] = []
    for level in stage.subject.levels:
        here = trials.of(level, solutions=solutions)
        tried += here
        faults += [_survivor(stage, trial) for trial in here if trial.outcome == "survived"]
        unproven = _false_proofs(stage, level) if here else []
        faults += unproven
        if here:
            measures.append(_measure(rule, level, here, len(unproven)))
    if not tried:
        what = "program, query, command, shape or call" if solutions else "answer that is compared"
        return CheckResult(rule.id, not_applicable=f"the reference holds no {what}")
    if solutions:
        measures.append(_whole(rule, tried))
    counts: Counter[str] = Counter(trial.outcome for trial in tried)
    excluded = sum(counts[outcome] for outcome in EXCLUDED) / len(tried)
    outcomes: tuple[str, ...] = ("killed", "survived", "lost", *EXCLUDED)
    numbers = {
        **{outcome: float(counts[outcome]) for outcome in outcomes},
        "killed_by_time": float(sum(trial.timed_out for trial in tried)),
        "excluded_share": excluded,
        "operators": float(len({trial.mutant.operator for trial in tried})),
    }
    return CheckResult(rule.id, tuple(measures), tuple(faults), numbers)


def _measure(rule: Rule, level: int, trials: Sequence[Trial], num_false_proofs: int) -> Measure:
    """Return the measure of some trials. Lost ones count for nothing; a false proof counts as a survivor."""
    killed = sum(trial.outcome == "killed" for trial in trials)
    survived = sum(trial.outcome == "survived" for trial in trials) + num_false_proofs
    counted = killed + survived
    hits = killed if rule.better == "high" else survived
    return measured(rule, level, hits / counted if counted else 0.0, counted, interval=wilson(hits, counted))


def _whole(rule: Rule, trials: Sequence[Trial]) -> Measure:
    """Return the measure over all levels: gold needs enough mutants, and a lower bound."""
    measure = _measure(rule, WHOLE, trials, 0)
    enough = measure.num_cases >= MIN_SOLUTIONS and measure.low >= MIN_LOWER_BOUND
    grade = measure.grade if enough else min(measure.grade, Grade.SILVER)
    return Measure(WHOLE, measure.value, measure.num_cases, grade, measure.low, measure.high)


def _survivor(stage: Stage, trial: Trial) -> Finding:
    assert trial.played is not None, "what survives was played"
    text = f"the mutant {trial.mutant.operator!r} earns full reward: {_all(trial.mutant.actions)}."
    hint = "Sharpen the verifier; if it is right all the same, let the domain's `proves_right` show it."
    return fault_of(stage.subject, trial.played, f"{text} {hint}")


def _false_proofs(stage: Stage, level: int) -> list[Finding]:
    """Return what the domain's `proves_right` proves that its distractors and exploits say is wrong."""
    findings = []
    for key in [key for key in stage.subject.task_keys(NUM_PROOFS_TRIED) if key.level == level]:
        for attempt in proved_wrong(stage, key):
            text = f"`proves_right` calls the wrong attempt {attempt.name!r} right: {_all(attempt.actions)}."
            hint = "It must decide from the task alone, and prove nothing else."
            command = replay(stage.subject, key, attempt.actions)
            findings.append(Finding(level, key.seed, f"{text} {hint}", command))
    return findings


def _chains(stage: Stage, level: int) -> Iterator[tuple[TaskKey, tuple[tuple[str, ...], ...]]]:
    subject = stage.subject
    for right in trials_of(stage).rights(level, num_tasks(subject, solutions=False)):
        chain = chain_of(right.script, subject.entry.row.kind, Picker("chain", right.whole.task.id))
        if chain is not None:
            yield right.key, chain.scripts


def _means(trials: Sequence[Trial]) -> dict[str, float]:
    """Return the mean reward of the mutants of each operator that were refused: survivors are another check's."""
    earned: dict[str, list[float]] = {}
    for trial in trials:
        reward = trial.played.verdict.reward if trial.played is not None else None
        if reward is not None and trial.outcome == "killed":
            earned.setdefault(trial.mutant.operator, []).append(reward)
    return {operator: statistics.fmean(rewards) for operator, rewards in sorted(earned.items())}


def _worst_mean(rule: Rule, means: dict[str, float]) -> Measure:
    worst = max(means.values())
    grade = Grade.GOLD if worst <= WORST_MEAN_GOLD else Grade.SILVER if worst <= WORST_MEAN_SILVER else rule.otherwise
    return Measure(WHOLE, worst, len(means), grade)


def _rewritten(stage: Stage, level: int) -> Iterator[tuple[str, TaskKey, tuple[str, ...]]]:
    """Yield (name, task, actions): the equivalents of the first tasks, and generated rewrites of their references."""
    subject = stage.subject
    few = COSTLY_REWRITTEN if subject.costly else NUM_REWRITTEN
    solved: list[Playthrough] = [played for played in stage.solved if played.key.level == level]
    for place, played in enumerate(solved[: subject.num_attempt_seeds]):
        declared: Sequence[Attempt] = subject.domain.equivalents(played.task)
        for attempt in declared:
            yield attempt.name, played.key, attempt.actions
        if place < few and played.verdict.passed:
            for rule, actions in rewrites_of(played.actions, subject.entry.row.kind, declared=declared):
                yield rule, played.key, actions
    for played in solved[subject.num_attempt_seeds :]:  # of the others one in turn, where no alternative is tried
        if not subject.domain.alternatives(played.task):
            others = [a for a in subject.domain.equivalents(played.task) if a.actions != played.actions]
            for attempt in others[played.key.seed % len(others) :][:1] if others else ():
                yield attempt.name, played.key, attempt.actions


def _all(actions: Sequence[str]) -> str:
    """Return messages in full, as JSON."""
    return json.dumps(list(actions), ensure_ascii=True)
