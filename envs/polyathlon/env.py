"""The one `gymnasium.Env`: text in, text out, one task an episode, a verdict at its end."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self, cast, get_args

import gymnasium as gym

from polyathlon.catalog import did_you_mean
from polyathlon.clip import clip_text
from polyathlon.domain import (
    MAX_PARTIAL_REWARD,
    BranchingWorkspace,
    Domain,
    Evidence,
    Observation,
    Split,
    Task,
    Verdict,
    Verifier,
    Workspace,
    WorkspaceState,
)
from polyathlon.drawing import TaskKey, draw_task
from polyathlon.errors import DomainError, EpisodeLost, LostKind, SandboxError, SandboxLost, TaskError, VerifierError
from polyathlon.registration import load_domain, registry
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.protocol import Room, SandboxRecord
from polyathlon.spaces import TextSpace

Lost = Literal["raise", "truncate"]


@dataclass(frozen=True, slots=True)
class EpisodeSnapshot:
    """An episode at one moment, to go back to any number of times until it is closed."""

    task: Task
    workspace: WorkspaceState
    turn: int
    paid: float
    progress: float

    def close(self) -> None:
        """Free its files. May be called twice."""
        if self.workspace.files is not None:
            self.workspace.files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class DomainEnv(gym.Env[str, str]):
    """An environment of one domain.

    Args:
        domain_id: full id, such as "polyathlon/math.arithmetic-expression-v1".
        level: 0 is the easiest; `reset(options={"level": ...})` overrides it for that episode only.
        split: "train" or "test"; may be overridden in the same way.
        shaping: spread the reward over the steps by progress; the sum is the verdict's reward. Steps may be negative.
        lost: what an invalid episode does: "raise" EpisodeLost, or "truncate" with `info["valid"]` false (for vectors).
        room: where sandboxes come from; by default the machine's own.

    The last step's `info` holds "verdict", and "valid". Until then `info` holds nothing that the verifier hides.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  # Gymnasium declares it so

    def __init__(
        self,
        domain_id: str,
        *,
        level: int = 0,
        split: Split = "train",
        shaping: bool = False,
        lost: Lost = "raise",
        room: Room | None = None,
    ) -> None:
        self._entry = registry().entry(domain_id)
        self._check_level(level)
        self._check_split(split)
        if lost not in get_args(Lost):
            raise ValueError(f"lost is {lost!r}; it must be one of {get_args(Lost)}.")
        self._domain: Domain = load_domain(self._entry.id)
        self._judging = self._domain
        self._level, self._split, self._shaping, self._lost = level, split, shaping, lost
        self._room: Room = room or default_room()
        self._task: Task | None = None
        self._workspace: Workspace | None = None
        self._turn = 0
        self._paid = 0.0
        self._progress = 0.0
        self._evidence: Evidence | None = None
        self._sandbox_record: SandboxRecord | None = None
        self.observation_space = TextSpace()
        self.action_space = TextSpace()

    @property
    def task(self) -> Task | None:
        """The task of this episode, hidden part included: for tools that inspect, never for a policy."""
        return self._task

    @property
    def evidence(self) -> Evidence | None:
        """What the last finished episode left behind, to store and to judge again; None before one has ended."""
        return self._evidence

    @property
    def sandbox_record(self) -> SandboxRecord | None:
        """What the last finished episode's sandbox was and used; None where there was none. No two runs use the same.

        So it is no part of `info`, which is equal in every run.
        """
        return self._sandbox_record

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode. The same seed, level and split give the same task in every process.

        Raises:
            TaskError: the source has no task for this level and split.
            ValueError: an unknown option, or a level or split that does not exist.

        """
        super().reset(seed=seed)
        level, split = self._options(options or {})
        task_seed = int(self.np_random.integers(2**62)) if seed is None else seed
        return self.begin(draw_task(self._domain.tasks, TaskKey(self._entry.id, level, task_seed, split)))

    def begin(self, task: Task, *, verifier: Verifier | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode of `task`, one of this domain's that was drawn before. Else as `reset`.

        `verifier` judges this episode in the place of the domain's own: for whoever remembers verdicts.
        """
        self._close_workspace()
        self._task = task
        self._judging = self._domain if verifier is None else replace(self._domain, verifier=verifier)
        self._turn, self._paid, self._progress, self._evidence = 0, 0.0, 0.0, None
        self._sandbox_record = None
        workspace = self._workspace = self._domain.open_workspace(task, self._room)
        tools = [asdict(tool) for tool in workspace.tools]
        info = {"task": task.id, "level": task.level, "split": task.split, "instructions": workspace.instructions}
        return task.prompt, {**info, "tools": tools}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Carry out one message. The reward is the verdict's, at the end, unless `shaping` spreads it.

        Raises:
            EpisodeLost: the verifier or the sandbox broke, and `lost` is "raise".
            gymnasium.error.ResetNeeded: the episode is over, or none has begun.

        """
        task, workspace = self._task, self._workspace
        if task is None or workspace is None:
            raise gym.error.ResetNeeded("The episode is over, or none has begun. Call reset() first.")
        if not isinstance(action, str):
            raise gym.error.InvalidAction(f"The action is a {type(action).__name__}; it must be a string.")
        try:
            observation = workspace.act(action)
            self._turn += 1
            ended = observation.finished or self._turn >= self._entry.row.max_turns
            evidence = workspace.evidence() if ended or self._shaping else Evidence()
            reward = self._step_reward(task, evidence) if self._shaping and not ended else 0.0
        except SandboxError as error:
            return self._lose(Verdict.invalid(f"sandbox: {error}"), "sandbox")
        except Exception as error:  # a workspace that breaks is the domain's fault, and no policy's
            return self._lose(Verdict.invalid(f"workspace: {type(error).__name__}: {error}"), "domain")
        if ended:
            return self._end(task, evidence, observation)
        return clip_text(observation.text), reward, False, False, {"error": observation.error}

    def snapshot(self) -> EpisodeSnapshot:
        """Return the episode as it stands: the task, and all that `step` has changed. Close it, or use it in a `with`.

        It does not end the episode, but a sandbox's running processes: see docs/sandboxes.md for what is kept.

        Raises:
            DomainError: this domain's workspace cannot go back.
            EpisodeLost: the sandbox broke.
            SandboxRefused: the sandbox's backend has no snapshots.
            gymnasium.error.ResetNeeded: the episode is over, or none has begun.

        """
        task, workspace = self._task, self._workspace
        if task is None or workspace is None:
            raise gym.error.ResetNeeded("The episode is over, or none has begun. Call reset() first.")
        try:
            state = _branching(self._entry.id, workspace).snapshot()
        except SandboxLost as error:
            raise self._lost_to(task, error) from error
        return EpisodeSnapshot(task, state, self._turn, self._paid, self._progress)

    def restore(self, snapshot: EpisodeSnapshot) -> None:
        """Go back to `snapshot`, of this environment or another one of the same domain; it can be used again.

        Raises:
            DomainError: this domain's workspace cannot go back.
            EpisodeLost: the sandbox broke.
            ValueError: the snapshot is of another domain.

        """
        task = snapshot.task
        if not task.id.startswith(f"{self._entry.id}:"):
            raise ValueError(f"The snapshot is of {task.id}; this environment is {self._entry.id}.")
        if self._workspace is None or self._task is not task:
            self._close_workspace()
            self._workspace = self._domain.open_workspace(task, self._room)
        self._task, self._evidence, self._sandbox_record = task, None, None
        self._turn, self._paid, self._progress = snapshot.turn, snapshot.paid, snapshot.progress
        try:
            _branching(self._entry.id, self._workspace).restore(snapshot.workspace)
        except SandboxLost as error:
            raise self._lost_to(task, error) from error

    def fork(self) -> DomainEnv:
        """Return another environment in which this episode goes on from here, by itself: continue both alike, and both
        give the same. Close it too.

        Raises: as `snapshot` does.

        """
        with self.snapshot() as snapshot:
            other = DomainEnv(
                self._entry.id,
                level=self._level,
                split=self._split,
                shaping=self._shaping,
                lost=self._lost,
                room=self._room,
            )
            try:
                other.restore(snapshot)
            except BaseException:
                other.close()
                raise
        other._judging = self._judging
        other.np_random = copy.deepcopy(self.np_random)
        return other

    def close(self) -> None:
        """Free the workspace. May be called twice."""
        self._close_workspace()

    def _end(
        self, task: Task, evidence: Evidence, observation: Observation
    ) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._evidence = evidence
        verdict, kind = judge_evidence(self._judging, task, evidence, self._room)
        if verdict.reward is None:
            return self._lose(verdict, kind)
        self._close_workspace()
        reward = verdict.reward - self._paid
        info = {
            "error": observation.error,
            "valid": True,
            "verdict": verdict.as_dict(),
            "content_hash": task.content_hash,
        }
        terminated = observation.finished or self._entry.row.max_turns == 1  # the only message there is ends it
        return clip_text(observation.text), reward, terminated, not terminated, info

    def _lose(self, verdict: Verdict, kind: LostKind) -> tuple[str, float, bool, bool, dict[str, Any]]:
        task = cast(Task, self._task)
        self._close_workspace()
        message = f"{task.id}: {verdict.reason}. The episode is invalid and must be discarded, not scored 0."
        if self._lost == "raise":
            raise EpisodeLost(message, kind)
        return message, 0.0, False, True, {"error": True, "valid": False, "lost": kind, "verdict": verdict.as_dict()}

    def _lost_to(self, task: Task, error: SandboxLost) -> EpisodeLost:
        self._close_workspace()
        return EpisodeLost(f"{task.id}: sandbox: {error}. The episode is invalid and must be discarded.", "sandbox")

    def _step_reward(self, task: Task, evidence: Evidence) -> float:
        progress = getattr(self._judging.verifier, "progress", None)
        if progress is None:
            return 0.0
        now = float(progress(task, evidence))
        reward = MAX_PARTIAL_REWARD * (now - self._progress)
        self._progress = now
        self._paid += reward
        return reward

    def _options(self, options: Mapping[str, Any]) -> tuple[int, Split]:
        if not options:
            return self._level, self._split
        for key in options:
            if key not in ("level", "split"):
                raise ValueError(f"Unknown option {key!r}.{did_you_mean(str(key), ['level', 'split'])}")
        level, split = options.get("level", self._level), options.get("split", self._split)
        self._check_level(level)
        self._check_split(split)
        return int(level), split

    def _check_level(self, level: object) -> None:
        if type(level) is not int or not 0 <= level < self._entry.row.levels:
            raise ValueError(f"level is {level!r}; {self._entry.id} has the levels 0 to {self._entry.row.levels - 1}.")

    def _check_split(self, split: object) -> None:
        if split not in get_args(Split):
            raise ValueError(f"split is {split!r}; it must be one of {get_args(Split)}.")

    def _close_workspace(self) -> None:
        if self._workspace is not None:
            self._sandbox_record = record_of(self._workspace)
            self._workspace.close()
            self._workspace = None


def record_of(workspace: Workspace) -> SandboxRecord | None:
    """Return what the sandbox of `workspace` is and has used so far; None where it has none, or has lost it."""
    try:
        record: SandboxRecord | None = getattr(workspace, "sandbox_record", None)
    except SandboxError:
        return None
    return record


def _branching(domain_id: str, workspace: Workspace) -> BranchingWorkspace:
    if not isinstance(workspace, BranchingWorkspace):
        raise DomainError(
            f"{domain_id}: a {type(workspace).__name__} cannot go back, so its episodes cannot branch. Give it "
            "snapshot() and restore(), as polyathlon.domain.BranchingWorkspace says."
        )
    return workspace


def judge_evidence(domain: Domain, task: Task, evidence: Evidence, room: Room) -> tuple[Verdict, LostKind]:
    """Return the verdict on `evidence`, invalid when it cannot be had, and which boundary broke in that case.

    Stored evidence can be judged again in this way after a verifier was mended.
    """
    try:
        verdict = domain.verifier.judge(task, evidence, room)
    except (VerifierError, TaskError) as error:
        return Verdict.invalid(f"verifier: {error}"), "verifier"
    except SandboxError as error:
        return Verdict.invalid(f"sandbox: {error}"), "sandbox"
    except Exception as error:  # a verifier that breaks in any way is a failure, never a reward of zero
        return Verdict.invalid(f"verifier: {type(error).__name__}: {error}"), "verifier"
    return verdict, "verifier"
