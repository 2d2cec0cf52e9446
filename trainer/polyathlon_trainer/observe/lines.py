"""Records as JSON lines, there and back, and the mending of a file whose writer was killed."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

import msgspec
import numpy as np

from polyathlon.canonical import Json
from polyathlon.errors import PolyathlonError
from polyathlon_trainer.observe.records import EndRecord, EvalRecord, NoteRecord, Record, RunRecord, StepRecord

METRICS = "metrics.jsonl"

_TYPES: Mapping[str, type[Record]] = {
    "run": RunRecord,
    "step": StepRecord,
    "eval": EvalRecord,
    "note": NoteRecord,
    "end": EndRecord,
}


class RecordError(PolyathlonError):
    """A run's records cannot be written or read."""


def printable(text: str) -> str:
    r"""Return `text` as valid Unicode: a lone surrogate becomes its escape, such as \ud800."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def encode(record: Record) -> bytes:
    """Return `record` as one line of JSON, newline included."""
    return json.dumps(_plain(record), separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _plain(value: object) -> Json:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Mapping):
        return {printable(str(key)): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    raise RecordError(f"A record holds a {type(value).__name__}; use numbers, strings, mappings and tuples.")


def decode(line: bytes, *, where: str) -> Record:
    """Return the record of one line.

    Raises:
        RecordError: not a record; the message names `where`.

    """
    try:
        kind = msgspec.json.decode(line, type=_Kind).kind
        if kind not in _TYPES:
            raise RecordError(
                f"{where}: unknown kind {kind!r}; known are {', '.join(_TYPES)}. Was it written by a newer version?"
            )
        return msgspec.json.decode(line, type=_TYPES[kind], strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordError(
            f"{where}: not a record: {error}. Resume from a checkpoint to cut the file back, or delete the line."
        ) from error


class _Kind(msgspec.Struct):
    kind: str


def read_records(folder: Path) -> list[Record]:
    """Return the records of the run in `folder`, in the order written. A torn last line is left out.

    Raises:
        RecordError: there is no metrics.jsonl, or a line before the last is no record (which line).

    """
    path = folder / METRICS
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError as error:
        raise RecordError(f"{folder}: no {METRICS} here. Give the folder that `polyathlon train` wrote.") from error
    records = []
    for number, line in enumerate(lines, start=1):
        if number == len(lines) and not _is_json(line):
            break
        records.append(decode(line, where=f"{path.name}: line {number}"))
    return records


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def mend(path: Path) -> int:
    """Cut a torn last line off `path`, and return the bytes that were cut."""
    if not path.exists():
        return 0
    *lines, torn = path.read_bytes().split(b"\n")
    cut = len(torn)
    if lines and not _is_json(lines[-1]):
        cut += len(lines[-1]) + 1
    if cut:
        os.truncate(path, path.stat().st_size - cut)
    return cut
