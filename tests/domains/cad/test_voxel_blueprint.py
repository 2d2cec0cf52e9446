"""Voxel blueprints: plans run by hand, blocks as a bag, credit only beyond the best solid box."""

import pytest

from polyathlon import Evidence, Task, Verdict
from polyathlon.sandbox.choose import default_room
from polyathlon_domains.cad._voxel_plan import PlanError, Step, best_box_f1, build
from polyathlon_domains.cad.voxel_blueprint import DOMAIN

PLAN: list[Step] = [["row", "RGB", [0, 1, 2], "+x"], ["on", "WR", [0, 0, 2], "-y"]]
ANSWER = "012R 112G 212B 214W 204R"


def _judge(plan: list[Step], answer: str, size: int = 5) -> Verdict:
    hidden = {"steps": plan, "size": size}
    task = Task("polyathlon/cad.voxel-blueprint-v1:0:train:1", 0, 1, "train", "", {}, hidden, "00")  # type: ignore[arg-type]  # plain JSON
    return DOMAIN.verifier.judge(task, Evidence(answer=answer), default_room())


@pytest.mark.parametrize("answer", [ANSWER, "204R,214W, 212B\n112G 012R"])
def test_the_blocks_in_any_order_pass(answer: str) -> None:
    assert _judge(PLAN, answer).passed


def test_a_missing_block_earns_its_f1_above_the_best_box() -> None:
    # Any one block is the best box: F1 2*1/(1+5) = 1/3. Four right of four listed: 8/9. (8/9 - 1/3) / (2/3) = 5/6
    verdict = _judge(PLAN, "012R 112G 212B 214W")
    assert verdict.reward == pytest.approx(5 / 12)
    assert not verdict.passed


def test_a_block_listed_twice_costs() -> None:
    # 5 hits of 6 listed: 10/11; (10/11 - 1/3) / (2/3) = 19/22
    assert _judge(PLAN, f"{ANSWER} 204R").reward == pytest.approx(19 / 44)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "012R",
        "012 112",
        "012R112G212B214W204R",
        "all",
        "012r 112g",
        "[012R]",
        "\uff10\uff11\uff12R",
        "0123R",
        "nan",
    ],
)
def test_one_block_or_another_form_earns_nothing(answer: str) -> None:
    assert _judge(PLAN, answer).reward == 0.0


def test_every_cell_of_the_grid_earns_nothing() -> None:
    grid = " ".join(f"{x}{y}{z}R" for x in range(5) for y in range(5) for z in range(5))
    assert _judge(PLAN, grid).reward == 0.0


def test_the_best_box_may_cover_cells_that_are_not_there() -> None:
    # two R at distance 2 and one G: the box of 3 holds 2 of 3 blocks, 2*2/(3+3); a single block gets only 2*1/(1+3)
    assert best_box_f1({(0, 0, 0): "R", (2, 0, 0): "R", (0, 4, 0): "G"}) == pytest.approx(2 / 3)
    assert best_box_f1({(0, 0, 0): "R", (1, 0, 0): "R"}) == 1.0


def test_steps_are_carried_out_in_order() -> None:
    stair: Step = ["stair", "W", [1, 1, 0], "+x", 2]
    assert build([stair], size=5) == {(1, 1, 0): "W", (2, 1, 1): "W"}
    mirrored = build([stair, ["mirror", "x", 3]], size=6)
    assert mirrored == {(1, 1, 0): "W", (2, 1, 1): "W", (5, 1, 0): "W", (4, 1, 1): "W"}
    assert build([stair, ["mirror", "x", 3], ["clear", "z", 1]], size=6) == {(1, 1, 0): "W", (5, 1, 0): "W"}
    assert build([stair, ["paint", "W", "G"], ["row", "W", [0, 0, 0], "+x"], ["strip", "G"]], size=6) == {
        (0, 0, 0): "W"
    }


@pytest.mark.parametrize(
    "plan",
    [
        [["row", "RRR", [3, 0, 0], "+x"]],
        [["row", "R", [0, 0, 0], "+x"], ["row", "G", [0, 0, 0], "+x"]],
        [["row", "R", [0, 0, 0], "+x"], ["mirror", "y", 4]],
    ],
)
def test_a_plan_that_leaves_the_grid_or_collides_is_refused(plan: list[Step]) -> None:
    with pytest.raises(PlanError):
        build(plan, size=5)
