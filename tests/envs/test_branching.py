"""Episodes branch: a fork and its origin go on alike, and a restore goes back, in every workspace and domain."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import pytest

from polyathlon.domain import Evidence, Observation, ToolSpec
from polyathlon.env import DomainEnv
from polyathlon.errors import DomainError
from polyathlon.registration import load_domain, registry
from polyathlon.sandbox.choose import default_room
from polyathlon.toolcall import write_call
from polyathlon.tree import Tree
from polyathlon.workspaces.coding import CodingWorkspace

DOMAINS = sorted(domain_id for domain_id in registry().entries if domain_id.startswith("polyathlon/"))
SANDBOXED = [row for row in DOMAINS if row.split("/")[1].split("-v")[0] in ("terminal.log-triage", "coding.bug-repair")]

Step = tuple[str, float, bool, bool, dict[str, Any]]


def calls(*rows: tuple[str, Mapping[str, Any]]) -> list[str]:
    return [write_call(name, arguments) for name, arguments in rows]


def prelude(tools: Sequence[str]) -> list[str]:
    """Return a few messages that change the state of a workspace with these tools, all of it lasting."""
    if {"run", "write_file"} <= set(tools):
        argument = "cmd" if "submit" in tools and "list_files" not in tools else "command"
        told = calls(
            ("run", {argument: "mkdir -p made; cd made; x=1; echo one >f; echo t >/tmp/t"}),
            ("write_file", {"path": "note.txt", "text": "a note\n"}),
        )
        return [*told, *calls(("run", {argument: "cat /tmp/t; echo two >>/workspace/made/f; pwd; echo [$x]"}))]
    if "build" in tools:
        return calls(("build", {"program": json.dumps({"box": [1, 2, 3]})}), ("measure", {"point": [0, 0, 0]}))
    if "edit" in tools:
        return calls(("edit", {"change": {"edits": [{"vertex": [1, 2, 3]}]}}), ("defects", {}))
    if "calc" in tools:
        return calls(("calc", {"expression": "1+1"}), ("list_docs", {}))
    if "run" in tools:
        return calls(("run", {"query": "SELECT 1"}))
    return []


def lasting(step: Step) -> tuple[object, ...]:
    return (*step[:4], step[4].get("verdict"))


def play(env: DomainEnv, actions: Sequence[str]) -> list[tuple[object, ...]]:
    seen: list[tuple[object, ...]] = []
    for action in actions:
        seen.append(lasting(env.step(action)))
        if seen[-1][2] or seen[-1][3]:
            break
    return seen


def solution(env: DomainEnv) -> list[str]:
    """Return the messages of the reference, played in an environment of its own."""
    task = env.task
    assert task is not None
    domain = load_domain(task.id.split(":")[0])
    workspace = domain.open_workspace(task, default_room())
    script, actions = domain.solve(task), []
    try:
        action = next(script)
        while True:
            actions.append(action)
            action = script.send(workspace.act(action))
    except StopIteration:
        return actions
    finally:
        workspace.close()


@pytest.mark.parametrize("domain_id", DOMAINS)
def test_a_fork_goes_on_as_its_origin_does_in_every_domain(domain_id: str) -> None:
    env = DomainEnv(domain_id)
    info = env.reset(seed=5)[1]
    begun = play(
        env, prelude([tool["name"] for tool in info["tools"]])[: registry().entry(domain_id).row.max_turns - 2]
    )
    assert not begun or begun[-1][2:4] == (False, False)
    rest = solution(env)
    fork = env.fork()
    with env.snapshot() as snapshot:
        wanted = play(env, rest)
        assert play(fork, rest) == wanted
        env.restore(snapshot)
        assert play(env, rest) == wanted
    assert wanted[-1][2]
    one, other = env.evidence, fork.evidence
    assert one is not None
    assert other is not None
    assert (one.answer, one.ledger, one.state, one.tree.digest()) == (
        other.answer,
        other.ledger,
        other.state,
        other.tree.digest(),
    )
    env.close()
    fork.close()


@pytest.mark.parametrize("domain_id", SANDBOXED)
def test_branches_do_not_meet(domain_id: str) -> None:
    argument = "cmd" if "terminal" in domain_id else "command"
    env = DomainEnv(domain_id)
    env.reset(seed=1)
    env.step(write_call("run", {argument: "echo start >/tmp/x"}))
    forks = [env.fork() for _ in range(3)]
    for number, fork in enumerate(forks):
        fork.step(write_call("run", {argument: f"echo {number} >>/tmp/x; echo {number} >/workspace/own{number}"}))
    for number, fork in enumerate(forks):
        text = fork.step(write_call("run", {argument: "cat /tmp/x; ls /workspace"}))[0]
        assert f"start\n{number}\n" in text
        assert [n for n in range(3) if f"own{n}" in text] == [number]
        fork.close()
    assert "own" not in env.step(write_call("run", {argument: "cat /tmp/x; ls /workspace"}))[0]
    env.close()


def test_a_terminal_goes_on_in_its_directory_with_its_variables() -> None:
    env = DomainEnv("polyathlon/terminal.log-triage-v1")
    env.reset(seed=1)
    env.step(write_call("run", {"cmd": "mkdir -p /workspace/in; cd /workspace/in; x=7; export y=8; f() { echo f$1; }"}))
    fork = env.fork()
    for each in (env, fork):
        assert (
            "/workspace/in\n7\n8\nf9\n"
            in each.step(write_call("run", {"cmd": "pwd; echo $x; sh -c 'echo $y'; f 9"}))[0]
        )
        each.close()


def test_a_shaped_return_stays_the_verdict_in_every_branch() -> None:
    env = DomainEnv("polyathlon/terminal.permission-repair-v1", shaping=True)
    env.reset(seed=2)
    rest = solution(env)
    paid = env.step(rest[0])[1] if len(rest) > 1 else 0.0
    fork = env.fork()
    for each in (env, fork):
        rewards = [float(str(step[1])) for step in play(each, rest[1:] if len(rest) > 1 else rest)]
        assert paid + sum(rewards) == pytest.approx(1.0)
        each.close()


def test_one_snapshot_starts_many_continuations() -> None:
    env = DomainEnv("polyathlon/games.countdown-target-v1")
    env.reset(seed=3)
    with env.snapshot() as snapshot:
        first = lasting(env.step("no move at all"))
        for _ in range(3):
            env.restore(snapshot)
            assert lasting(env.step("no move at all")) == first
    env.close()


def test_a_restore_goes_back_to_another_task_and_over_the_end() -> None:
    env = DomainEnv("polyathlon/math.arithmetic-expression-v1")
    env.reset(seed=1)
    task = env.task
    assert task is not None
    snapshot = env.snapshot()
    env.step("wrong")
    env.reset(seed=2)
    env.restore(snapshot)
    assert env.task == task
    assert env.step(str(task.hidden["value"]))[1] == 1.0


def test_what_cannot_be_branched_says_so() -> None:
    env = DomainEnv("polyathlon/math.arithmetic-expression-v1")
    with pytest.raises(gym.error.ResetNeeded):
        env.snapshot()
    env.reset(seed=1)
    snapshot = env.snapshot()
    with pytest.raises(ValueError, match="is of polyathlon/math"):
        DomainEnv("polyathlon/logic.kinship-v1").restore(snapshot)
    env._workspace = _Plain()
    with pytest.raises(DomainError, match="a _Plain cannot go back"):
        env.fork()


class _Plain:
    tools: Sequence[ToolSpec] = ()
    instructions = ""

    def act(self, action: str) -> Observation:
        return Observation(action)

    def evidence(self) -> Evidence:
        return Evidence()

    def close(self) -> None:
        return None


def test_a_coding_workspace_that_never_ran_anything_branches_without_a_sandbox() -> None:
    room = default_room()
    workspace = CodingWorkspace(Tree.of({"solution.py": "1\n"}), room)
    state = workspace.snapshot()
    assert state.files is None
    workspace.act(write_call("write_file", {"path": "b", "text": "2"}))
    workspace.act(write_call("run", {"command": "echo 3 >c"}))
    later = workspace.snapshot()
    assert later.files is not None
    workspace.restore(state)
    assert list(workspace.evidence().tree) == ["solution.py"]
    assert workspace.evidence().ledger == ()
    assert "b" not in workspace.act(write_call("run", {"command": "ls"})).text
    other = CodingWorkspace(Tree(), room)
    other.restore(later)
    assert "3" in other.act(write_call("run", {"command": "cat c"})).text
    later.files.close()
    workspace.close()
    other.close()
