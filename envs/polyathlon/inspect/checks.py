"""Every check there is, in the order in which they run. A certificate is bound to all that is imported here."""

from __future__ import annotations

from polyathlon.inspect import ambient, blindness, difficulty, lint, restraint, rewards, survival
from polyathlon.inspect.attacks import fuzz, guessing, hacks, impossible, privilege
from polyathlon.inspect.check import Check
from polyathlon.inspect.cost import noise, residue, speed
from polyathlon.inspect.depth import Depth
from polyathlon.inspect.leaks import canaries, feedback, shown, surface
from polyathlon.inspect.mutants import checks as mutants
from polyathlon.inspect.promises import coverage, failures, parts, second, verdicts
from polyathlon.inspect.repeats import episodes, generation, replays
from polyathlon.inspect.space import answers, likeness, size

CHECKS: tuple[Check, ...] = (
    Check(("C01",), parts.check_parts),
    Check(("C05",), lint.check_lint, cost="static"),
    Check(("S01",), rewards.check_reference, source="reference"),
    Check(("S04",), rewards.check_alternatives, source="rewrite"),
    Check(("V06",), mutants.check_rewrites, source="rewrite"),
    Check(("V04",), rewards.check_distractors, source="mutant"),
    Check(("X01",), hacks.check_exploits, source="attack"),
    Check(("N01", "N02", "N03"), blindness.check_blind, source="blind"),
    Check(("N04",), restraint.check_restraint, source="blind"),
    Check(("N05",), guessing.check_shortcuts, source="blind"),
    Check(("C03",), survival.check_hostile, source="attack"),
    Check(("C04",), failures.check_failures),
    Check(("S03",), second.check_second_solver),
    Check(("S05",), coverage.check_coverage),
    Check(("V02",), mutants.check_answers, source="mutant"),
    Check(("V01",), mutants.check_solutions, source="mutant"),
    Check(("V03",), mutants.check_credit, source="mutant"),
    Check(("X02",), impossible.check_impossible),
    Check(("X04",), fuzz.check_fuzz, source="attack"),
    Check(("U01",), size.check_unique),
    Check(("U02",), size.check_size),
    Check(("U03",), size.check_splits),
    Check(("U04",), answers.check_answers),
    Check(("U05",), likeness.check_likeness),
    Check(("L01",), shown.check_shown),
    Check(("L03",), surface.check_surface),
    Check(("L04",), feedback.check_feedback),
    Check(("Q01",), difficulty.check_ladder),
    Check(("D02",), rewards.check_repeats),
    Check(("C02",), verdicts.check_verdicts),
    Check(("R01",), speed.check_speed),
    Check(("R03",), noise.check_noise),
    Check(("X03",), privilege.check_privilege, cost="sandbox"),
    Check(("L02",), canaries.check_canaries, cost="sandbox"),
    Check(("S02",), replays.check_honest_reference, cost="sandbox"),
    Check(("D05", "D06"), ambient.check_ambient),
    # after all episodes: they see whether one of them changed its task
    Check(("D01",), generation.check_generation),
    Check(("D04",), episodes.check_episodes),
    # in processes of their own
    Check(("D03",), replays.check_dates, cost="sandbox"),
    Check(("R02",), residue.check_residue, cost="sandbox"),
)


def checks_of(depth: Depth) -> tuple[Check, ...]:
    """Return the checks that run at `depth`, in order."""
    return tuple(check for check in CHECKS if check.tier <= depth.tier)


def check_of(rule: str) -> Check:
    """Return the check that answers `rule`.

    Raises:
        KeyError: none does.

    """
    return {answered: check for check in CHECKS for answered in check.answers}[rule]
