from __future__ import annotations

from pathlib import Path

import pytest

from polyathlon_trainer.config.load import ConfigError, dump_config, load_config
from polyathlon_trainer.config.schema import RunConfig


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    return path


def test_a_run_needs_no_config() -> None:
    assert load_config(None) == RunConfig()


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    assert load_config(write(tmp_path, "")) == RunConfig()


def test_a_file_overrides_defaults_and_set_overrides_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "seed: 3\nrl: {steps: 10, group_size: 4}\ndomains: {weights: {'cad.*': 2}}")
    config = load_config(path, ["rl.steps=20", "eval.temperatures=[1.0]"])
    assert (config.seed, config.rl.steps, config.rl.group_size) == (3, 20, 4)
    assert config.domains.weights == {"cad.*": 2.0}
    assert config.eval.temperatures == (1.0,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sede: 3", ["run.yaml", "`sede`", "Did you mean seed?"]),
        ("rl: {temprature: 1}", ["`rl.temprature`", "Did you mean temperature?"]),
        ("rl: {temperature: -1}", ["`rl.temperature` is -1", "default is 1.0"]),
        ("rl: {group_size: 1}", ["`rl.group_size` is 1", ">= 2", "default is 8"]),
        ("rl: 3", ["`rl` is 3", "group_size"]),
        ("rl: {scale: dommain}", ["`rl.scale` is 'dommain'", "default is 'domain'"]),
        ("sft: {minutes: 1, steps: 5}", ["sft has minutes and steps"]),
        ("rl: {ordered: true, steps: 5, max_staleness: 1}\nsft: {steps: 1}", ["max_staleness 0"]),
        ("rl: {ordered: true, minutes: 5}", ["sft.steps and rl.steps"]),
        (
            "rl: {max_context_tokens: 100, max_prompt_tokens: 90, max_new_tokens: 20}",
            ["rl.max_context_tokens is 100", "110"],
        ),
        ("- a", ["holds a list"]),
        ("a: [", ["not valid YAML"]),
    ],
)
def test_a_wrong_file_is_refused_with_place_value_and_remedy(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, text))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("rl.stepz=3", ["--set rl.stepz=3", "Did you mean steps?"]),
        ("rl.steps", ["key=value"]),
        ("rl.steps=many", ["--set rl.steps=many", "`rl.steps` is 'many'"]),
        ("seed.x=1", ["--set seed.x=1", "`seed` is"]),
    ],
)
def test_a_wrong_override_is_refused_by_name(override: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(None, [override])
    for word in words:
        assert word in str(caught.value)


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "none.yaml")


def test_what_a_run_keeps_loads_to_the_same_settings(tmp_path: Path) -> None:
    config = load_config(None, ["rl.steps=7", "domains.exclude=[cad.*]", "budget_minutes=3"])
    assert load_config(write(tmp_path, dump_config(config))) == config
