"""Whether a run kept its declared shares: in groups trained and judged, in tokens, in seconds. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from polyathlon_trainer.observe.records import DomainStep, StepRecord

MIN_YIELD = 0.3
MAX_OFF = 0.1
MIN_GROUPS = 10

ShareVerdict = Literal["holds", "off", "too few groups", "alone", "not run"]


@dataclass(frozen=True, slots=True)
class Share:
    """What one domain got of a stage. Shares sum to one over the domains; counts and seconds are sums over steps.

    `yield_share` is the share of judged groups that gave a gradient, None when none was judged. `held_on` says which
    groups the rule reads; `ratio` is realised over declared there, None where it cannot be said.
    """

    declared: float
    trained: float
    judged: float
    tokens: float
    seconds: float
    num_trained: int
    num_judged: int
    num_tokens: int
    engine_s: float
    judge_s: float
    yield_share: float | None
    held_on: Literal["trained", "judged"]
    ratio: float | None
    verdict: ShareVerdict
    scale: float | None
    level: float | None
    failures: Mapping[str, int]


def shares(steps: Sequence[StepRecord]) -> dict[str, Share]:
    """Return {domain_id: Share} over `steps` of one stage.

    The declared share is the mean over steps of the curriculum's. The rule, within 10% of declared, relatively:
    where at least 30% of a domain's groups give a gradient, on trained groups, against the other domains of that kind;
    for the others on judged groups, against all judged groups. Below 10 expected groups one group more or less decides,
    so nothing is said; nor is it for a domain that is alone in giving gradients.
    """
    ids = list(dict.fromkeys(domain_id for step in steps for domain_id in step.domains))
    rows = {domain_id: [step.domains[domain_id] for step in steps if domain_id in step.domains] for domain_id in ids}
    declared = {key: sum(row.declared_share for row in rows[key]) / len(steps) for key in ids}
    trained = _sums(rows, lambda row: row.trained)
    judged = _sums(rows, lambda row: row.judged)
    tokens = _sums(rows, lambda row: row.tokens)
    engine, judging = _sums(rows, lambda row: row.engine_s), _sums(rows, lambda row: row.judge_s)
    seconds = {key: engine[key] + judging[key] for key in ids}
    productive = {key for key in ids if judged[key] and trained[key] / judged[key] >= MIN_YIELD}
    ratios = {
        key: _judge(key, peers=productive, declared=declared, counts=trained)
        if key in productive
        else _judge(key, peers=ids, declared=declared, counts=judged)
        for key in ids
    }
    return {
        key: Share(
            declared=_part(declared, key),
            trained=_part(trained, key),
            judged=_part(judged, key),
            tokens=_part(tokens, key),
            seconds=_part(seconds, key),
            num_trained=int(trained[key]),
            num_judged=int(judged[key]),
            num_tokens=int(tokens[key]),
            engine_s=engine[key],
            judge_s=judging[key],
            yield_share=trained[key] / judged[key] if judged[key] else None,
            held_on="trained" if key in productive else "judged",
            ratio=ratios[key][0],
            verdict=ratios[key][1],
            scale=rows[key][-1].scale,
            level=next((row.mean_level for row in reversed(rows[key]) if row.mean_level is not None), None),
            failures=dict(sum((Counter(row.failures) for row in rows[key]), Counter())),
        )
        for key in ids
    }


def _judge(
    key: str, *, peers: Collection[str], declared: Mapping[str, float], counts: Mapping[str, float]
) -> tuple[float | None, ShareVerdict]:
    """Return realised over declared among `peers`, and what the rule says of it."""
    whole = sum(declared[peer] for peer in peers)
    expected = sum(counts[peer] for peer in peers) * declared[key] / whole if whole else 0.0
    if not expected:
        return None, "off" if counts[key] else "not run"
    if len(peers) == 1:
        return None, "alone"
    ratio = counts[key] / expected
    if expected < MIN_GROUPS:
        return ratio, "too few groups"
    return ratio, "holds" if abs(ratio - 1.0) <= MAX_OFF + 1e-9 else "off"


def _sums(rows: Mapping[str, Sequence[DomainStep]], count: Callable[[DomainStep], float]) -> dict[str, float]:
    return {key: float(sum(count(row) for row in steps)) for key, steps in rows.items()}


def _part(values: Mapping[str, float], key: str) -> float:
    total = sum(values.values())
    return values[key] / total if total else 0.0
