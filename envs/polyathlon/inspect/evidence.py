"""The checks of leaks, repeats, space, promises, difficulty and cost, by the rule that each answers, in running order.

What plays or judges most comes last but for two: what looks for tasks that an episode changed, and what runs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polyathlon.inspect.cost.noise import check_noise
from polyathlon.inspect.cost.residue import check_residue
from polyathlon.inspect.cost.speed import check_speed
from polyathlon.inspect.difficulty import check_ladder
from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.leaks.canaries import check_canaries
from polyathlon.inspect.leaks.feedback import check_feedback
from polyathlon.inspect.leaks.shown import check_shown
from polyathlon.inspect.leaks.surface import check_surface
from polyathlon.inspect.play import Stage
from polyathlon.inspect.promises.coverage import check_coverage
from polyathlon.inspect.promises.failures import check_failures
from polyathlon.inspect.promises.parts import check_parts
from polyathlon.inspect.promises.second import check_second_solver
from polyathlon.inspect.promises.verdicts import check_verdicts
from polyathlon.inspect.repeats.episodes import check_episodes
from polyathlon.inspect.repeats.generation import check_generation
from polyathlon.inspect.repeats.replays import check_dates, check_honest_reference
from polyathlon.inspect.space.answers import check_answers
from polyathlon.inspect.space.likeness import check_likeness
from polyathlon.inspect.space.size import check_size, check_splits, check_unique

EVIDENCE: Mapping[str, Callable[[Stage], CheckResult]] = {
    "C01": check_parts,
    "C02": check_verdicts,
    "C04": check_failures,
    "S02": check_honest_reference,
    "S03": check_second_solver,
    "S05": check_coverage,
    "U01": check_unique,
    "U02": check_size,
    "U03": check_splits,
    "U04": check_answers,
    "U05": check_likeness,
    "L01": check_shown,
    "L02": check_canaries,
    "L03": check_surface,
    "L04": check_feedback,
    "Q01": check_ladder,
    "R01": check_speed,
    "R03": check_noise,
    "D01": check_generation,
    "D04": check_episodes,
    "D03": check_dates,
    "R02": check_residue,
}
