"""Waivers: a check that someone answers for missing, until a day; read like the registry, and never gold."""

import datetime
from dataclasses import replace
from pathlib import Path

import pytest
from tests.envs.inspect.command import environment, polyathlon, records, write_catalog

from polyathlon.errors import RegistryError
from polyathlon.inspect.finding import CheckResult, Inspection, measured
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.waivers import read_waivers

BLOCK = """  - check: C05
    domain: test.linted-v1
    reason: written in doubtful ways, and sound in effect
    owner: ann
    expires: 2999-12-31
"""
ID = "planted/test.linted-v1"


def write(folder: Path, *blocks: str) -> Path:
    path = folder / "waivers.yaml"
    path.write_text("waivers:\n" + "".join(blocks))
    return path


def test_a_waiver_is_read_with_its_day(tmp_path: Path) -> None:
    (waiver,) = read_waivers(write(tmp_path, BLOCK))
    assert (waiver.check, waiver.domain, waiver.owner) == ("C05", "test.linted-v1", "ann")
    assert waiver.in_force(datetime.date(2999, 12, 31))
    assert not waiver.in_force(datetime.date(3000, 1, 1))


def test_no_file_is_no_waiver(tmp_path: Path) -> None:
    assert read_waivers(tmp_path / "waivers.yaml") == ()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("    owner: ann\n", "    onwer: ann\n", "unknown `onwer`. Did you mean owner?"),
        ("    owner: ann\n", "", "missing required field `owner`"),
        ("C05", "C50", "no check 'C50'. Did you mean C05?"),
        ("C05", "C01", "C01 is the contract itself, and cannot be waived"),
        ("2999-12-31", "soon", "expires is a day: 2027-03-31"),
        ("2999-12-31", "3", "expires is a day: 2027-03-31"),
        ("written in doubtful ways, and sound in effect", "ok", "give a reason that a reader can judge"),
        ("  - check: C05", "  - 7\n  - check: C05", "a block is a mapping of keys, not int"),
        ("  - check: C05", "extra: 1\n  - check: C05", "not valid YAML"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = write(tmp_path, BLOCK.replace(old, new))
    with pytest.raises(RegistryError) as caught:
        read_waivers(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_waiver_given_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="waived twice"):
        read_waivers(write(tmp_path, BLOCK, BLOCK))


def test_a_waived_check_counts_as_silver_and_the_domain_is_never_gold() -> None:
    gold = CheckResult("S01", tuple(measured(RULES["S01"], level, 1.0, 64) for level in range(2)))
    poor = CheckResult("U01", (measured(RULES["U01"], 0, 0.5, 64), measured(RULES["U01"], 1, 1.0, 64)))
    both = Inspection("a", num_levels=2, results=(gold, poor))
    assert both.levels == (Grade.QUARANTINE, Grade.GOLD)
    assert replace(both, waived=("U01",)).levels == (Grade.SILVER, Grade.SILVER)
    assert Inspection("a", num_levels=1, results=(gold,), waived=("U01",)).grade == Grade.SILVER
    assert replace(both, waived=("S01",)).grade == Grade.QUARANTINE
    reject = CheckResult("C02", (measured(RULES["C02"], 0, 1, 64),))
    assert Inspection("a", num_levels=1, results=(reject,), waived=("C02",)).grade == Grade.REJECT
    assert replace(both, waived=("U01",), broken="no module").grade == Grade.QUARANTINE


def test_a_waiver_in_force_lifts_and_is_shown_and_one_that_expired_does_neither(tmp_path: Path) -> None:
    env = environment(write_catalog(tmp_path, linted="planted:LINTED"), POLYATHLON_CACHE=str(tmp_path / "cache"))
    words = ("check", ID, "--tier", "2")
    assert records(env, *words)[ID]["grade"] == "bronze"
    write(tmp_path, BLOCK)
    lifted = records(env, *words)[ID]
    assert (lifted["grade"], lifted["waived"]) == ("silver", ["C05"])
    assert lifted["reasons"][0].endswith("(waived)")
    (row,) = records(env, "list", "planted/").values()
    assert row["grade"] == "silver"
    assert row["notes"] == [
        f"{ID}: C05 is waived until 2999-12-31 by ann: written in doubtful ways, and sound in effect"
    ]
    write(tmp_path, BLOCK.replace("2999", "2001"))
    done = polyathlon(env, *words)
    assert done.returncode == 1
    assert "the waiver of C05 by ann expired on 2001-12-31 and is not in force" in done.stderr
    assert f"{ID}: bronze" in done.stdout


def test_a_broken_file_of_waivers_stops_the_inspection_and_says_where(tmp_path: Path) -> None:
    env = environment(write_catalog(tmp_path, linted="planted:LINTED"))
    (tmp_path / "waivers.yaml").write_text("waivers: 3")
    done = polyathlon(env, "check", ID, "--smoke")
    assert done.returncode == 1
    assert f"{tmp_path / 'waivers.yaml'}: the file must be a mapping" in done.stdout
