"""The generators of reasoning-gym as domains: items by seed alone, and verdicts that are the library's own."""

import importlib.metadata
import importlib.util
import random  # noqa: TID251  # to see that a generator leaves ours alone
from collections.abc import Iterator
from pathlib import Path

import pytest

from polyathlon.catalog import read_catalog
from polyathlon.domain import Evidence, Task
from polyathlon.drawing import TaskKey, draw_task
from polyathlon.env import judge_evidence
from polyathlon.errors import RegistryError, TaskError, UnknownDomain, VerifierError
from polyathlon.sandbox.choose import default_room
from polyathlon_domains.bridges.commands import import_domains
from polyathlon_domains.bridges.reasoning_gym import attempts, generators, serving
from polyathlon_domains.bridges.reasoning_gym.catalogue import chosen, full_id, write_catalogue
from polyathlon_domains.bridges.reasoning_gym.domain import TheirVerifier, domain_of
from polyathlon_domains.bridges.reasoning_gym.importing import require_library
from polyathlon_domains.bridges.reasoning_gym.probe import guessing, probe
from polyathlon_domains.bridges.reasoning_gym.theirs import Generator, Theirs, known_generators

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("reasoning_gym") is None, reason="needs the extra reasoning-gym"
)


@pytest.fixture(scope="module")
def library() -> Iterator[Theirs]:
    library = Theirs()
    yield library
    library.close()


def task_of(generator: str, level: int = 0, seed: int = 0) -> Task:
    return draw_task(domain_of(generator).tasks, TaskKey(f"reasoning-gym/any.{generator}-v1", level, seed))


def reward(generator: str, answer: str | None, *, task: Task | None = None) -> float | None:
    verdict, _ = judge_evidence(domain_of(generator), task or task_of(generator), Evidence(answer), default_room())
    return verdict.reward


def test_all_but_the_mixer_are_there_with_levels_of_their_curricula() -> None:
    known = known_generators()
    assert len(known) >= 100
    assert "composite" not in known
    assert known["gcd"].levels == 4
    assert known["gsm_symbolic"].levels == 1
    assert known["knight_swap"].levels == 1
    assert set(known["knight_swap"].broken_levels.values()) == {"AssertionError: min_nodes must be >= 6"}


def test_one_key_is_one_item_whatever_was_drawn_between(library: Theirs) -> None:
    first = library.item("list_functions", 0, 13)
    for name in ("codeio", "pool_matrix", "gcd", "isomorphic_strings"):
        library.item(name, 0, 5)
    assert library.item("list_functions", 0, 13) == first
    with_another = Theirs()
    assert with_another.item("list_functions", 0, 13) == first
    with_another.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(generators.READ_ONCE))
def test_a_generator_that_is_made_once_gives_what_a_fresh_one_gives(library: Theirs, name: str) -> None:
    levels = range(known_generators()[name].levels)
    used = [library.item(name, level, 7) for level in levels]
    fresh = []
    for level in levels:
        other = Theirs()
        fresh.append(other.item(name, level, 7))
        other.close()
    assert used == fresh


def test_levels_of_a_generator_do_not_get_into_each_other(library: Theirs) -> None:
    """The tasks of codeio's level made last stand on the class, for all levels."""
    first = library.item("codeio", 0, 7)
    library.item("codeio", 1, 7)
    assert library.item("codeio", 0, 7) == first


def test_a_seed_that_the_generator_gives_up_at_is_passed_over(library: Theirs) -> None:
    with pytest.raises(TaskError, match="Failed to generate a capture problem"):
        library.item("tsumego", 1, 2078)
    assert task_of("tsumego", level=1).prompt


def test_our_own_random_numbers_are_left_alone() -> None:
    random.seed(3)
    task_of("pool_matrix", seed=1)
    drawn = random.random()
    random.seed(3)
    assert random.random() == drawn


def test_the_right_answer_passes_and_their_partial_score_is_halved() -> None:
    task = task_of("gcd")
    gold = attempts.right_answer(task)
    assert gold is not None
    assert reward("gcd", gold, task=task) == 1.0
    assert reward("gcd", f"{gold}{' ' * len(gold)}", task=task) == 0.25  # they give half for an answer twice as long
    assert reward("gcd", "x", task=task) == 0.0


def test_their_verifier_is_asked_about_no_answer_too() -> None:
    assert reward("gcd", None) == 0.0


def test_a_verifier_that_raises_gives_no_reward_and_works_on() -> None:
    task = task_of("prime_factorization")
    assert reward("prime_factorization", "I do not know", task=task) is None
    assert reward("prime_factorization", attempts.right_answer(task), task=task) == 1.0


def test_an_answer_that_runs_as_a_program_gives_no_reward() -> None:
    with pytest.raises(VerifierError, match=r"ran as a program: os\.system"):
        TheirVerifier("puzzle24").judge(
            task_of("puzzle24"), Evidence('__import__("os").system("true")'), default_room()
        )


def test_an_answer_that_ends_their_process_gives_no_reward_and_the_next_is_judged() -> None:
    task = task_of("puzzle24")
    with pytest.raises(VerifierError, match=r"ended its process \(exit code 3\)"):
        TheirVerifier("puzzle24").judge(task, Evidence('__import__("os")._exit(3)'), default_room())
    assert reward("puzzle24", attempts.right_answer(task), task=task) == 1.0


@pytest.mark.slow
def test_an_answer_that_never_ends_gives_no_reward() -> None:
    with pytest.raises(VerifierError, match=rf"{serving.CPU_LIMIT_S:g} s of CPU|MemoryError|signal"):
        TheirVerifier("puzzle24").judge(task_of("puzzle24"), Evidence("9**9**9**9"), default_room())


class Scored(Theirs):
    """A library whose verifier gives what it is told to."""

    def __init__(self, found: float) -> None:
        super().__init__()
        self.found = found

    def score(self, name: str, level: int, answer: str | None, item: object) -> float:
        return self.found


@pytest.mark.parametrize(
    ("found", "wanted"),
    [(1.0, 1.0), (1.0 - 1e-12, 1.0), (0.99, 0.495), (0.01, 0.005), (0.0, 0.0), (1.5, None), (-0.1, None)],
)
def test_scores_become_rewards(monkeypatch: pytest.MonkeyPatch, found: float, wanted: float | None) -> None:
    task = task_of("gcd")
    monkeypatch.setattr("polyathlon_domains.bridges.reasoning_gym.domain.theirs", lambda: Scored(found))
    got = reward("gcd", "1", task=task)
    assert got == (None if wanted is None else pytest.approx(wanted))


def test_a_number_near_is_no_wrong_answer_where_many_are_right() -> None:
    kinds = {attempt.name for attempt in attempts.distractors(task_of("countdown"))}
    assert "the last number plus one" not in kinds
    assert "the target itself, though all numbers must be used" in kinds
    assert attempts.proves_right(task_of("countdown"), ("1 + 1",))


def test_another_way_to_write_the_right_answer_is_no_mutant() -> None:
    task = task_of("gcd")
    gold = attempts.right_answer(task)
    assert attempts.proves_right(task, (f"{gold}.0",))
    assert not attempts.proves_right(task, (f"-{gold}",))


def test_an_example_in_the_metadata_stands_in_for_a_missing_answer() -> None:
    for name in ("graph_color", "propositional_logic"):
        task = task_of(name)
        assert reward(name, attempts.right_answer(task), task=task) == 1.0


def test_guessing_is_the_share_of_the_most_frequent_answer_where_there_is_one() -> None:
    assert guessing([{"answer": "True"}] * 4) == 1.0
    assert guessing([{"answer": "yes"}] * 12 + [{"answer": str(k)} for k in range(36)]) == 0.3125  # 1/4 and 1/16 more
    assert guessing([{"answer": str(k)} for k in range(10)]) == 0.0


def test_the_floor_holds_what_any_text_is_paid_and_the_probe_sees_what_the_bridge_hides(library: Theirs) -> None:
    assert probe(library, known_generators()["sentence_reordering"]).floor == 0.025
    gcd = probe(library, known_generators()["gcd"])
    assert gcd.line_feed_costs == 1.0
    assert gcd.changes_item == 0.0


def test_the_catalogue_is_one_that_the_registry_reads(tmp_path: Path) -> None:
    known = known_generators()
    path = tmp_path / "registry.yaml"
    write_catalogue(path, [(known["n_queens"], 0.0), (known["gcd"], 0.125)])
    first, second = read_catalog(path, owner="test").rows
    assert (first.id, first.floor, first.levels) == ("arithmetic.gcd-v1", 0.125, 4)
    assert second.load == "polyathlon_domains.bridges.reasoning_gym.load:n_queens"
    assert second.install == "polyathlon[reasoning-gym]"


def test_patterns_choose_generators() -> None:
    known = known_generators()
    assert [one.name for one in chosen(known, "sudoku,gcd")] == ["gcd", "mini_sudoku", "sudoku"]
    assert [one.name for one in chosen(known, "sudok?")] == ["sudoku"]
    assert len(chosen(known, "")) == len(known)
    assert full_id(chosen(known, "reasoning-gym/games.sudoku")[0]) == "reasoning-gym/games.sudoku-v1"


def test_an_unknown_pattern_suggests_the_nearest() -> None:
    with pytest.raises(UnknownDomain, match=r"Did you mean sudoku\?"):
        chosen(known_generators(), "sudokku")


def test_an_unknown_library_suggests_the_one_there_is() -> None:
    with pytest.raises(RegistryError, match=r"Did you mean reasoning-gym\?"):
        import_domains("reasoning_gym")


def test_a_missing_library_is_told_with_the_line_for_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    with pytest.raises(RegistryError, match=r"pip install 'polyathlon\[reasoning-gym\]'"):
        require_library()


def test_another_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "9.9.9")
    with pytest.raises(RegistryError, match=r"9\.9\.9 is installed"):
        require_library()


def test_a_generator_has_levels_that_work() -> None:
    sparse = [
        name for name, one in known_generators().items() if not 1 <= one.levels <= 5 or not isinstance(one, Generator)
    ]
    assert sparse == []
