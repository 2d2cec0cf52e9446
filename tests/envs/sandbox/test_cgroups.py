"""What is written to control groups of both versions, and what is read back, in a folder that stands for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyathlon.sandbox.launcher.cgroups import Counters, Group, Parent, make_group, owner_mark, sweep


def test_version_2_gets_its_limits(tmp_path: Path) -> None:
    parent = Parent(str(tmp_path), 2, ("memory", "pids", "cpu"))
    group = make_group([parent], "box", memory_bytes=1000, processes=7)
    assert group.paths == (str(tmp_path / "box"),)
    assert (tmp_path / "box/memory.max").read_text(encoding="ascii") == "1000"
    assert (tmp_path / "box/memory.swap.max").read_text(encoding="ascii") == "0"
    assert (tmp_path / "box/pids.max").read_text(encoding="ascii") == "7"
    place = str(tmp_path / "box")
    assert group.counters == Counters(f"{place}/memory.events", f"{place}/pids.events", f"{place}/cpu.stat")


def test_version_1_gets_its_limits_a_hierarchy_each(tmp_path: Path) -> None:
    parents = []
    for name in ("memory", "pids", "cpuacct"):
        (tmp_path / name).mkdir()
        parents.append(Parent(str(tmp_path / name), 1, (name,)))
    group = make_group(parents, "box", memory_bytes=1000, processes=7)
    assert (tmp_path / "memory/box/memory.limit_in_bytes").read_text(encoding="ascii") == "1000"
    assert (tmp_path / "pids/box/pids.max").read_text(encoding="ascii") == "7"
    assert group.counters.cpu == str(tmp_path / "cpuacct/box/cpuacct.usage")


def test_cpu_seconds_are_read_in_either_unit(tmp_path: Path) -> None:
    (tmp_path / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n", encoding="ascii")
    (tmp_path / "cpuacct.usage").write_text("1500000000\n", encoding="ascii")
    assert Group((), Counters(cpu=str(tmp_path / "cpu.stat"))).cpu_s() == 2.5
    assert Group((), Counters(cpu=str(tmp_path / "cpuacct.usage"))).cpu_s() == 1.5
    assert Group((), Counters()).cpu_s() == 0.0


def test_a_group_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no-such"):
        make_group([Parent(str(tmp_path / "no-such"), 2, ("memory",))], "box", memory_bytes=1, processes=1)
    assert list(tmp_path.iterdir()) == []


def test_the_sweep_takes_what_the_dead_left_and_nothing_else(tmp_path: Path) -> None:
    for name in ("polyathlon-0-0-1", f"{owner_mark()}1", "other"):
        (tmp_path / name).mkdir()
    sweep([Parent(str(tmp_path), 2, ("memory",))])  # no process has the pid 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["other", f"{owner_mark()}1"])
