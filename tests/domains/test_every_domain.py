"""What every domain of the registry must hold, present and future."""

from typing import Any

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

import polyathlon
from polyathlon.drawing import TaskKey
from polyathlon.inspect.lint import lint_domain
from polyathlon.inspect.play import Stage, Subject
from polyathlon.inspect.promises.failures import check_failures
from polyathlon.sandbox.choose import default_room

IDS = list(polyathlon.registry().entries)


def subject(domain_id: str) -> Subject:
    return Subject(polyathlon.registry().entry(domain_id), polyathlon.load_domain(domain_id), default_room(), 1)


@pytest.mark.parametrize("domain_id", IDS)
def test_gymnasium_finds_nothing_to_complain_about(domain_id: str) -> None:
    env = gym.make(domain_id)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("domain_id", IDS)
def test_the_reference_passes_at_every_level(domain_id: str) -> None:
    row = polyathlon.registry().entry(domain_id).row
    with Stage(subject(domain_id)) as stage:
        for level in range(row.levels):
            played = stage.solve(TaskKey(domain_id, level, 20_000 + level))
            assert played.verdict.passed, played
            assert len(played.actions) <= row.max_turns


@pytest.mark.parametrize("domain_id", IDS)
def test_shaped_steps_sum_to_the_verdicts_reward(domain_id: str) -> None:
    env = gym.make(domain_id, shaping=True).unwrapped
    env.reset(seed=5)
    script = polyathlon.load_domain(domain_id).solve(env.task)  # type: ignore[attr-defined]
    action, total, ended = next(script), 0.0, False
    info: dict[str, Any] = {}
    while not ended:
        text, reward, terminated, truncated, info = env.step(action)
        total, ended = total + float(reward), terminated or truncated
        if not ended:
            action = script.send(polyathlon.Observation(text, error=info["error"]))
    env.close()
    assert total == pytest.approx(info["verdict"]["reward"])
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize("domain_id", [each for each in IDS if not polyathlon.registry().entry(each).row.needs])
def test_without_a_part_of_its_answer_key_a_verifier_gives_no_verdict(domain_id: str) -> None:
    with Stage(subject(domain_id)) as stage:
        assert check_failures(stage).faults == ()


@pytest.mark.parametrize("domain_id", IDS)
def test_the_verifiers_source_is_free_of_known_traps(domain_id: str) -> None:
    assert [smell.text for smell in lint_domain(polyathlon.load_domain(domain_id))] == []
