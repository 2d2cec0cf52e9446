"""C01, C02 and C05: what a domain must have, what its verdicts must be, and how its verifier must not be written."""

from __future__ import annotations

import math
from collections.abc import Iterator

from polyathlon.domain import MAX_PARTIAL_REWARD, Domain, Verdict
from polyathlon.inspect.finding import WHOLE, CheckResult, Finding, measured
from polyathlon.inspect.lint import lint_domain
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.rewards import spread_of_plays, tallies
from polyathlon.inspect.wording import fault_of

REFUSED = "verifier: DomainError: "
"""How the reason of an invalid verdict begins where `Verdict` itself refused what it was given."""
PARTS = {"tasks": ("draw", "render"), "verifier": ("judge",)}
HOOKS = (
    "open_workspace",
    "solve",
    "alternatives",
    "equivalents",
    "distractors",
    "exploits",
    "shortcuts",
    "proves_right",
)


def check_contract(stage: Stage) -> CheckResult:
    """C01: the parts of the domain are what the contract says."""
    faults = tuple(Finding(0, 0, text) for text in contract_faults(stage.subject.domain))
    return CheckResult("C01", (measured(RULES["C01"], WHOLE, len(faults), 1),), faults)


def contract_faults(domain: Domain) -> Iterator[str]:
    """Yield what is missing or wrong in the parts of `domain`."""
    for part, methods in PARTS.items():
        for method in methods:
            if not callable(getattr(getattr(domain, part), method, None)):
                yield f"`{part}` has no method {method}(). Give it one: see polyathlon.domain."
    for hook in HOOKS:
        if not callable(getattr(domain, hook)):
            yield f"`{hook}` is a {type(getattr(domain, hook)).__name__}; it must be a function. See polyathlon.domain."


def check_verdicts(stage: Stage) -> CheckResult:
    """C02: whatever a verifier gives back is a verdict: a finite reward in its range, a reason, finite parts."""
    wrong: list[tuple[int, bool]] = []
    faults: list[Finding] = []
    for played in spread_of_plays(stage):
        problem = _judged_amiss(stage, played)
        wrong.append((played.key.level, bool(problem)))
        if problem:
            text = f"a verdict outside the contract: {problem}. Build it with Verdict.passing, failing or invalid."
            faults.append(fault_of(stage.subject, played, text))
    return CheckResult("C02", tallies("C02", wrong, stage.subject.levels), tuple(faults))


def check_lint(stage: Stage) -> CheckResult:
    """C05: the verifier's source must be free of expressions that are known to pay wrong answers."""
    faults = tuple(Finding(0, 0, smell.text) for smell in lint_domain(stage.subject.domain))
    return CheckResult("C05", (measured(RULES["C05"], WHOLE, len(faults), 1),), faults)


def _judged_amiss(stage: Stage, played: Playthrough) -> str:
    if played.evidence is None:
        return ""
    verdict = stage.judge_again(played)
    problem = verdict_fault(verdict)
    return problem or verdict.reason.partition(REFUSED)[2]


def verdict_fault(verdict: object) -> str:
    """Return what is wrong with what a verifier gave back; an empty string when it is a verdict."""
    if not isinstance(verdict, Verdict):
        return f"it is a {type(verdict).__name__}"
    reward, reason, parts = verdict.reward, verdict.reason, verdict.parts
    ceiling = 1.0 if verdict.passed else MAX_PARTIAL_REWARD
    odd = [name for name, value in parts.items() if not _finite(value)]
    faults = {
        f"valid is {verdict.valid!r}, and the reward {reward!r}": verdict.valid is (reward is None),
        f"the reward is {reward!r}": reward is not None and not (_finite(reward) and 0.0 <= reward <= ceiling),
        f"the reason is a {type(reason).__name__}": not _is_text(reason),
        f"the parts {odd} are no finite numbers": bool(odd),
    }
    return next((text for text, wrong in faults.items() if wrong), "")


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)
