"""registry.yaml to checked rows: every complaint names the file, the row, the key and the remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import msgspec
import yaml

from polyathlon.errors import RegistryError

Kind = Literal["question", "terminal", "coding", "mesh", "document", "tools", "game"]
KINDS: tuple[str, ...] = get_args(Kind)
MAX_FLOOR = 0.5

_HERE = Path(__file__).resolve().parent
_NAMESPACE = re.compile(r"^[a-z][a-z0-9-]*$")
_ID = re.compile(r"^(?P<family>[a-z][a-z0-9-]*)\.(?P<name>[a-z][a-z0-9-]*)-v(?P<version>\d+)$")
_LOAD = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One domain of a catalogue, as registry.yaml says it; readable without importing the domain.

    `id` is "<family>.<name>-vN", `load` is "module:NAME". `levels` counts the levels, `max_turns` the messages of an
    episode. `floor` is the most a blind policy earns on average; `weight` its part in the default mixture (0: none).
    `needs` are capabilities such as "sandbox"; `install` is what pip wants.
    """

    id: str
    load: str
    kind: Kind
    levels: int
    max_turns: int
    install: str = "polyathlon"
    needs: tuple[str, ...] = ()
    floor: float = 0.0
    weight: float = 1.0

    @property
    def family(self) -> str:
        return self.id.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Catalog:
    """The rows of one file. `owner` names who brought it, `path` where it lies."""

    namespace: str
    owner: str
    path: Path
    rows: tuple[Row, ...]


def builtin_path() -> Path:
    """Return the registry.yaml in force: beside this module in a wheel, at the repository's root in a checkout."""
    installed = _HERE / "registry.yaml"
    return installed if installed.is_file() else _HERE.parents[1] / "registry.yaml"


def read_catalog(path: Path, *, owner: str) -> Catalog:
    """Return the checked catalogue in the file at `path`.

    Raises:
        RegistryError: no such file, bad YAML, an unknown key, a missing or wrong value, a repeated id.

    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RegistryError(f"{path}: cannot be read ({error}). It should hold `namespace:` and `domains:`.") from error
    try:
        data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise RegistryError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    namespace, blocks = _head(data, path)
    rows = tuple(_row(block, number, path) for number, block in enumerate(blocks, start=1))
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise RegistryError(f"{path}: {row.id} is listed twice; delete one block or raise its -vN.")
        seen.add(row.id)
    return Catalog(namespace, owner, path, rows)


def did_you_mean(word: str, known: tuple[str, ...] | list[str]) -> str:
    """Return " Did you mean X?" for the nearest of `known`, or an empty string when none is near."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f" Did you mean {near[0]}?" if near else ""


def _head(data: object, path: Path) -> tuple[str, list[object]]:
    if not isinstance(data, dict) or not {"namespace", "domains"} <= set(data):
        raise RegistryError(f"{path}: the file must be a mapping with `namespace:` and `domains:`.")
    for key in set(data) - {"namespace", "domains"}:
        raise RegistryError(f"{path}: unknown key `{key}`.{did_you_mean(str(key), ['namespace', 'domains'])}")
    namespace, blocks = data["namespace"], data["domains"]
    if not isinstance(namespace, str) or not _NAMESPACE.match(namespace):
        raise RegistryError(f"{path}: namespace is {namespace!r}; use lower-case letters, digits and hyphens.")
    if not isinstance(blocks, list):
        raise RegistryError(f"{path}: `domains:` must be a list of blocks, each beginning with `- id:`.")
    return namespace, blocks


def _row(block: object, number: int, path: Path) -> Row:
    name = block.get("id", "no id") if isinstance(block, dict) else "no id"
    where = f"{path}: row {number} ({name})"
    if not isinstance(block, dict):
        raise RegistryError(f"{where}: a block is a mapping of keys, not {type(block).__name__}.")
    known = Row.__struct_fields__
    for key in block:
        if key not in known:
            raise RegistryError(f"{where}: unknown `{key}`.{did_you_mean(str(key), known)}")
    try:
        row = msgspec.convert(block, Row)
    except msgspec.ValidationError as error:
        raise RegistryError(f"{where}: {error}.{_kind_hint(block)}") from error
    for problem in _problems(row):
        raise RegistryError(f"{where}: {problem}")
    return row


def _kind_hint(block: Mapping[str, object]) -> str:
    kind = block.get("kind")
    if kind is None or kind in KINDS:
        return ""
    return f" Kinds: {', '.join(KINDS)}.{did_you_mean(str(kind), KINDS)}"


def _problems(row: Row) -> list[str]:
    checks = [
        (not _ID.match(row.id), f"id is {row.id!r}; write <family>.<name>-vN in lower case, such as cad.gear-v1."),
        (not _LOAD.match(row.load), f"load is {row.load!r}; write module:NAME, such as acme.gear:DOMAIN."),
        (not 1 <= row.levels <= 100, f"levels is {row.levels}; it must lie in 1..100."),
        (not 1 <= row.max_turns <= 1000, f"max_turns is {row.max_turns}; it must lie in 1..1000."),
        (not 0 <= row.floor <= MAX_FLOOR, f"floor is {row.floor}; it must lie in [0, {MAX_FLOOR}]."),
        (not 0 <= row.weight < float("inf"), f"weight is {row.weight}; it must be 0 or more. Use 0 to keep it out."),
    ]
    return [problem for wrong, problem in checks if wrong]
