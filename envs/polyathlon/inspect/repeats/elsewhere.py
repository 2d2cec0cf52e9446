"""Work done in a fresh process, where hash seed, zone, locale, folder, date and network are what we choose."""

from __future__ import annotations

import importlib
import json
import locale
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from polyathlon.canonical import Json
from polyathlon.inspect.lifeline import end_with_parent
from polyathlon.inspect.repeats.other_world import go_offline, shift_clock

LIMIT_S = 900.0
COMMA_LOCALES = (
    "de_DE.UTF-8",
    "fr_FR.UTF-8",
    "es_ES.UTF-8",
    "it_IT.UTF-8",
    "pl_PL.UTF-8",
    "pt_BR.UTF-8",
    "ru_RU.UTF-8",
)
"""Locales that write a decimal comma: the first that is installed is tried."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fresh process runs. `name` is for messages. `locales` are tried in turn; the last resort is C.

    `days` shifts its calendar. `offline` takes away every network.
    """

    name: str
    variables: Mapping[str, str] = field(default_factory=dict)
    locales: tuple[str, ...] = ()
    days: int = 0
    offline: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """What came back: the answer, or why there is none. `locale` is the one in force there."""

    answer: Json = None
    trouble: str = ""
    locale: str = "C"


def run_elsewhere(work: str, request: Json, place: Place) -> Word:
    """Return what the function `work` ("module:name", of ours) makes of `request` in a fresh process at `place`.

    The process runs in a folder of its own, which is empty at first and gone at the end.
    """
    code = f"from {__name__} import answer; answer()"
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in map(os.path.abspath, sys.path) if os.path.exists(path)),
        **place.variables,
    }
    asked = {
        "work": work,
        "request": request,
        "parent": os.getpid(),
        "locales": list(place.locales),
        "days": place.days,
        "offline": place.offline,
    }
    with tempfile.TemporaryDirectory(prefix="polyathlon-elsewhere-") as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-c", code],
                input=json.dumps(asked),
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                env=env,
                cwd=folder,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Word(trouble=f"the process did not end in {LIMIT_S:.0f} s")
    if done.returncode != 0 or not done.stdout:
        last = done.stderr.strip().splitlines()[-3:]
        return Word(trouble=f"the process ended with {done.returncode}: {' / '.join(last)[-500:]}")
    found = json.loads(done.stdout)
    return Word(found["answer"], locale=found["locale"])


def answer() -> None:
    """Do the work asked for on standard input, and write its answer to standard output: both are JSON."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a domain prints must not mix with the answer
    asked = json.load(sys.stdin)
    end_with_parent(asked["parent"])
    in_force = _set_locale(asked["locales"])
    if hasattr(time, "tzset"):
        time.tzset()
    if asked["days"]:
        shift_clock(86_400.0 * asked["days"])
    if asked["offline"]:
        go_offline()
    module, _, name = asked["work"].partition(":")
    found = getattr(importlib.import_module(module), name)(asked["request"])
    json.dump({"answer": found, "locale": in_force}, out)
    out.flush()


def _set_locale(wanted: list[str]) -> str:
    for name in wanted:
        try:
            return locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
    return locale.setlocale(locale.LC_ALL, None)
