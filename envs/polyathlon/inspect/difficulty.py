"""Q01: levels get harder on a fixed ladder of solvers that need no model, from a blind one to one that only slips.

The rungs, each a mean reward or a chance of passing, in [0, 1]:

- blind: another task's answer, sent as it is.
- shortcut: the best of the domain's own prompt-reading heuristics, where it names any.
- search: the best of a few answers of the right shape, filled with what the prompt holds. It sees every reward.
- slipping: one who knows the solution, and misreads one in 5,000 bytes of what must be read, slips in one of 100 that
  must be written and are not there to copy, and loses the thread in one of 20 turns. Bytes are compressed ones, so that
  wording and repetition count little. This rung is computed, not played: it measures effort, and effort is a stand-in
  for difficulty, as no model is asked here.

The score of a level is the mean of its rungs. What only the reference solves is what is left above it.
"""

from __future__ import annotations

import math
import re
import statistics
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon.drawing import TaskKey
from polyathlon.inspect.finding import WHOLE, CheckResult, measured
from polyathlon.inspect.intervals import Z_95
from polyathlon.inspect.play import Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.space.survey import Answered, answered_of, public_text
from polyathlon.inspect.tally import Tally
from polyathlon.seeding import child

MISREAD, MISWRITTEN, LOST_THREAD = 1 / 5_000, 1 / 100, 1 / 20
NUM_PLAYED, NUM_SANDBOX_PLAYED = 16, 2
NUM_TRIES, NUM_SANDBOX_TRIES = 8, 2
REVERSED_CAP = -0.85
"""The best correlation that counts where two neighbours are reversed beyond their intervals: below gold."""


@dataclass(frozen=True, slots=True)
class Rungs:
    """What each solver of the ladder reaches at one level. `spread` is the standard error of the score."""

    level: int
    blind: float
    shortcut: float
    search: float
    slipping: float
    spread: float

    @property
    def score(self) -> float:
        """The mean of the rungs: higher is easier."""
        return (self.blind + self.shortcut + self.search + self.slipping) / 4


def check_ladder(stage: Stage) -> CheckResult:
    """Q01: the rank correlation of level and score, and the strata: what each rung reaches at each level."""
    num_levels = stage.subject.entry.row.levels
    if num_levels < 2:
        return CheckResult("Q01", not_applicable="there is one level")
    tally = Tally("Q01", num_levels)
    levels = [_rungs(stage, level, answered) for level, answered in enumerate(answered_of(stage)) if answered]
    if len(levels) < num_levels:
        return CheckResult("Q01")
    scores = [rungs.score for rungs in levels]
    value = spearman(range(num_levels), scores)
    reversed_at = [k for k in range(1, num_levels) if _is_reversed(levels[k - 1], levels[k])]
    if reversed_at:
        value = max(value, REVERSED_CAP)
    if value > RULES["Q01"].gold:
        shown = ", ".join(f"{score:.3f}" for score in scores)
        text = f"levels do not get harder in order: scores {shown} from level 0 on, rank correlation {value:.2f}."
        where = f" Level {reversed_at[0]} is easier than the one before it." if reversed_at else ""
        tally.fault(reversed_at[0] if reversed_at else 0, 0, f"{text}{where} Reorder the levels, or deepen them.")
    numbers = {
        f"{rung}_{rungs.level}": getattr(rungs, rung)
        for rungs in levels
        for rung in ("blind", "shortcut", "search", "slipping", "score")
    }
    cases = sum(map(len, answered_of(stage)))
    return tally.result((measured(RULES["Q01"], WHOLE, value, cases),), numbers)


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the rank correlation of two sequences of the same length, ties sharing their rank; 0 where all tie."""
    left, right = _ranks(one), _ranks(other)
    left, right = left - left.mean(), right - right.mean()
    size = math.sqrt(float((left * left).sum() * (right * right).sum()))
    return float((left * right).sum()) / size if size else 0.0


def _ranks(values: Sequence[float]) -> np.ndarray:
    return np.array([sum(v < x for v in values) + (sum(v == x for v in values) - 1) / 2 for x in values], dtype=float)


def _is_reversed(easier: Rungs, harder: Rungs) -> bool:
    return harder.score - easier.score > Z_95 * math.hypot(easier.spread, harder.spread)


def _rungs(stage: Stage, level: int, answered: Sequence[Answered]) -> Rungs:
    subject = stage.subject
    keys = [key for key in subject.task_keys(_num_played(stage)) if key.level == level]
    blind = [_earned(stage, key, _another(answered, key)) for key in keys]
    shortcut = max((statistics.fmean(found) for found in _shortcuts(stage, keys).values()), default=0.0)
    search = [max([0.0, *(_earned(stage, key, guess) for guess in _guesses(stage, answered, key))]) for key in keys]
    slipping = [chance_of_slipping_through(one) for one in answered]
    spreads = [statistics.pstdev(found) / math.sqrt(len(found)) for found in (blind, search, slipping)]
    return Rungs(
        level,
        statistics.fmean(blind),
        shortcut,
        statistics.fmean(search),
        statistics.fmean(slipping),
        math.hypot(*spreads) / 4,
    )


def chance_of_slipping_through(one: Answered) -> float:
    """Return the chance that a solver who knows the solution reads, writes and keeps the thread without a slip."""
    shown = f"{one.task.prompt}\n{public_text(one.task.public)}".encode("utf-8", "surrogatepass")
    read = _packed(shown)
    written = max(0, _packed(shown[-30_000:] + one.whole.encode("utf-8", "surrogatepass")) - _packed(shown[-30_000:]))
    slips = MISREAD * read + MISWRITTEN * written + LOST_THREAD * (len(one.actions) - 1)
    return math.exp(-slips)


def _packed(data: bytes) -> int:
    return len(zlib.compress(data, 9))


def _another(answered: Sequence[Answered], key: TaskKey) -> tuple[str, ...]:
    return answered[(key.seed + 1) % len(answered)].actions if len(answered) > 1 else ()


def _shortcuts(stage: Stage, keys: Sequence[TaskKey]) -> dict[str, list[float]]:
    earned: dict[str, list[float]] = {}
    for key in keys:
        for attempt in stage.subject.domain.shortcuts(stage.task(key)):
            earned.setdefault(attempt.name, []).append(_earned(stage, key, attempt.actions))
    return earned


def _guesses(stage: Stage, answered: Sequence[Answered], key: TaskKey) -> Iterator[tuple[str, ...]]:
    """Yield other tasks' answers with their numbers and words replaced by some of this prompt's."""
    rng = child("inspect ladder", key.domain_id, key.level, key.seed)
    task = stage.task(key)
    tokens = _tokens(f"{task.prompt}\n{public_text(task.public)}"[:20_000])
    numbers = [token for token in tokens if token.isdigit()]
    words = [token for token in tokens if token.isalpha()]
    others = [one for one in answered if one.task.seed != key.seed]
    for _ in range((NUM_SANDBOX_TRIES if stage.subject.costly else NUM_TRIES) if others else 0):
        *before, last = others[int(rng.integers(len(others)))].actions
        yield (*before, _filled(last, numbers, words, rng))


def _filled(action: str, numbers: Sequence[str], words: Sequence[str], rng: np.random.Generator) -> str:
    """Return `action` with each number, and now and then a word, replaced by one of the prompt's."""
    parts = []
    for token in _split(action):
        pool = numbers if token.isdigit() else words if token.isalpha() and rng.random() < 0.1 else ()
        parts.append(pool[int(rng.integers(len(pool)))] if pool else token)
    return "".join(parts)


def _tokens(text: str) -> list[str]:
    return [token for token in _split(text) if token.isalnum()]


def _split(text: str) -> list[str]:
    return re.findall(r"\d+|[A-Za-z]+|[^A-Za-z\d]+", text)


def _earned(stage: Stage, key: TaskKey, actions: tuple[str, ...]) -> float:
    return max(0.0, stage.play(key, actions).reward)


def _num_played(stage: Stage) -> int:
    return NUM_SANDBOX_PLAYED if stage.subject.costly else NUM_PLAYED
