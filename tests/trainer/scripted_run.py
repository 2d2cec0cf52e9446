"""A run on the toys with a scripted policy, as a program of its own: something that can be killed.

python scripted_run.py FOLDER begin|resume|begin-forgetful|begin-failing [SETTING=VALUE ...]
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "toys"))

from rich.console import Console

from polyathlon_trainer import run
from polyathlon_trainer.config.load import load_config
from polyathlon_trainer.config.schema import RunConfig
from polyathlon_trainer.learning.protocol import Policy
from polyathlon_trainer.sampling.scripted import Cue, Script, scripted_policy

TOY_NAMES = ("copy", "door", "fragile", "missing", "next", "stone")
THINKING_S = 0.002
# written out: no toy has a certificate
TOYS = f"domains.include=[{', '.join(f'toys/toy.{name}-v1' for name in TOY_NAMES)}]"


def write(cue: Cue) -> str:
    """Half of the time the right answer, else something else that depends on the seed."""
    time.sleep(THINKING_S)
    text = cue.context
    if cue.point > 0.6:
        return f"{int(cue.point * 1000) % 10}"
    if text.startswith("copy "):
        return text.removeprefix("copy ")
    if " plus " in text:
        start, step = text.split(" plus ")
        return str(int(start) + int(step))
    if text.startswith("dial "):
        code = "".join(letter for letter in text.split("dialled")[0] if letter.isdigit())
        done = len(text.rpartition("dialled ")[2]) if "dialled" in text else 0
        return code[done % len(code)]
    return "?"


def forget(cue: Cue) -> str:
    """Know everything until the weights first change, and nothing after."""
    return "?" if cue.version > 1 else write(replace(cue, point=0.0))


def fail(_: Cue) -> str:
    """Say what the fragile world's verifier breaks on."""
    return "break"


SCRIPTS: dict[str, Script] = {"begin": write, "resume": write, "begin-forgetful": forget, "begin-failing": fail}


def main() -> None:
    folder, what, *settings = sys.argv[1:]
    console = Console(stderr=True)

    def build(_: RunConfig) -> Policy:
        return scripted_policy(SCRIPTS[what])

    if what == "resume":
        ending = run.resume(Path(folder), console=console, build=build)
    else:
        config = load_config(None, [TOYS, *settings])
        ending = run.begin(config, Path(folder), console=console, build=build)
    console.print(ending.message)
    sys.exit({"finished": 0, "stopped": 1, "interrupted": 130}[ending.outcome])


if __name__ == "__main__":
    main()
