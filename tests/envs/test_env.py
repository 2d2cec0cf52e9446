import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

import polyathlon
from polyathlon.env import DomainEnv
from polyathlon.errors import EpisodeLost, RegistryError
from polyathlon.spaces import TextSpace

ROOT = Path(__file__).parents[2]
ID = "polyathlon/math.arithmetic-expression-v1"


def right_answer(env: gym.Env[str, str]) -> str:
    task = env.unwrapped.task  # type: ignore[attr-defined]
    return str(task.hidden["value"])


def test_both_forms_of_make_give_the_same_task() -> None:
    one = gym.make(ID, level=2).reset(seed=3)
    other = gym.make(f"polyathlon:{ID}", level=2).reset(seed=3)
    assert one == other


def test_gymnasium_finds_nothing_to_complain_about() -> None:
    check_env(gym.make(ID).unwrapped, skip_render_check=True)


def test_the_reward_comes_at_the_end_with_its_verdict() -> None:
    env = gym.make(ID)
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step(right_answer(env))
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["verdict"]["passed"]
    assert info["valid"]


def test_the_record_of_the_sandbox_goes_with_the_episode_and_not_into_info() -> None:
    env = DomainEnv("polyathlon/terminal.log-triage-v1")
    infos = [env.reset(seed=1)[1]]
    before = env.sandbox_record
    assert before is None
    infos.append(env.step("```bash\nls\n```")[4])
    infos.append(env.step('<tool_call>{"name": "submit", "arguments": {"answer": "?"}}</tool_call>')[4])
    record = env.sandbox_record
    assert record is not None
    assert json.loads(json.dumps(record.as_dict()))["layers"] == []
    assert record.kernel not in str(infos)
    env.reset(seed=2)
    after = env.sandbox_record
    assert after is None
    env.close()


def test_a_step_before_reset_and_after_the_end_asks_for_a_reset() -> None:
    env = DomainEnv(ID)
    with pytest.raises(gym.error.ResetNeeded):
        env.step("1")
    env.reset(seed=1)
    env.step("1")
    with pytest.raises(gym.error.ResetNeeded):
        env.step("1")
    env.close()
    env.close()


def test_reset_options_hold_for_one_episode() -> None:
    env = DomainEnv(ID, level=1)
    assert env.reset(seed=1, options={"level": 4, "split": "test"})[1]["level"] == 4
    assert env.reset(seed=1)[1]["level"] == 1
    with pytest.raises(ValueError, match=r"Did you mean level\?"):
        env.reset(seed=1, options={"levle": 1})
    with pytest.raises(ValueError, match="levels 0 to 4"):
        env.reset(seed=1, options={"level": 5})
    with pytest.raises(ValueError, match="split is 'dev'"):
        DomainEnv(ID, split="dev")  # type: ignore[arg-type]


def test_an_action_that_is_no_text_is_refused() -> None:
    env = DomainEnv(ID)
    env.reset(seed=1)
    with pytest.raises(gym.error.InvalidAction):
        env.step(3)  # type: ignore[arg-type]


def test_info_before_the_end_holds_nothing_hidden() -> None:
    env = DomainEnv(ID, level=3)
    for seed in range(20):
        _, info = env.reset(seed=seed)
        assert set(info) == {"task", "level", "split", "instructions", "tools"}
        assert env.task is not None
        assert "hidden" not in json.dumps(info)


class Broken:
    """A room that is never there."""

    def open(self, *_: Any, **__: Any) -> Any:
        raise AssertionError

    def load(self, tar: bytes) -> Any:
        raise AssertionError


def test_a_verifier_that_breaks_loses_the_episode_and_pays_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(*_: Any) -> Any:
        raise KeyError("value")

    domain = polyathlon.load_domain(ID)
    monkeypatch.setattr(type(domain.verifier), "judge", judge)
    env = DomainEnv(ID, room=Broken())
    env.reset(seed=1)
    with pytest.raises(EpisodeLost, match="discarded, not scored 0") as caught:
        env.step("1")
    assert caught.value.kind == "verifier"
    quiet = DomainEnv(ID, lost="truncate")
    quiet.reset(seed=1)
    _, reward, terminated, truncated, info = quiet.step("1")
    assert (reward, terminated, truncated, info["valid"]) == (0.0, False, True, False)
    assert info["verdict"]["reward"] is None


def scalar_episodes(num_envs: int, answers: list[str]) -> list[list[Any]]:
    envs = [DomainEnv(ID, level=1, lost="truncate") for _ in range(num_envs)]
    rows: list[list[Any]] = [[env.reset(seed=7 + k)[0] for k, env in enumerate(envs)]]
    for answer in answers:
        rows.append([env.step(answer)[1] for env in envs])
        rows.append([env.reset()[0] for env in envs])
    return rows


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_vector_gives_what_single_environments_give(mode: Any) -> None:
    vector = polyathlon.make_vec(ID, 3, mode=mode, level=1)
    try:
        rows: list[list[Any]] = [list(vector.reset(seed=7)[0])]
        for answer in ("12", "-7"):
            rows.append(list(vector.step((answer,) * 3)[1]))
            rows.append(list(vector.step(("ignored",) * 3)[0]))
    finally:
        vector.close()
    assert rows == scalar_episodes(3, ["12", "-7"])


def test_gymnasiums_own_sync_vector_gives_text_and_shared_memory_is_refused() -> None:
    vector = gym.make_vec(ID, num_envs=2, vectorization_mode="sync")
    assert all(isinstance(text, str) and text for text in vector.reset(seed=1)[0])
    with pytest.raises(ValueError, match="shared_memory=False"):
        gym.make_vec(ID, num_envs=2, vectorization_mode="async")


def test_a_text_space_samples_words_and_knows_its_members() -> None:
    space = TextSpace()
    space.seed(1)
    assert all(space.sample().isalpha() for _ in range(100))
    assert "\ud800" in space
    assert 3 not in space
    assert space == TextSpace()


CODE = """
import json, gymnasium as gym, polyathlon
other = gym.make("polyathlon/math.arithmetic-expression-v1", level=4)
other.reset(seed=99); other.step("1")
env = gym.make("polyathlon/math.arithmetic-expression-v1", level=3)
env.reset(seed=11); env.reset(seed=3)
print(json.dumps([env.reset(seed=3), env.reset(seed=3)]))
"""


@pytest.mark.parametrize("hash_seed", ["0", "1", "777"])
def test_a_seed_gives_the_same_bytes_in_every_process(hash_seed: str) -> None:
    path = os.pathsep.join(str(ROOT / name) for name in ("envs", "domains", "trainer"))
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=True)
    first, second = json.loads(done.stdout)
    assert first == second
    assert first == json.loads(json.dumps(gym.make(ID, level=3).reset(seed=3)))


def test_importing_polyathlon_loads_no_domain_and_no_heavy_library() -> None:
    code = (
        "import sys, polyathlon\n"
        "heavy = ('polyathlon_domains', 'torch', 'docker', 'trimesh', 'jsonschema', 'rich', 'scipy')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    path = os.pathsep.join(str(ROOT / name) for name in ("envs", "domains", "trainer"))
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_there() -> None:
    assert sorted(polyathlon.__all__) == polyathlon.__all__
    assert all(hasattr(polyathlon, name) for name in polyathlon.__all__)


def test_a_missing_extra_gives_the_pip_line(tmp_path: Path) -> None:
    (tmp_path / "acme_gear.py").write_text("import a_library_that_is_not_here\n")
    (tmp_path / "registry.yaml").write_text(
        "namespace: acme\ndomains:\n  - {id: cad.gear-v1, load: 'acme_gear:DOMAIN', kind: mesh, install: 'acme[cad]', "
        "levels: 1, max_turns: 1}\n"
        "  - {id: cad.none-v1, load: 'acme_none:DOMAIN', kind: mesh, levels: 1, max_turns: 1}\n"
    )
    code = (
        "import polyathlon\n"
        "for name in ('acme/cad.gear-v1', 'acme/cad.none-v1'):\n"
        "    try: polyathlon.load_domain(name)\n"
        "    except polyathlon.errors.RegistryError as error: print(error)\n"
    )
    path = os.pathsep.join([str(tmp_path), *(str(ROOT / name) for name in ("envs", "domains", "trainer"))])
    env = {**os.environ, "PYTHONPATH": path, "POLYATHLON_CATALOGS": str(tmp_path / "registry.yaml")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    first, second = done.stdout.strip().splitlines()
    assert first.endswith("no module 'a_library_that_is_not_here'. Try: pip install 'acme[cad]'")
    assert "cannot be imported" in second
    assert issubclass(RegistryError, Exception)
