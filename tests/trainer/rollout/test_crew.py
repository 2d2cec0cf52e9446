from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TypeVar

import pytest

import polyathlon
from polyathlon.drawing import TaskKey
from polyathlon_trainer.rollout.crew import Crew, CrewError, CrewRules
from polyathlon_trainer.rollout.messages import (
    Act,
    Acted,
    Broke,
    Judge,
    Order,
    Pose,
    Posed,
    Recite,
    Report,
    Solve,
    Solved,
)

COPY = "toys/toy.copy-v1"
DOOR = TaskKey("toys/toy.door-v1", 0, 3)
FRAGILE = TaskKey("toys/toy.fragile-v1", 0, 1)


R = TypeVar("R", Posed, Acted, Solved, Broke)


def act(
    ticket: int,
    key: TaskKey,
    action: str,
    *,
    history: tuple[tuple[str, str], ...] = (),
    last: bool = False,
    episode: str = "",
) -> Act:
    return Act(ticket, key, episode or f"e{ticket}", history, action, last)


def one(crew: Crew, order: Order, kind: type[R]) -> R:
    report = crew.collect([order])[order.ticket]
    assert isinstance(report, kind), report
    return report


def acted(reports: dict[int, Report], ticket: int) -> Acted:
    report = reports[ticket]
    assert isinstance(report, Acted), report
    return report


def answer_of(report: Report) -> str:
    assert isinstance(report, Solved)
    return report.turns[0][0]


def digits(crew: Crew) -> str:
    return one(crew, Pose(900, DOOR), Posed).prompt.removeprefix("dial ")


def test_a_task_is_posed_with_its_instructions(crew: Crew) -> None:
    posed = one(crew, Pose(1, DOOR), Posed)
    assert posed.prompt.startswith("dial ")
    assert posed.instructions == "Send one digit a message."


def test_the_same_key_is_the_same_task_on_every_worker(crew: Crew) -> None:
    reports = crew.collect([Pose(n, TaskKey(COPY, 1, 7)) for n in range(30)])
    assert len({report.prompt for report in reports.values() if isinstance(report, Posed)}) == 1


def test_a_right_answer_is_judged_and_a_wrong_one_gets_its_part(crew: Crew) -> None:
    answer = answer_of(one(crew, Recite(1, TaskKey(COPY, 0, 5)), Solved))
    reports = crew.collect([act(2, TaskKey(COPY, 0, 5), answer), act(3, TaskKey(COPY, 0, 5), answer[0] + "zzz")])
    assert (acted(reports, 2).reward, acted(reports, 2).passed) == (1.0, True)
    assert (acted(reports, 3).reward, acted(reports, 3).passed) == (0.125, False)  # half of one letter of four


def test_an_episode_of_several_turns_goes_on_where_it_was(crew: Crew) -> None:
    code = digits(crew)
    first = one(crew, act(1, DOOR, code[0], episode="e"), Acted)
    assert (first.observation, first.reward) == (f"dialled {code[0]}", None)
    second = one(crew, act(2, DOOR, code[1], history=((code[0], first.observation),), episode="e"), Acted)
    assert (second.observation, second.reward, second.truncated) == ("open", 1.0, False)


def test_an_episode_is_rebuilt_from_its_history_when_no_worker_holds_it(crew: Crew) -> None:
    code = digits(crew)
    report = one(crew, act(1, DOOR, code[1], history=((code[0], f"dialled {code[0]}"),)), Acted)
    assert report.reward == 1.0


def test_a_rebuilt_world_that_says_something_else_is_reported_as_diverged(crew: Crew) -> None:
    report = one(crew, act(1, DOOR, "1", history=(("1", "the door sings"),)), Broke)
    assert report.diverged
    assert report.kind == "worker"


def test_the_last_turn_is_judged_as_it_stands(crew: Crew) -> None:
    code = digits(crew)
    report = one(crew, act(1, DOOR, code[0], last=True), Acted)
    assert (report.reward, report.truncated) == (0.25, True)  # half of one digit of two


def test_an_episode_can_be_judged_without_a_further_action(crew: Crew) -> None:
    code = digits(crew)
    report = one(crew, Judge(1, DOOR, "e", ((code[0], f"dialled {code[0]}"),)), Acted)
    assert (report.reward, report.truncated) == (0.25, True)


def test_a_reference_is_played_in_its_world(crew: Crew) -> None:
    solved = one(crew, Solve(1, DOOR, 4), Solved)
    assert [action for action, _ in solved.turns] == list(digits(crew))
    assert solved.reward == 1.0


def test_episodes_end_as_those_of_the_gym_do(crew: Crew) -> None:
    env = polyathlon.env.DomainEnv if hasattr(polyathlon, "env") else None
    from polyathlon.env import DomainEnv  # the registry may be read before the toys are on the path

    assert env is None or env is DomainEnv
    key = TaskKey("polyathlon/math.arithmetic-expression-v1", 1, 11)
    gym_env = DomainEnv(key.domain_id, level=1)
    for action in ("12", "<answer>", "3+4=7\n7", ""):
        prompt, _ = gym_env.reset(seed=11)
        observation, reward, terminated, truncated, _ = gym_env.step(action)
        assert one(crew, Pose(1, key), Posed).prompt == prompt
        report = one(crew, act(2, key, action, last=True), Acted)
        assert (report.observation, report.reward, report.truncated) == (observation, reward, truncated)
        assert terminated


@pytest.mark.parametrize(
    ("action", "kind"), [("raise", "task"), ("lost", "sandbox"), ("break", "verifier"), ("bug", "verifier")]
)
def test_what_breaks_is_named_after_its_boundary_and_is_no_reward(crew: Crew, action: str, kind: str) -> None:
    assert one(crew, act(1, FRAGILE, action), Broke).kind == kind


def test_a_domain_that_cannot_be_loaded_is_the_registrys_failure(crew: Crew) -> None:
    report = one(crew, Pose(1, TaskKey("toys/toy.missing-v1", 0, 0)), Broke)
    assert report.kind == "registry"
    assert "polyathlon_toys.nowhere" in report.message


def test_printing_domains_do_not_disturb(crew: Crew) -> None:
    assert one(crew, act(1, FRAGILE, "noise"), Acted).reward == 0.0


def test_text_that_is_not_unicode_reaches_nobody(crew: Crew) -> None:
    assert one(crew, act(1, TaskKey(COPY, 0, 5), "a\x00b"), Acted).reward is not None


def test_a_worker_killed_by_an_action_is_replaced_and_the_order_retried(fresh_crew: Crew, tmp_path: Path) -> None:
    report = one(fresh_crew, act(1, FRAGILE, f"once {tmp_path / 'mark'}", last=True), Acted)
    assert report.reward == 0.0  # judged by the second worker, not invented by the crash
    assert fresh_crew.counts.crashed == 1


def test_an_order_that_always_kills_its_worker_breaks_after_three_attempts_and_spares_the_others(
    fresh_crew: Crew,
) -> None:
    orders = [act(n, FRAGILE, "crash" if n == 3 else "good") for n in range(12)]
    reports = fresh_crew.collect(orders)
    assert {n: type(report) for n, report in reports.items()} == {n: Broke if n == 3 else Acted for n in range(12)}
    assert isinstance(reports[3], Broke)
    assert reports[3].kind == "worker"
    assert all(acted(reports, n).reward == 1.0 for n in range(12) if n != 3)
    assert fresh_crew.counts.crashed == 3


def test_a_step_that_hangs_is_ended_and_retried(fresh_crew: Crew, tmp_path: Path) -> None:
    start = time.monotonic()
    report = one(fresh_crew, act(1, FRAGILE, f"hang-once {tmp_path / 'mark'}", last=True), Acted)
    assert report.reward == 0.0
    assert 1.9 < time.monotonic() - start < 15
    assert fresh_crew.counts.hung == 1


def test_an_episode_that_takes_too_long_in_all_is_a_deadline_failure(tmp_path: Path) -> None:
    with Crew(CrewRules(num_workers=1, step_limit_s=5.0, episode_limit_s=0.5), log_folder=tmp_path) as crew:
        history: tuple[tuple[str, str], ...] = ()
        for turn in range(3):
            (report,) = crew.collect([act(turn, FRAGILE, "slow 0.3", history=history, episode="e")]).values()
            if isinstance(report, Broke):
                break
            history += (("slow 0.3", "fine"),)
    assert isinstance(report, Broke)
    assert report.kind == "deadline"


def test_kill_9_of_a_worker_in_the_middle_of_many_episodes_loses_none(fresh_crew: Crew) -> None:
    keys = [TaskKey(COPY, 1, seed) for seed in range(300)]
    answers = fresh_crew.collect([Recite(n, key) for n, key in enumerate(keys)])
    fresh_crew.send([act(n, key, answer_of(answers[n])) for n, key in enumerate(keys)])
    os.kill(fresh_crew.pids[0], signal.SIGKILL)
    done: dict[int, Report] = {}
    while len(done) < 300:
        for report in fresh_crew.poll(limit_s=1.0):
            done[report.ticket] = report
            if len(done) == 150:
                os.kill(fresh_crew.pids[1], signal.SIGKILL)
    assert all(isinstance(report, Acted) and report.reward == 1.0 for report in done.values())


def test_workers_end_with_the_trainer(tmp_path: Path) -> None:
    crew = Crew(CrewRules(num_workers=1), log_folder=tmp_path)
    one(crew, Pose(1, DOOR), Posed)
    (pid,) = crew.pids
    crew._links[0]._socket.close()  # what the kernel does when the trainer is killed
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not _ended(pid):
        time.sleep(0.05)
    assert _ended(pid)
    crew.close()


def test_workers_that_cannot_start_are_an_error_with_their_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "polyathlon").mkdir()
    (tmp_path / "polyathlon" / "__init__.py").write_text("raise RuntimeError('no gym here')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with (
        Crew(CrewRules(num_workers=1), log_folder=Path(tmp_path)) as crew,
        pytest.raises(CrewError, match="no gym here"),
    ):
        one(crew, Pose(1, DOOR), Posed)


def _ended(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
