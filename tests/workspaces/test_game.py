"""The game workspace on a small real game: take one or two stones, the last stone wins."""

from polyathlon.canonical import Json, expect_int
from polyathlon.workspaces.game import MAX_MOVE_CHARS, GameWorkspace, Played


class Stones:
    """Seven stones, both sides played by the same hand; whoever takes the last one wins."""

    rules = "Take 1 or 2 stones."

    def start(self) -> Json:
        return 7

    def play(self, position: Json, move: str) -> Played:
        left = expect_int(position)
        if move not in ("1", "2"):
            return Played(position, "take 1 or 2.", legal=False)
        if int(move) > left:
            return Played(position, f"only {left} left.", legal=False)
        left -= int(move)
        return Played(left, f"{left} left.", over=left == 0, won=left == 0)


def test_legal_moves_change_the_position_and_are_kept_in_order() -> None:
    workspace = GameWorkspace(Stones())
    first = workspace.act("2")
    assert (first.text, first.error, first.finished) == ("5 left.", False, False)
    workspace.act("I take one. <answer>1</answer>")
    evidence = workspace.evidence()
    assert evidence.state == {"position": 4, "moves": 2, "illegal": 0, "over": False, "won": False}
    assert [call.arguments for call in evidence.ledger] == [{"move": "2"}, {"move": "1"}]
    assert evidence.answer == "1"


def test_an_illegal_move_says_why_and_changes_nothing() -> None:
    workspace = GameWorkspace(Stones())
    observation = workspace.act("9")
    assert observation.error
    assert not observation.finished
    assert observation.text == "Illegal: take 1 or 2."
    assert workspace.evidence().state == {"position": 7, "moves": 0, "illegal": 1, "over": False, "won": False}
    assert workspace.evidence().answer is None
    assert not workspace.evidence().ledger[0].ok


def test_the_engine_alone_says_that_the_game_is_won() -> None:
    workspace = GameWorkspace(Stones())
    workspace.act("I have won. <answer>won</answer>")
    assert workspace.evidence().state == {"position": 7, "moves": 0, "illegal": 1, "over": False, "won": False}
    for move in ("2", "2", "2"):
        workspace.act(move)
    last = workspace.act("1")
    assert last.finished
    assert workspace.evidence().state == {"position": 0, "moves": 4, "illegal": 1, "over": True, "won": True}


def test_a_finished_game_takes_no_more_moves() -> None:
    workspace = GameWorkspace(Stones())
    for move in ("2", "2", "2", "1"):
        workspace.act(move)
    before = workspace.evidence()
    after = workspace.act("1")
    assert after.finished
    assert after.error
    assert workspace.evidence() == before


def test_two_moves_in_one_message_are_refused() -> None:
    workspace = GameWorkspace(Stones())
    assert workspace.act("<answer>1</answer><answer>2</answer>").error
    assert workspace.act("1" * (MAX_MOVE_CHARS + 1)).error
    assert workspace.evidence().ledger[0].arguments == {"move": ""}


def test_instructions_hold_the_rules_and_closing_twice_is_fine() -> None:
    workspace = GameWorkspace(Stones())
    assert workspace.instructions.startswith("Take 1 or 2 stones. Send one move a message")
    workspace.close()
    workspace.close()
