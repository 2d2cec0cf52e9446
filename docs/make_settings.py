"""Write the settings into docs/training.md, between its marks, from the schema that `polyathlon train` reads.

python docs/make_settings.py
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect as types

from polyathlon_trainer.config.schema import (
    DEFAULT_RL_MINUTES,
    DEFAULT_SFT_MINUTES,
    TINY_LEVELS,
    TINY_SHORT_FIRST,
    RunConfig,
)

PAGE = Path(__file__).resolve().parent / "training.md"
BEGIN = "<!-- settings: written by docs/make_settings.py, do not edit -->\n"
END = "<!-- end of settings -->\n"
COLUMNS = ("key", "value", "default")
DEFAULTS_IN_WORDS = {
    "domains.levels": f"all; {TINY_LEVELS} for the model `tiny`",
    "sft.minutes": f"{DEFAULT_SFT_MINUTES:g}, unless `sft.steps` is given",
    "rl.minutes": f"{DEFAULT_RL_MINUTES:g}, unless `rl.steps` is given",
    "sft.learning_rate": "the model's own",
    "sft.short_first": f"0; {TINY_SHORT_FIRST:g} for the model `tiny`",
    "rl.learning_rate": "the model's own",
    "rl.completions_kept": "the model's own",
}
"""Settings whose default is null, and what that means."""


def settings() -> str:
    """Return the tables of all settings, a block a table, each under its docstring."""
    return "\n".join(_block(RunConfig, ""))


def written(page: str) -> str:
    """Return `page` with the settings of now between its marks.

    Raises:
        ValueError: a mark is missing.

    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} has lost a mark: it needs the lines {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}\n{settings()}\n{END}{after}"


def _block(struct: type[msgspec.Struct], prefix: str) -> Iterator[str]:
    info = types.type_info(struct)
    assert isinstance(info, types.StructType)
    inner = [field for field in info.fields if isinstance(field.type, types.StructType)]
    own = [field for field in info.fields if field not in inner]
    yield f"### {f'`{prefix}`' if prefix else 'The run'}\n"
    yield f"{_prose(struct)}\n"
    lines = [COLUMNS, ("---",) * len(COLUMNS), *(_cells(field, prefix) for field in own)]
    yield "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
    for field in inner:
        assert isinstance(field.type, types.StructType)
        yield from _block(field.type.cls, field.encode_name)


def _prose(struct: type) -> str:
    paragraphs = (inspect.getdoc(struct) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _cells(field: types.Field, prefix: str) -> tuple[str, ...]:
    key = f"{prefix}.{field.encode_name}" if prefix else field.encode_name
    default = None if field.default is msgspec.NODEFAULT else field.default
    text = json.dumps(default) if default not in ("", None) else DEFAULTS_IN_WORDS.get(key, "none")
    shown = text if default in ("", None) else f"`{text}`"
    return f"`{key}`", _value(field.type), shown


def _value(kind: types.Type) -> str:
    """Return in words what a setting may be."""
    if isinstance(kind, types.UnionType):
        return " or ".join(_value(one) for one in kind.types if not isinstance(one, types.NoneType)) + ", or null"
    if isinstance(kind, types.LiteralType):
        return ", ".join(f"`{value}`" for value in kind.values)
    if isinstance(kind, types.VarTupleType):
        return f"list of {_value(kind.item_type)}"
    if isinstance(kind, types.DictType):
        return f"map of {_value(kind.key_type)} to {_value(kind.value_type)}"
    names: dict[type[Any], str] = {types.IntType: "integer", types.FloatType: "number", types.StrType: "text"}
    return names.get(type(kind), "true or false") + _bounds(kind)


def _bounds(kind: types.Type) -> str:
    if not isinstance(kind, types.IntType | types.FloatType):
        return ""
    if kind.gt is not None:
        return f" above {kind.gt}"
    return "" if kind.ge is None else f" from {kind.ge}"


def main() -> int:
    """Write the page; return the exit status."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
