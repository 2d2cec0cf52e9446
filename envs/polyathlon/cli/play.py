"""`polyathlon play`: one episode at the terminal, by hand, by a script, or by the domain's own solution."""

from __future__ import annotations

import json as json_library  # `json` is a flag of the command
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from polyathlon.canonical import Json, expect_list, expect_text
from polyathlon.cli.table import print_json
from polyathlon.domain import Observation, Script
from polyathlon.env import DomainEnv
from polyathlon.inspect.readable import MAX_READ_CHARS, readable
from polyathlon.registration import load_domain, registry


def play(  # noqa: PLR0913  # each is a flag of the command line
    domain_id: str,
    *,
    level: Annotated[int, typer.Option(help="0 is the easiest.")] = 0,
    seed: Annotated[int, typer.Option(help="Which task.")] = 0,
    split: Annotated[str, typer.Option(help="train or test.")] = "train",
    solve: Annotated[bool, typer.Option("--solve", help="Let the domain's own reference play.")] = False,
    script: Annotated[Path | None, typer.Option(help="A JSON file: a list of messages to send.")] = None,
    actions: Annotated[
        str, typer.Option(help="A JSON list of messages to send, or @FILE that holds one; then silence to the end.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print the episode as JSON.")] = False,
) -> None:
    """Play one episode. By hand, a message ends with a line that holds only a full stop, or with Ctrl-D."""
    entry = registry().entry(domain_id)
    env = DomainEnv(entry.id, level=level, split=split)  # type: ignore[arg-type]  # DomainEnv says so when it is none
    prompt, info = env.reset(seed=seed)
    task = env.task
    assert task is not None
    player = load_domain(entry.id).solve(task) if solve else _then_silence(actions) if actions else _messages(script)
    show = Console(stderr=json, highlight=False, markup=False, soft_wrap=True)
    show.print(f"[{task.id}] up to {entry.row.max_turns} messages\n{info['instructions']}\n", style="dim")
    show.print(prompt)
    turns: list[Json] = []
    ended, observation = False, Observation(prompt)
    while not ended:
        action = _next(player, observation, first=not turns)
        if action is None:
            show.print("The messages ended before the episode did.", style="red")
            raise typer.Exit(1)
        text, reward, terminated, truncated, info = env.step(action)
        ended = terminated or truncated
        observation = Observation(text, finished=ended, error=bool(info["error"]))
        turns.append({"action": action, "observation": text, "reward": reward})
        show.print(f"\n> {readable(action)}", style="cyan")
        show.print(readable(text, max_lines=MAX_READ_CHARS))
    env.close()
    _finish(show, info, turns, task_id=task.id, prompt=prompt, as_json=json)


def _finish(
    show: Console, info: dict[str, Any], turns: list[Json], *, task_id: str, prompt: str, as_json: bool
) -> None:
    verdict = info["verdict"]
    if as_json:
        print_json([{"task": task_id, "prompt": prompt, "turns": turns, "verdict": verdict}])
        return
    parts = "".join(f", {name} {value:.3g}" for name, value in verdict["parts"].items())
    reason = f": {verdict['reason']}" if verdict["reason"] else ""
    show.print(f"\nreward {verdict['reward']}{reason}{parts}", style="green" if verdict["passed"] else "yellow")


def _messages(script: Path | None) -> Script:
    if script is None:
        while (message := _typed()) is not None:
            yield message
        return
    for message in _listed(script.read_text(encoding="utf-8"), where=str(script)):  # a list takes no send()
        yield message


def _then_silence(actions: str) -> Script:
    """Play as an inspection does: the messages, then empty ones until the turns are over."""
    path = Path(actions[1:])
    messages = _listed(path.read_text(encoding="utf-8"), where=str(path)) if actions[0] == "@" else _listed(actions)
    for message in messages:  # noqa: UP028  # a list takes no send()
        yield message
    while True:
        yield ""


def _listed(text: str, *, where: str = "--actions") -> list[str]:
    try:
        return [expect_text(action) for action in expect_list(json_library.loads(text))]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}. Write a JSON list of strings, one a message.") from error


def _typed() -> str | None:
    if sys.stdin.isatty():
        sys.stderr.write("\nyour message, then a line with only a full stop:\n")
    lines: list[str] = []
    for line in _lines():
        if line == ".":
            return "\n".join(lines)
        lines.append(line)
    return "\n".join(lines) if lines else None


def _lines() -> Iterator[str]:
    for line in sys.stdin:
        yield line.rstrip("\n")


def _next(player: Script, observation: Observation, *, first: bool) -> str | None:
    try:
        return next(player) if first else player.send(observation)
    except StopIteration:
        return None
