"""Many draws of each level, made once an inspection: what counts tasks, likens them or predicts them looks at these."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from polyathlon.canonical import Json
from polyathlon.domain import Domain, Observation, Split, Task
from polyathlon.drawing import TaskKey, draw_core, render_task
from polyathlon.errors import TaskError
from polyathlon.inspect.handed_in import texts_of
from polyathlon.inspect.play import Stage

NUM_DRAWS = 1_000
MAX_DRAWS = 6_000
DRAWS_A_SEED = 16  # 1,000 at 64 seeds; a smoke test counts fewer
TEST_ONE_IN = 10
NUM_SANDBOX_RENDERED = {"train": 200, "test": 50}
NUM_ANSWERED = 100
NUM_COMPARED = 3


@dataclass(frozen=True, slots=True)
class Draws:
    """Draws of one level. `hashes` are of all of them; tasks are the first of them, written out: in a sandbox fewer.

    `cpu_s` is what drawing and writing out each train task took. `trouble` says why a split gave no task.
    """

    level: int
    train_hashes: tuple[str, ...] = ()
    test_hashes: tuple[str, ...] = ()
    train: tuple[Task, ...] = ()
    test: tuple[Task, ...] = ()
    cpu_s: tuple[float, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """A task and what its reference does: its actions, and the texts they hand over."""

    task: Task
    actions: tuple[str, ...]
    texts: tuple[str, ...]

    @property
    def whole(self) -> str:
        """All that was handed over, as one text."""
        return "\n".join(self.texts)


class Survey:
    """The draws of one stage's domain, each level made when first asked for."""

    def __init__(self, stage: Stage) -> None:
        # of the stage, only what outlives it: a survey must not keep its stage alive
        self._subject = stage.subject

    @functools.cached_property
    def num_draws(self) -> int:
        """How many train tasks are drawn of a level."""
        return min(NUM_DRAWS, DRAWS_A_SEED * self._subject.num_seeds)

    @functools.cached_property
    def levels(self) -> tuple[Draws, ...]:
        """The draws of every level."""
        return tuple(map(self._draws, range(self._subject.entry.row.levels)))

    def more_hashes(self, level: int) -> tuple[str, ...]:
        """Return the content hashes of 6,000 train draws of `level`: where 1,000 leave its size too uncertain."""
        source, domain_id = self._subject.domain.tasks, self._subject.entry.id
        keys = (TaskKey(domain_id, level, seed, "train") for seed in range(MAX_DRAWS))
        return tuple(draw_core(source, key).content_hash for key in keys)

    def _draws(self, level: int) -> Draws:
        try:
            train_hashes, train, cpu_s = self._drawn(level, "train", self.num_draws)
            test_hashes, test, _ = self._drawn(level, "test", max(1, self.num_draws // TEST_ONE_IN))
        except TaskError as error:
            return Draws(level, trouble=str(error))
        return Draws(level, train_hashes, test_hashes, train, test, cpu_s)

    def _drawn(
        self, level: int, split: Split, num_draws: int
    ) -> tuple[tuple[str, ...], tuple[Task, ...], tuple[float, ...]]:
        subject, source = self._subject, self._subject.domain.tasks
        num_rendered = NUM_SANDBOX_RENDERED[split] if subject.costly else num_draws
        hashes: list[str] = []
        tasks: list[Task] = []
        times: list[float] = []
        for seed in range(num_draws):
            key = TaskKey(subject.entry.id, level, seed, split)
            began_s = time.process_time()
            drawn = draw_core(source, key)
            hashes.append(drawn.content_hash)
            if seed < num_rendered:
                tasks.append(render_task(source, key, drawn))
                times.append(time.process_time() - began_s)
        return tuple(hashes), tuple(tasks), tuple(times)


_SURVEYS: WeakKeyDictionary[Stage, Survey] = WeakKeyDictionary()
_ANSWERS: WeakKeyDictionary[Stage, tuple[tuple[Answered, ...], ...]] = WeakKeyDictionary()


def survey_of(stage: Stage) -> Survey:
    """Return the survey of `stage`: the same one each time."""
    if stage not in _SURVEYS:
        _SURVEYS[stage] = Survey(stage)
    return _SURVEYS[stage]


def answered_of(stage: Stage) -> tuple[tuple[Answered, ...], ...]:
    """Return, level by level, up to 100 train tasks with what their reference does.

    The reference was played on the first of them. On the others it is asked without being shown anything; where that
    is not what it does when it is played, the others are left out.
    """
    if stage not in _ANSWERS:
        played = [Answered(found.task, found.actions, texts_of(found.actions)) for found in stage.solved]
        domain, max_turns = stage.subject.domain, stage.subject.entry.row.max_turns
        blindly = played and all(
            actions_unseen(domain, one.task, max_turns) == one.actions for one in played[:: _step(played)]
        )
        levels = []
        for draws in survey_of(stage).levels:
            here = [one for one in played if one.task.level == draws.level]
            further = [*draws.train[len(here) : NUM_ANSWERED]] if blindly else []
            levels.append((*here[:NUM_ANSWERED], *(_unplayed(domain, task, max_turns) for task in further)))
        _ANSWERS[stage] = tuple(levels)
    return _ANSWERS[stage]


def actions_unseen(domain: Domain, task: Task, max_turns: int) -> tuple[str, ...]:
    """Return what the reference does when every observation is empty; nothing where it cannot do without."""
    actions: list[str] = []
    script = domain.solve(task)
    try:
        actions.append(next(script))
        while len(actions) < max_turns:
            actions.append(script.send(Observation("")))
    except StopIteration:
        pass
    except Exception:  # it looks for something in what it was shown: then it is no use here, and no fault
        return ()
    finally:
        script.close()
    return tuple(actions)


def public_text(value: Json) -> str:
    """Return the strings and numbers of a task's public part, in order, a line each."""
    return "\n".join(_leaves(value))


def _leaves(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in (key, *_leaves(inner))]
    if isinstance(value, list | tuple):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


def _unplayed(domain: Domain, task: Task, max_turns: int) -> Answered:
    actions = actions_unseen(domain, task, max_turns)
    return Answered(task, actions, texts_of(actions))


def _step(played: Sequence[object]) -> int:
    return max(1, len(played) // NUM_COMPARED)
