"""Ways to change faulty code without reading what it should do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from polyathlon import Attempt, Task
from polyathlon.toolcall import write_fenced

_STRICT, _LOOSE, _WHOLE = re.compile(r"([<>])(?!=)"), re.compile(r"([<>])="), re.compile(r"(?<![\w.])\d+")


def shortcuts(task: Task) -> Sequence[Attempt]:
    """Every bound loosened or tightened, every constant one more, plus and minus exchanged."""
    code = cast(Mapping[str, str], task.public["files"])["solution.py"]
    ways = {
        "every bound loosened": _STRICT.sub(r"\1=", code),
        "every bound tightened": _LOOSE.sub(r"\1", code),
        "every constant one more": _WHOLE.sub(lambda number: str(int(number[0]) + 1), code),
        "plus for minus": code.replace(" - ", " + "),
    }
    return tuple(Attempt(name, (write_fenced(text, language="python"),)) for name, text in ways.items() if text != code)
