"""Log triage: what each field is worth, logs that tell their incident, and a second reader of them."""

import gzip
import json
import re
from collections import Counter

import pytest

from polyathlon import Entry, Evidence, Json, Task, TaskKey, Tree, draw_task
from polyathlon.sandbox.choose import default_room
from polyathlon.workspaces.terminal import read_tree
from polyathlon_domains.terminal.log_triage import DOMAIN

ID = "polyathlon/terminal.log-triage-v1"
ANSWER: dict[str, Json] = {
    "root_service": "ledger",
    "first_failure": "2024-03-05T10:11:12.345Z",
    "request_id": "00ab34cd56",
    "affected": 12,
}
TASK = Task(f"{ID}:0:train:1", 0, 1, "train", "", {"files": {}}, {"answer": ANSWER, "incident": {}}, "00")


def reward(text: str) -> float | None:
    evidence = Evidence(tree=Tree.of({"answer.json": text}))
    return DOMAIN.verifier.judge(TASK, evidence, default_room()).reward


def changed(**fields: object) -> str:
    return json.dumps({**ANSWER, **fields})


def without(*keys: str) -> str:
    return json.dumps({key: value for key, value in ANSWER.items() if key not in keys})


def test_the_record_passes_in_any_layout() -> None:
    assert reward(json.dumps(ANSWER)) == 1.0
    assert reward(json.dumps(dict(reversed([*ANSWER.items()])), indent=2) + "\n") == 1.0
    assert reward(changed(first_failure="2024-03-05T10:11:12.345+00:00")) == 1.0


def test_fields_have_weights_and_wrong_ones_cost_more_than_missing_ones() -> None:
    # weights 0.35, 0.35, 0.30; a wrong field costs 0.15; the reward is half of that
    assert reward(without("affected")) == pytest.approx(0.35)
    assert reward(changed(affected=13)) == pytest.approx(0.275)
    assert reward(without("affected", "request_id")) == pytest.approx(0.175)
    assert reward(changed(affected=13, request_id="ffffffffff")) == pytest.approx(0.025)
    assert reward(without("first_failure", "request_id")) == pytest.approx(0.15)


def test_the_root_gates_everything_and_alone_is_worth_nothing() -> None:
    assert reward(changed(root_service="orders")) == 0.0
    assert reward(without("root_service")) == 0.0
    assert reward('{"root_service": "ledger"}') == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "ledger",
        json.dumps([ANSWER]),
        changed(note="x"),
        '{"root_service": "orders", ' + json.dumps(ANSWER)[1:],
        json.dumps(ANSWER) * 2,
        '{"affected": NaN}',
        '{"affected": 1e999}',
        "[" * 9_000,
        json.dumps(ANSWER) + " " * 10_000,
        changed(root_service=["ledger"]),
    ],
)
def test_other_texts_earn_nothing(text: str) -> None:
    assert reward(text) == 0.0


@pytest.mark.parametrize("value", ["12", 12.0, True, [12], None])
def test_the_number_is_an_integer(value: object) -> None:
    assert reward(changed(affected=value)) in (pytest.approx(0.275), pytest.approx(0.35))


def test_bytes_that_are_no_text_and_links_earn_nothing() -> None:
    for entry in (Entry(data=b"\xff\xfe"), Entry("symlink", 0o777, b"logs"), Entry("other", 0o644)):
        evidence = Evidence(tree=Tree({"answer.json": entry}))
        assert DOMAIN.verifier.judge(TASK, evidence, default_room()).reward == 0.0


def read_logs(tree: Tree) -> dict[str, list[str]]:
    """Return {service: its lines, oldest first}."""
    lines: dict[str, list[str]] = {}
    for path in sorted(tree, key=lambda path: [int(part) for part in re.findall(r"\.(\d+)", path)], reverse=True):
        entry = tree.get(path)
        if entry is not None and entry.kind == "file" and path.startswith("logs/"):
            data = gzip.decompress(entry.data) if path.endswith(".gz") else entry.data
            lines.setdefault(path.split("/")[1], []).extend(data.decode("ascii").splitlines())
    return lines


@pytest.mark.parametrize("level", range(5))
@pytest.mark.parametrize("seed", range(6))
def test_a_second_reader_finds_root_and_count_and_the_decoys_are_louder(level: int, seed: int) -> None:
    task = draw_task(DOMAIN.tasks, TaskKey(ID, level, seed))
    logs = read_logs(read_tree(task.public["files"]))
    failed = {match[1] for line in logs.pop("gateway") if (match := re.search(r"rid=(\w+) status=5", line))}
    own: dict[str, set[str]] = {}
    loud: Counter[str] = Counter()
    for service, lines in logs.items():
        errors = [line for line in lines if re.search(r"ERROR +\[|\"ERROR\"|level=error|^[\d.]+ E ", line)]
        loud[service] = len(errors)
        own[service] = {rid for line in errors if "upstream" not in line for rid in failed if rid in line}
    root = max(own, key=lambda service: len(own[service]))
    answer = task.hidden["answer"]
    assert isinstance(answer, dict)
    assert root == answer["root_service"]
    assert len(own[root]) == answer["affected"]
    assert answer["request_id"] in own[root]
    assert loud.most_common(1)[0][0] != root


def test_levels_add_rotation_compression_and_clocks_and_stay_small() -> None:
    easy = read_tree(draw_task(DOMAIN.tasks, TaskKey(ID, 0, 1)).public["files"])
    hard = read_tree(draw_task(DOMAIN.tasks, TaskKey(ID, 4, 1)).public["files"])
    assert "clocks.txt" not in easy
    assert not [path for path in easy if path.endswith((".1", ".gz"))]
    assert "clocks.txt" in hard
    assert len([path for path in hard if path.endswith(".gz")]) == 20  # two parts of each of ten services
    assert sum(len(entry.data) for entry in hard.entries.values()) < 300_000
