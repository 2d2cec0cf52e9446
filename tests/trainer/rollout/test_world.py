import pytest

from polyathlon import env
from polyathlon.drawing import TaskKey
from polyathlon_trainer.rollout import world
from polyathlon_trainer.rollout.messages import Act, Acted

KEY = TaskKey("polyathlon/math.arithmetic-expression-v1", 0, 3)


def act(ticket: int, action: str, *, history: tuple[tuple[str, str], ...] = ()) -> Act:
    return Act(ticket, KEY, f"episode {ticket}", history, action, last=True)


def test_the_same_message_to_the_same_task_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []
    judge = env.judge_evidence

    def counting(*words: object) -> object:
        judged.append("once")
        return judge(*words)  # type: ignore[arg-type]  # handed on as they came

    monkeypatch.setattr(world, "judge_evidence", counting)
    worlds = world.Worlds()
    first, again, other = (worlds.carry_out(act(ticket, text)) for ticket, text in ((1, "5"), (2, "5"), (3, "6")))
    assert isinstance(first, Acted)
    assert isinstance(again, Acted)
    assert isinstance(other, Acted)
    assert (first.ticket, again.ticket, other.ticket) == (1, 2, 3)
    assert (first.reward, first.reason) == (again.reward, again.reason) == (0.0, "another value")
    assert len(judged) == 2
    worlds.close()
