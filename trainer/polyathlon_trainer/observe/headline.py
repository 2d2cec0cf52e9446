"""What a run showed, in plain sentences: only what its tables say, and no interval left out. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from polyathlon_trainer.observe.reading import AFTER, BEFORE, SAMPLING, RunLog
from polyathlon_trainer.observe.statistics import NO_GAIN, Gain
from polyathlon_trainer.observe.tables import DomainRow, FinalTable

_CONTROL_NAMES = {"sft-continued": "SFT simply continued", "rl-shuffled": "RL on shuffled rewards"}


def headline(log: RunLog, table: FinalTable) -> tuple[str, ...]:
    """Return the sentences to read first, the main finding leading."""
    sentences = [*_finding(log, table), *_domains(table), *_controls(table), *_shares(table), *_ending(log)]
    return tuple(sentences)


def gain_text(gain: Gain) -> str:
    """Return a gain with its interval, such as "+0.091 [+0.080, +0.103]", or "not measured"."""
    if gain.mean is None or gain.low is None or gain.high is None:
        return "not measured"
    return f"{signed(gain.mean)} [{signed(gain.low)}, {signed(gain.high)}]"


def signed(value: float) -> str:
    """Return `value` with its sign and three decimals; nothing is "-0.000"."""
    return f"{round(value, 3) + 0.0:+.3f}"


def plural(count: int, noun: str) -> str:
    """Return "1 domain" or "3 domains"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _finding(log: RunLog, table: FinalTable) -> list[str]:
    pooled = table.rl.get("t1")
    if not log.of_stage(AFTER) and not log.last_eval(AFTER, temperature=SAMPLING):
        return ["This run has no RL steps: there is no gain to report."]
    if pooled is None or pooled.before is None or pooled.after is None or pooled.gain.mean is None:
        return [_unmeasured(log, table)]
    moved = f"from {pooled.before:.3f} to {pooled.after:.3f} over {plural(pooled.num_domains, 'domain')}"
    meaning = (
        "That is the expected reward on held-out tasks at T=1, averaged over the domains this policy can touch "
        "(0.05 to 0.95 after SFT), each counted the same; the 95% interval is paired by prompt."
    )
    so_far = "" if log.end else " so far"
    if pooled.gain.includes_zero:
        first = f"This run does not{so_far} show that RL changed the mean reward: {moved}, {gain_text(pooled.gain)}"
        return [f"{first}. The interval includes zero.", meaning, *_cooler(table)]
    verb = "raised" if pooled.gain.mean > 0 else "lowered"
    return [
        f"RL{so_far and ' has so far'} {verb} the mean held-out reward {moved}: {gain_text(pooled.gain)}.",
        meaning,
        *_cooler(table),
    ]


def _unmeasured(log: RunLog, table: FinalTable) -> str:
    if not log.last_eval(BEFORE, temperature=SAMPLING):
        return "No gain to report: the policy was not evaluated at T=1 before RL."
    if not log.last_eval(AFTER, temperature=SAMPLING):
        return "No gain to report yet: the policy has not been evaluated at T=1 since RL began."
    if not any(row.reach == "touchable" for row in table.rows):
        return "No gain to report: the policy can touch none of these domains (mean reward after SFT in 0.05 to 0.95)."
    return "No gain to report: no prompt was evaluated both before and after RL."


def _cooler(table: FinalTable) -> list[str]:
    names = {"t0.5": "at T=0.5", "greedy": "decoding greedily"}
    said = [
        f"{name} the change is {gain_text(table.rl[key].gain)}{_zero(table.rl[key].gain)}"
        for key, name in names.items()
        if key in table.rl and table.rl[key].gain.mean is not None
    ]
    if not said:
        return []
    text = "; ".join(said)
    return [text[0].upper() + text[1:] + "."]


def _zero(gain: Gain) -> str:
    return ", which includes zero" if gain.includes_zero else ""


def _domains(table: FinalTable) -> list[str]:
    pooled = table.rl.get("t1")
    if pooled is None or pooled.gain.mean is None:
        return []
    measured = sum("t1" in row.rl and row.rl["t1"].gain.num_prompts > 0 for row in table.rows)
    fallen = [short_name(row.domain_id) for row in table.rows if "t1" in row.rl and row.rl["t1"].change == "fell"]
    fell = f"{len(fallen)} fell ({listed(fallen)})" if fallen else "none fell"
    sentences = [
        f"Of {plural(measured, 'domain')}, {pooled.num_rose} rose and {fell} significantly "
        "(false discovery held at 5%)."
    ]
    beyond = [row for row in table.rows if row.reach == "out of reach"]
    solved = [row for row in table.rows if row.reach == "solved before"]
    if beyond:
        sentences.append(f"Out of reach after SFT (mean below 0.05): {_counted(beyond)}.")
    if solved:
        sentences.append(f"Already solved after SFT (mean above 0.95): {_counted(solved)}.")
    return sentences


def _controls(table: FinalTable) -> list[str]:
    sentences = []
    for stage, pooled in table.controls.items():
        if pooled.gain.mean is None:
            continue
        name = _CONTROL_NAMES.get(stage, stage)
        margin = table.over_controls.get(stage, NO_GAIN)
        beside = f" RL over it: {gain_text(margin)}{_zero(margin)}." if margin.mean is not None else ""
        sentences.append(f"Control, {name}: {gain_text(pooled.gain)}{_zero(pooled.gain)}.{beside}")
    return sentences


def _shares(table: FinalTable) -> list[str]:
    verdicts = [row.share.verdict for row in table.rows if row.share]
    tested = verdicts.count("holds") + verdicts.count("off")
    if not verdicts:
        return []
    if not tested:
        why = "a domain alone has no share to keep" if len(verdicts) == 1 else "too few groups"
        return [f"Whether declared shares were kept cannot be said ({why})."]
    off = [short_name(row.domain_id) for row in table.rows if row.share and row.share.verdict == "off"]
    rest = f"; off: {listed(off)}" if off else ""
    untold = len(verdicts) - tested
    few = f" {plural(untold, 'domain')} cannot be tested." if untold else ""
    return [f"Declared shares were kept within 10% in {tested - len(off)} of {plural(tested, 'domain')}{rest}.{few}"]


def _ending(log: RunLog) -> list[str]:
    if log.end is not None:
        return [] if log.end.outcome == "finished" else [f"The run stopped itself: {log.end.reason}"]
    if not log.steps:
        return ["The run has not finished; it has no steps yet."]
    last = log.steps[-1]
    planned = log.run.planned_steps.get(last.stage) if log.run else None
    place = f"step {last.step}{f' of {planned}' if planned else ''} of {last.stage}"
    return [f"The run has not finished: its last record is {place}."]


def short_name(domain_id: str) -> str:
    """Return the id without its namespace."""
    return domain_id.rpartition("/")[2]


def listed(names: Sequence[str], *, most: int = 6) -> str:
    """Return at most `most` names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _counted(rows: Sequence[DomainRow]) -> str:
    return f"{plural(len(rows), 'domain')} ({listed([short_name(row.domain_id) for row in rows])})"
