"""Which CPUs a command is bound to, so that what it counts is what it may use."""

from __future__ import annotations

import collections
import math
import os
from collections.abc import Iterable


class Cpus:
    """The CPUs of this process."""

    def __init__(self) -> None:
        self._all = sorted(os.sched_getaffinity(0))

    def choose(self, cores: float, *, bound: Iterable[frozenset[int]]) -> frozenset[int]:
        """Return the CPUs that the fewest of `bound` have, `cores` rounded up; none where all may be used.

        What is bound can unbind itself. It is the quota that holds; this makes `nproc` tell the truth about it.
        """
        count = max(1, math.ceil(cores))
        if count >= len(self._all):
            return frozenset()
        burden = collections.Counter(cpu for cpus in bound for cpu in cpus)
        self._all = self._all[1:] + self._all[:1]  # among equals, another one each time
        return frozenset(sorted(self._all, key=lambda cpu: burden[cpu])[:count])
