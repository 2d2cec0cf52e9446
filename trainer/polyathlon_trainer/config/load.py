"""run.yaml and `--set` to one frozen RunConfig: every complaint names where, the key, the value and the remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import yaml

from polyathlon.catalog import did_you_mean
from polyathlon.errors import PolyathlonError
from polyathlon_trainer.config.schema import RunConfig


class ConfigError(PolyathlonError):
    """A setting of the run is wrong."""


def load_config(path: Path | None, overrides: Sequence[str] = ()) -> RunConfig:
    """Return the run's settings: the defaults, then the file at `path` if any, then "a.b=value" `overrides` in order.

    Raises:
        ConfigError: no such file, bad YAML, an unknown key (with the nearest), a wrong value, or settings that exclude
            each other.

    """
    data: dict[str, Any] = {}
    if path is not None:
        data = _read(path)
        _check_keys(data, RunConfig, where=str(path), prefix="")
        _convert(data, where=str(path))
    for override in overrides:
        where = f"--set {override}"
        _put(data, override, where)
        _convert(data, where=where)
    config = _convert(data, where=str(path) if path is not None else "the settings")
    for problem in _conflicts(config):
        raise ConfigError(f"{path or 'settings'}: {problem}")
    return config


def dump_config(config: RunConfig) -> str:
    """Return `config` as YAML, every key written out: what a run keeps in its folder."""
    return yaml.safe_dump(msgspec.to_builtins(config), sort_keys=False)


def _read(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error}). Give the path of a run.yaml, or none at all.") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: the file holds a {type(data).__name__}; write keys such as `seed: 1`, or leave it.")
    return data


def _put(data: dict[str, Any], override: str, where: str) -> None:
    path, equals, text = override.partition("=")
    if not equals or not path:
        raise ConfigError(f"{where}: write key=value, such as --set rl.steps=100.")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{where}: the value is not valid YAML: {' '.join(str(error).split())}") from error
    *parents, last = path.split(".")
    nested: Any = {last: value}
    for name in reversed(parents):
        nested = {name: nested}
    _check_keys(nested, RunConfig, where=where, prefix="")
    place = data
    for name in parents:
        inner = place.get(name)
        place[name] = place = dict(inner) if isinstance(inner, dict) else {}
    place[last] = value


def _check_keys(data: Mapping[Any, Any], struct: type[msgspec.Struct], *, where: str, prefix: str) -> None:
    known = struct.__struct_fields__
    types = get_type_hints(struct)
    for key, value in data.items():
        if key not in known:
            hint = did_you_mean(str(key), known) or f" Known here: {', '.join(known)}."
            raise ConfigError(f"{where}: unknown key `{prefix}{key}`.{hint}")
        inner = types[str(key)]
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            if not isinstance(value, Mapping):
                keys = ", ".join(inner.__struct_fields__)
                raise ConfigError(f"{where}: `{prefix}{key}` is {value!r}; it is a block with the keys {keys}.")
            _check_keys(value, inner, where=where, prefix=f"{prefix}{key}.")


def _convert(data: Mapping[str, Any], *, where: str) -> RunConfig:
    try:
        return msgspec.convert(data, RunConfig)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$.")
        key = path.removesuffix("`")
        raise ConfigError(
            f"{where}: `{key}` is {_lookup(data, key)!r}: {problem[:1].lower()}{problem[1:]}. "
            f"Its default is {_lookup(msgspec.to_builtins(RunConfig()), key)!r}."
        ) from error


def _lookup(data: Any, key: str) -> Any:
    for name in key.split("."):
        if not isinstance(data, Mapping):
            return data
        data = data.get(name.partition("[")[0])
    return data


def _conflicts(config: RunConfig) -> list[str]:
    checks = [
        *(
            (stage.minutes is not None and stage.steps is not None, f"{name} has minutes and steps; give one of them.")
            for name, stage in (("sft", config.sft), ("rl", config.rl))
        ),
        (
            config.rl.ordered and config.rl.max_staleness > 0,
            f"rl.ordered wants rl.max_staleness 0, not {config.rl.max_staleness}: what is collected beside the learner "
            "depends on time. Set one of them.",
        ),
        (
            config.rl.ordered and (config.rl.steps is None or config.sft.steps is None),
            "rl.ordered wants sft.steps and rl.steps: a stage that ends by the clock does not repeat.",
        ),
        (
            config.rl.ordered and config.budget_minutes is not None,
            "rl.ordered cannot keep to budget_minutes: a stage that ends by the clock does not repeat. Leave it out.",
        ),
        (
            config.rl.max_context_tokens < config.rl.max_prompt_tokens + config.rl.max_new_tokens,
            f"rl.max_context_tokens is {config.rl.max_context_tokens}; it must hold max_prompt_tokens + "
            f"max_new_tokens, {config.rl.max_prompt_tokens + config.rl.max_new_tokens}.",
        ),
        (
            config.eval.guard_prompts > config.eval.prompts,
            f"eval.guard_prompts is {config.eval.guard_prompts}, more than eval.prompts, {config.eval.prompts}.",
        ),
        (
            len(set(config.eval.temperatures)) < len(config.eval.temperatures),
            "eval.temperatures has one of them twice.",
        ),
    ]
    return [problem for wrong, problem in checks if wrong]
