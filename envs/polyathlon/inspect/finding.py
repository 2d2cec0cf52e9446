"""What a check says: how often it looked, and what it found."""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: where, what happened, what to change. `replay` is a command that shows it again."""

    level: int
    seed: int
    message: str
    replay: str = ""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of one domain: the cases it tried, the faults it found, and numbers worth reading."""

    check: str
    asks: str
    num_cases: int
    faults: tuple[Finding, ...] = ()
    numbers: dict[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return not self.faults and self.num_cases > 0


@dataclass(frozen=True, slots=True)
class Inspection:
    """All checks of one domain. `broken` says why it could not be inspected at all. `cpu_s` leaves sandboxes out."""

    domain_id: str
    results: tuple[CheckResult, ...] = ()
    broken: str = ""
    wall_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.broken and bool(self.results) and not any(not result.passed for result in self.results)

    @property
    def num_faults(self) -> int:
        return sum(len(result.faults) for result in self.results) + bool(self.broken)
