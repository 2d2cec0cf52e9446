"""Waivers: a check that a domain may miss for a while, for a reason that someone answers for. None makes gold."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from pathlib import Path

import msgspec
import yaml

from polyathlon.canonical import Json
from polyathlon.catalog import did_you_mean
from polyathlon.errors import RegistryError
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.protocol import RULES
from polyathlon.plugins import Entry

WAIVERS = "waivers.yaml"
MIN_REASON_CHARS = 10


class Waiver(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One block of waivers.yaml: `check` is a rule's id, `domain` a row's id of the catalogue beside it.

    It is in force up to and with the day `expires`. While it is, the check counts as silver where it is worse, and the
    domain cannot be gold.
    """

    check: str
    domain: str
    reason: str
    owner: str
    expires: datetime.date

    def in_force(self, today: datetime.date) -> bool:
        return today <= self.expires


def waivers_path(entry: Entry) -> Path:
    """Return where the waivers of the catalogue that lists `entry` would lie: beside it."""
    return entry.path.with_name(WAIVERS)


def waivers_of(entry: Entry) -> tuple[Waiver, ...]:
    """Return the waivers of one domain, those that have expired too, sorted by check.

    Raises:
        RegistryError: the file is there, and wrong.

    """
    found = (waiver for waiver in read_waivers(waivers_path(entry)) if waiver.domain == entry.row.id)
    return tuple(sorted(found, key=lambda waiver: waiver.check))


def waiver_record(waiver: Waiver) -> dict[str, Json]:
    """Return a waiver as plain JSON."""
    record: dict[str, Json] = msgspec.to_builtins(waiver)
    return record


def waiver_text(waiver: Waiver) -> str:
    """Return a waiver in a line."""
    return f"{waiver.check} is waived until {waiver.expires} by {waiver.owner}: {waiver.reason}"


def expired_text(waiver: Waiver) -> str:
    """Return what to say of a waiver that is no longer in force."""
    return (
        f"{waiver.domain}: the waiver of {waiver.check} by {waiver.owner} expired on {waiver.expires} and is not in "
        f"force. Mend the domain, or renew it in {WAIVERS}."
    )


def read_waivers(path: Path) -> tuple[Waiver, ...]:
    """Return the checked waivers in the file at `path`; none where there is no such file.

    Raises:
        RegistryError: bad YAML, an unknown key or check, a missing or wrong value, a waiver given twice.

    """
    try:
        text = path.read_text(encoding="utf-8")
        data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise RegistryError(f"{path}: cannot be read ({error}). It should hold `waivers:`.") from error
    except yaml.YAMLError as error:
        raise RegistryError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict) or set(data) != {"waivers"} or not isinstance(data["waivers"], list):
        raise RegistryError(f"{path}: the file must be a mapping with the one key `waivers:`, a list of blocks.")
    waivers = tuple(_waiver(block, f"{path}: waiver {number}") for number, block in enumerate(data["waivers"], start=1))
    _refuse_twice(waivers, path)
    return waivers


def _waiver(block: object, where: str) -> Waiver:
    if not isinstance(block, dict):
        raise RegistryError(f"{where}: a block is a mapping of keys, not {type(block).__name__}.")
    known = Waiver.__struct_fields__
    for key in block:
        if key not in known:
            raise RegistryError(f"{where}: unknown `{key}`.{did_you_mean(str(key), known)}")
    try:
        waiver = msgspec.convert(block, Waiver)
    except msgspec.ValidationError as error:
        raise RegistryError(f"{where}: {error}. It needs {', '.join(known)}; expires is a day: 2027-03-31.") from error
    if waiver.check not in RULES:
        raise RegistryError(f"{where}: there is no check {waiver.check!r}.{did_you_mean(waiver.check, tuple(RULES))}")
    if RULES[waiver.check].otherwise == Grade.REJECT:
        raise RegistryError(f"{where}: {waiver.check} is the contract itself, and cannot be waived. Mend the domain.")
    if len(waiver.reason.strip()) < MIN_REASON_CHARS or not waiver.owner.strip():
        raise RegistryError(f"{where}: give a reason that a reader can judge, and the owner who answers for it.")
    return waiver


def _refuse_twice(waivers: Iterable[Waiver], path: Path) -> None:
    seen: set[tuple[str, str]] = set()
    for waiver in waivers:
        if (waiver.domain, waiver.check) in seen:
            raise RegistryError(f"{path}: {waiver.check} is waived twice for {waiver.domain}; delete one block.")
        seen.add((waiver.domain, waiver.check))
