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

Two levels are told apart by what was played (the first three rungs together) where it differs beyond its interval, or
by slips where one has twice the other's: the three chances above are round numbers, and orders of effort that hang on
them are none. Of a domain in a sandbox so few tasks are played that their interval is not known: there only slips tell.
What nobody tells apart is a tie, and no evidence of disorder.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polyathlon.drawing import TaskKey
from polyathlon.inspect.finding import WHOLE, CheckResult, measured
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.intervals import Z_95
from polyathlon.inspect.play import Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.space.survey import Answered, answered_of, public_text
from polyathlon.inspect.tally import Tally
from polyathlon.seeding import child

MISREAD, MISWRITTEN, LOST_THREAD = 1 / 5_000, 1 / 100, 1 / 20
MAX_KNOWN_BYTES = 30_000
NUM_PLAYED, NUM_SANDBOX_PLAYED = 16, 2
NUM_TRIES, NUM_SANDBOX_TRIES = 8, 2
MIN_PLAYED = 8
"""How many tasks must be played of a level for their spread to be known."""
MIN_RATIO = 2.0
"""How many times the slips of one level those of another must be, to tell the two apart."""


@dataclass(frozen=True, slots=True)
class Rungs:
    """What each solver of the ladder reaches at one level.

    `spread` is the standard error of what was played on `num_played` tasks, blind + shortcut + search; `slips` is the
    mean number expected; `slipping_error` is the standard error of `slipping`.
    """

    level: int
    blind: float
    shortcut: float
    search: float
    slipping: float
    spread: float
    slips: float
    slipping_error: float
    num_played: int = NUM_PLAYED

    @property
    def score(self) -> float:
        """The mean of the rungs: higher is easier."""
        return (self.blind + self.shortcut + self.search + self.slipping) / 4

    @property
    def error(self) -> float:
        """The standard error of the score."""
        return math.hypot(self.spread, self.slipping_error) / 4

    @property
    def played(self) -> float:
        """What the played rungs reach together."""
        return self.blind + self.shortcut + self.search


def check_ladder(stage: Stage) -> CheckResult:
    """Q01: of the pairs of levels that the ladder tells apart, the share in order against that out of order.

    -1: each is in order. Where it tells none apart, the ends decide, beyond sampling: a last level above the first is
    out of order, one that may be the same is silver, and one below it leaves the question to a model: not applicable.
    """
    num_levels = stage.subject.entry.row.levels
    if num_levels < 2:
        return CheckResult("Q01", not_applicable="there is one level")
    levels = [_rungs(stage, level, answered) for level, answered in enumerate(answered_of(stage)) if answered]
    if len(levels) < num_levels:
        return CheckResult("Q01")
    numbers = {
        f"{rung}_{rungs.level}": getattr(rungs, rung)
        for rungs in levels
        for rung in ("blind", "shortcut", "search", "slipping", "score")
    }
    pairs = [*itertools.combinations(levels, 2)]
    z = z_of_many(len(pairs))
    told = {(one.level, other.level): order_of(one, other, z) for one, other in pairs}
    told = {pair: order for pair, order in told.items() if order}
    cases = sum(map(len, answered_of(stage)))
    scores = ", ".join(f"{rungs.score:.3f}" for rungs in levels)
    tally = Tally("Q01", num_levels)
    if told:
        for low, high in (pair for pair, order in told.items() if order > 0):
            text = f"levels do not get harder in order: level {high} is easier than level {low}; scores {scores}."
            tally.fault(high, 0, f"{text} Reorder the levels, or deepen them.")
        value = sum(told.values()) / len(told)
        return tally.result((measured(RULES["Q01"], WHOLE, value, cases),), numbers)
    end = order_of_ends(levels[0], levels[-1])
    if end < 0:
        text = f"no rung tells levels apart (scores {scores}): whether they get harder, only a model can say"
        return CheckResult("Q01", numbers=numbers, not_applicable=text)
    found = "is easier than" if end else "may be the same as"
    tally.fault(num_levels - 1, 0, f"the last level {found} the first: scores {scores}. Reorder or deepen the levels.")
    whole = measured(RULES["Q01"], WHOLE, float(end), cases)
    return tally.result((whole if end else replace(whole, grade=Grade.SILVER),), numbers)


def z_of_many(num_pairs: int) -> float:
    """Return how many standard errors apart is beyond chance at 5% over all of `num_pairs` comparisons (Bonferroni)."""
    return statistics.NormalDist().inv_cdf(1.0 - 0.025 / num_pairs)


def order_of(low: Rungs, high: Rungs, z: float) -> int:
    """Return -1 where the ladder finds `high` the harder level, 1 where the easier one, 0 where it does not tell."""
    found = {_by_play(low, high, z), _by_effort(low, high)} - {0}
    return found.pop() if len(found) == 1 else 0


def order_of_ends(first: Rungs, last: Rungs) -> int:
    """Return -1 where the last level's score is below the first's beyond sampling, 1 where above, 0 where neither."""
    gap = last.score - first.score
    return 0 if abs(gap) <= Z_95 * math.hypot(first.error, last.error) else 1 if gap > 0 else -1


def _by_play(low: Rungs, high: Rungs, z: float) -> int:
    if min(low.num_played, high.num_played) < MIN_PLAYED:
        return 0
    gap = high.played - low.played
    return 0 if abs(gap) <= z * math.hypot(low.spread, high.spread) else 1 if gap > 0 else -1


def _by_effort(low: Rungs, high: Rungs) -> int:
    if high.slips >= MIN_RATIO * low.slips:
        return -1
    return 1 if low.slips >= MIN_RATIO * high.slips else 0


def _rungs(stage: Stage, level: int, answered: Sequence[Answered]) -> Rungs:
    subject = stage.subject
    keys = [key for key in subject.task_keys(_num_played(stage)) if key.level == level]
    blind = [_earned(stage, key, _another(answered, key)) for key in keys]
    shortcut = max(_shortcuts(stage, keys), key=statistics.fmean, default=[0.0])
    search = [max([0.0, *(_earned(stage, key, guess) for guess in _guesses(stage, answered, key))]) for key in keys]
    slips = [expected_slips(one) for one in answered]
    chances = [math.exp(-each) for each in slips]
    return Rungs(
        level,
        blind=statistics.fmean(blind),
        shortcut=statistics.fmean(shortcut),
        search=statistics.fmean(search),
        slipping=statistics.fmean(chances),
        spread=math.hypot(*map(_error, (blind, shortcut, search))),
        slips=statistics.fmean(slips),
        slipping_error=_error(chances),
        num_played=len(keys),
    )


def _error(found: Sequence[float]) -> float:
    """Return the standard error of a mean."""
    return statistics.pstdev(found) / math.sqrt(len(found))


def expected_slips(one: Answered) -> float:
    """Return how often a solver who knows the solution misreads, miswrites or loses the thread, on average."""
    shown = f"{one.task.prompt}\n{public_text(one.task.public)}".encode("utf-8", "surrogatepass")
    read = _packed(shown)
    written = _packed(one.whole.encode("utf-8", "surrogatepass"), known=shown[-MAX_KNOWN_BYTES:])
    return MISREAD * read + MISWRITTEN * written + LOST_THREAD * (len(one.actions) - 1)


def _packed(data: bytes, *, known: bytes = b"") -> int:
    """Return how many bytes of `data` are left once what it repeats of itself, and of `known`, is taken out.

    The codes are fixed ones: those that fit a short text best change by bytes with a letter, and tell nothing.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, 9, zlib.Z_FIXED, known)
    return len(packer.compress(data) + packer.flush())


def _another(answered: Sequence[Answered], key: TaskKey) -> tuple[str, ...]:
    return answered[(key.seed + 1) % len(answered)].actions if len(answered) > 1 else ()


def _shortcuts(stage: Stage, keys: Sequence[TaskKey]) -> list[list[float]]:
    """Return what each of the domain's heuristics earns on every task: nothing where it knows none to try."""
    earned: dict[str, dict[TaskKey, float]] = {}
    for key in keys:
        for attempt in stage.subject.domain.shortcuts(stage.task(key)):
            earned.setdefault(attempt.name, {})[key] = _earned(stage, key, attempt.actions)
    return [[found.get(key, 0.0) for key in keys] for found in earned.values()]


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
