"""S03: where a domain can prove an answer without its verifier, proof and verdict must agree."""

from __future__ import annotations

from polyathlon.domain import Domain
from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.inspect.tally import Tally

UNPROVEN = Domain.__dataclass_fields__["proves_right"].default
NOT_OFFERED = "the domain offers no proof that does without its verifier (`proves_right`)"
NOT_PROVED = "`proves_right` proves no reference: it decides about mutants alone"


def check_second_solver(stage: Stage) -> CheckResult:
    """S03: the share of answers about which `proves_right` and the verifier agree.

    A proof of a refused answer is a disagreement; so is an accepted one that is not proved, but for attempts whose
    form the proof may not know. A hook that proves no reference at all is no second solution.
    """
    subject, proves = stage.subject, stage.subject.domain.proves_right
    if proves is UNPROVEN:
        return CheckResult("S03", not_applicable=NOT_OFFERED)
    tally = Tally("S03", subject.entry.row.levels)
    proved = {played.key: proves(played.task, played.actions) for played in stage.solved}
    if not any(proved.values()):
        return CheckResult("S03", not_applicable=NOT_PROVED)
    for played in stage.solved:
        _count(stage, tally, played, agree=proved[played.key] == played.verdict.passed)
    for key in subject.task_keys(subject.num_attempt_seeds):
        for attempt in (*subject.domain.distractors(stage.task(key)), *subject.domain.exploits(stage.task(key))):
            played = stage.play(key, attempt.actions)
            _count(stage, tally, played, agree=played.verdict.passed or not proves(played.task, attempt.actions))
    return tally.result(tally.shares(), {"proved_references": sum(proved.values()) / len(proved)})


def _count(stage: Stage, tally: Tally, played: Playthrough, *, agree: bool) -> None:
    tally.count(played.key.level, agree)
    if not agree:
        verdict = "passes" if played.verdict.passed else f"is refused ({played.verdict.reason})"
        text = f"an answer that the proof calls {'wrong' if played.verdict.passed else 'right'} {verdict}"
        shown = " | ".join(played.actions)[:160]
        tally.fault(
            played.key.level,
            played.key.seed,
            f"{text}: {shown!a}. One of the two is wrong: work the task out by hand.",
            stage.subject.replay(played.key),
        )
