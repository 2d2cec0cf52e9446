"""Pages that are written by a program, or that repeat what code says, are those of the code as it is."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_domains_is_that_of_the_registry() -> None:
    from polyathlon.catalog import read_catalog

    rows = read_catalog(ROOT / "registry.yaml", owner="polyathlon").rows
    written: str = load(DOCS / "make_domains.py").page(rows)
    assert (DOCS / "domains.md").read_text(encoding="utf-8") == written, "run python docs/make_domains.py"


def test_the_table_of_settings_is_that_of_the_schema() -> None:
    page = (DOCS / "training.md").read_text(encoding="utf-8")
    assert load(DOCS / "make_settings.py").written(page) == page, "run python docs/make_settings.py"


def test_the_settings_are_all_there_with_their_defaults() -> None:
    page = (DOCS / "training.md").read_text(encoding="utf-8")
    assert "| `rl.group_size` | integer from 2 | `8` |" in page
    assert "| `budget_minutes` | number above 0, or null | none |" in page
    assert '| `rl.scale` | `batch`, `domain`, `group`, `none`, `rank` | `"domain"` |' in page


def test_the_page_on_training_gives_the_constants_of_the_code() -> None:
    from polyathlon_trainer import reinforce, scheduler, sft, stages
    from polyathlon_trainer.curriculum import across
    from polyathlon_trainer.learning.recipe import HF_RECIPE, Recipe, TrustRules
    from polyathlon_trainer.rewards import advantage, scale

    page = " ".join((DOCS / "training.md").read_text(encoding="utf-8").split())
    words = {3: "three", 6: "six", 8: "eight", 9: "nine"}
    for said in (
        f"a usual run of {words[int(stages.USUAL_MINUTES)]} minutes",
        f"a budget of {stages.DEFAULT_BUDGET_MINUTES} minutes",
        f"gets {stages.MIN_RL_S:g} seconds at least",
        f"The **yield {scheduler.LEAST_YIELD} rule**",
        f"shrunk toward one half by {words[int(scheduler.PRIOR_GROUPS)]} groups",
        f"a memory of {scheduler.MEMORY_GROUPS_PER_DOMAIN:,.0f} groups a domain",
        f"cut to [-{advantage.CLIP:g}, {advantage.CLIP:g}]",
        f"at least {advantage.SCALE_FLOOR}",
        f"({scale.DECAY} a group) shrunk toward {scale.PRIOR_RMS} by {words[int(scale.PRIOR_GROUPS)]} groups",
        f"within [0.5, {across.CEILING:g}] times the registry's share",
        f"after {words[sft.MAX_MISSES]} in a row its level is given up",
        f"{words[reinforce.MAX_EMPTY_BATCHES].capitalize()} batches in a row",
        f"| SFT learning rate | {Recipe().sft_rate:g} (AdamW), {Recipe().sft_matrix_rate} for the matrices (Muon) | "
        f"{HF_RECIPE.sft_rate:.4f} (AdamW) |",
        f"| RL learning rate | {Recipe().rl_rate:.4f} (AdamW) | {HF_RECIPE.rl_rate:.5f} (AdamW) |",
        f"| {Recipe().completions_per_group} | {HF_RECIPE.completions_per_group} |",
        f"climb over {words[Recipe().rl_warmup_steps]} steps",
        f"is cut at {TrustRules().cap:g}",
        f"by more than {TrustRules().max_move} in the direction",
    ):
        assert said in page, said


def inspection_rows(columns: int) -> list[list[str]]:
    lines = (DOCS / "inspection.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    return [row for row in rows if len(row) == columns and row[0] not in ("---", "check", "grade", "planted fault")]


def test_the_tables_of_checks_are_those_of_the_rules() -> None:
    page = (DOCS / "inspection.md").read_text(encoding="utf-8")
    assert load(DOCS / "make_checks.py").written(page) == page, "run python docs/make_checks.py"


def test_the_page_on_inspection_names_every_check_with_its_thresholds() -> None:
    from polyathlon.inspect.checks import CHECKS

    rows = {row[0].split()[0]: row[2:] for row in inspection_rows(7)}
    assert set(rows) == {rule for check in CHECKS for rule in check.answers}
    assert rows["U01"] == ["≥ 0.98", "≥ 0.95", "≥ 0.8", "quarantine", "1"]
    assert rows["C05"] == ["≤ 0", "≤ 0", "", "bronze", "0"]


def test_the_page_on_inspection_names_every_planted_fault_and_its_check() -> None:
    faults: dict[str, Any] = load(ROOT / "tests" / "envs" / "inspect" / "test_planted_faults.py").FAULTS
    rows = {row[0].split("`")[1]: row[1] for row in inspection_rows(2) if row[0].startswith("`")}
    assert rows == faults


def test_the_page_on_inspection_names_every_grade_and_every_part_of_a_certificate() -> None:
    import polyathlon
    from polyathlon.inspect.binding import bind
    from polyathlon.inspect.closure import Sources
    from polyathlon.inspect.grade import Grade

    grades = [row[0] for row in inspection_rows(2) if not row[0].startswith("`")]
    assert grades == [grade.word for grade in sorted(Grade, reverse=True)]
    parts = bind(next(iter(polyathlon.registry().entries.values())), (), Sources()).parts
    assert {row[0] for row in inspection_rows(3)} - {"part"} == set(parts)


def test_the_page_on_inspection_gives_the_numbers_of_the_code() -> None:
    from polyathlon.inspect import blindness, depth, play, rewards, survival
    from polyathlon.inspect.attacks import fuzz
    from polyathlon.inspect.cost import speed
    from polyathlon.inspect.hostile import hostile_texts
    from polyathlon.inspect.leaks import readings
    from polyathlon.inspect.mutants import checks as mutants
    from polyathlon.inspect.space import likeness, survey

    page = " ".join((DOCS / "inspection.md").read_text(encoding="utf-8").split())
    num_hostile = sum(1 for _ in hostile_texts())
    for said in (
        f"# {depth.PROOF_SEEDS} tasks a level",
        f"# {depth.SMOKE_SEEDS} tasks a level",
        f"first {play.NUM_ATTEMPT_SEEDS} of a level",
        f"first {depth.PROOF_SEEDS // play.SANDBOX_ATTEMPTS_ONE_IN} of {depth.PROOF_SEEDS}:",
        f"at least {rewards.MIN_REFERENCES} tasks in all",
        f"fewer than {rewards.MIN_DISTRACTORS} kinds",
        f"fewer than {rewards.MIN_EXPLOITS} kinds",
        f"there are {blindness.MIN_FOR_BOUND} cases or more",
        f"no more than {blindness.MAX_UPPER_BOUND} above it",
        f"over {survival.HOSTILE_CPU_S:g} s of CPU, or {survival.HOSTILE_WALL_S:g} s on the clock",
        f"{num_hostile} texts",
        f"{survey.NUM_DRAWS:,} train draws",
        f"{survey.DRAWS_A_SEED} a seed",
        f"the first {survey.NUM_SANDBOX_RENDERED['train']} of them",
        f"shorter than {readings.MIN_CHARS} characters",
        f"{likeness.SHINGLE_CHARS}-character shingles at {likeness.NEAR} or more",
        f"{fuzz.MAX_TRIES:,} a level",
        f"Gold needs {mutants.MIN_SOLUTIONS} mutants",
        f"{speed.LIMIT_S:g} s of CPU; {speed.SANDBOX_LIMIT_S:g} s on the clock",
    ):
        assert said in page, said


def test_links_between_pages_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
