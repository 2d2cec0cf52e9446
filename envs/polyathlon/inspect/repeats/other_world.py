"""Another date, and no network, for this process: so that what depends on either is seen to.

For a process that is started for it alone. C code that asks the kernel for the time by itself is not reached, nor is
the clock inside a sandbox.
"""

from __future__ import annotations

import datetime as real
import errno
import os
import socket
import time
from datetime import date as _DATE
from datetime import datetime as _MOMENT
from typing import Any

_NO_NETWORK = "this process has no network, so that an inspection sees what depends on one"


def shift_clock(seconds: float) -> None:
    """Make `time` and `datetime` tell a date that lies `seconds` later (earlier, where negative).

    Call it before anything imports names from either. Monotonic clocks stay as they are.
    """
    _shift_time(seconds)
    _shift_datetime(real.timedelta(seconds=seconds))


def go_offline() -> None:
    """Take away name resolution and every connection but those of this machine's own sockets with a path."""

    def unresolved(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_AGAIN, _NO_NETWORK)

    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getnameinfo"):
        setattr(socket, name, unresolved)
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def refusing(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            raise OSError(errno.ENETUNREACH, _NO_NETWORK)
        connect(self, address)

    def refusing_ex(self: socket.socket, address: Any) -> int:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            return errno.ENETUNREACH
        return connect_ex(self, address)

    socket.socket.connect = refusing  # type: ignore[method-assign,assignment]  # that is the point
    socket.socket.connect_ex = refusing_ex  # type: ignore[method-assign,assignment]  # that is the point
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        os.environ.pop(name, None)
        os.environ.pop(name.upper(), None)


def _shift_time(seconds: float) -> None:
    names = ("time", "time_ns", "gmtime", "localtime", "ctime", "strftime", "clock_gettime", "clock_gettime_ns")
    was = {name: getattr(time, name) for name in names}
    nanoseconds = int(seconds * 1e9)

    def now() -> float:
        return float(was["time"]() + seconds)

    def of_calendar(clock: int) -> bool:
        return clock in (time.CLOCK_REALTIME, getattr(time, "CLOCK_TAI", time.CLOCK_REALTIME))

    changed = {
        "time": now,
        "time_ns": lambda: was["time_ns"]() + nanoseconds,
        "gmtime": lambda secs=None: was["gmtime"](now() if secs is None else secs),
        "localtime": lambda secs=None: was["localtime"](now() if secs is None else secs),
        "ctime": lambda secs=None: was["ctime"](now() if secs is None else secs),
        "strftime": lambda form, when=None: was["strftime"](form, was["localtime"](now()) if when is None else when),
        "clock_gettime": lambda clock: was["clock_gettime"](clock) + (seconds if of_calendar(clock) else 0.0),
        "clock_gettime_ns": lambda clock: was["clock_gettime_ns"](clock) + (nanoseconds if of_calendar(clock) else 0),
    }
    for name, function in changed.items():
        setattr(time, name, function)


def _shift_datetime(by: real.timedelta) -> None:
    class OfDate(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, _DATE)

    class OfMoment(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, _MOMENT)

    class ShiftedDate(_DATE, metaclass=OfDate):
        @classmethod
        def today(cls) -> Any:
            today = (_MOMENT.now() + by).date()
            return cls(today.year, today.month, today.day)

    class ShiftedMoment(_MOMENT, metaclass=OfMoment):
        @classmethod
        def now(cls, tz: real.tzinfo | None = None) -> Any:
            return cls._as(_MOMENT.now(tz) + by)

        @classmethod
        def utcnow(cls) -> Any:
            return cls._as(_MOMENT.now(real.UTC).replace(tzinfo=None) + by)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

        @classmethod
        def _as(cls, when: real.datetime) -> Any:
            clock = (when.hour, when.minute, when.second, when.microsecond)
            return cls(when.year, when.month, when.day, *clock, tzinfo=when.tzinfo, fold=when.fold)

    for name, shifted in (("date", ShiftedDate), ("datetime", ShiftedMoment)):
        shifted.__name__ = shifted.__qualname__ = name
        setattr(real, name, shifted)
