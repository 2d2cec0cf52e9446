import pytest

from polyathlon.workspaces.question import QuestionWorkspace, final_answer


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        (" 42 \n", "42"),
        ("", ""),
        ("It is 40+2. <answer> 42 </answer> Done.", "42"),
        ("<answer>1</answer><answer>2</answer>", None),
        ("<answer>1</answer> or <answer>1</answer>", None),
        ("<answer>1", None),
        ("1</answer>", None),
        ("</answer>1<answer>", None),
        ("x" * 200_000, None),
    ],
)
def test_the_final_answer_is_the_only_one(message: str, answer: str | None) -> None:
    assert final_answer(message) == answer


def test_one_message_ends_the_episode() -> None:
    workspace = QuestionWorkspace()
    assert workspace.act("7").finished
    assert workspace.evidence().answer == "7"
    assert workspace.act("<answer>").error
    assert workspace.evidence().answer is None
