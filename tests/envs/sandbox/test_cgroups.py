"""What is written to control groups of both versions, and what is read back, in a folder that stands for one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from polyathlon.sandbox.launcher.cgroups import Counters, Group, Parent, find_parents, make_group, owner_mark, sweep


def test_version_2_gets_its_limits(tmp_path: Path) -> None:
    parent = Parent(str(tmp_path), 2, ("memory", "pids", "cpu", "cpuacct", "kill"))
    group = make_group([parent], "box", memory_bytes=1000, processes=7, cores=0.5)
    assert group.paths == (str(tmp_path / "box"),)
    assert (tmp_path / "box/memory.max").read_text(encoding="ascii") == "1000"
    assert (tmp_path / "box/memory.swap.max").read_text(encoding="ascii") == "0"
    assert (tmp_path / "box/pids.max").read_text(encoding="ascii") == "7"
    assert (tmp_path / "box/cpu.max").read_text(encoding="ascii") == "50000 100000"
    place = str(tmp_path / "box")
    # no memory.peak: a folder is no kernel since 5.19
    assert group.counters == Counters(f"{place}/memory.events", f"{place}/pids.events", f"{place}/cpu.stat")
    assert group.jobs == place


def test_version_1_gets_its_limits_a_hierarchy_each(tmp_path: Path) -> None:
    parents = []
    for name in ("memory", "pids", "cpuacct", "cpu"):
        (tmp_path / name).mkdir()
        parents.append(Parent(str(tmp_path / name), 1, (name,)))
    group = make_group(parents, "box", memory_bytes=1000, processes=7, cores=0.5)
    assert (tmp_path / "memory/box/memory.limit_in_bytes").read_text(encoding="ascii") == "1000"
    assert (tmp_path / "pids/box/pids.max").read_text(encoding="ascii") == "7"
    assert group.counters.cpu == str(tmp_path / "cpuacct/box/cpuacct.usage")
    assert (tmp_path / "cpu/box/cpu.cfs_quota_us").read_text(encoding="ascii") == "50000"
    assert (tmp_path / "cpu/box/cpu.cfs_period_us").read_text(encoding="ascii") == "100000"


@pytest.mark.parametrize(("niceness", "shares", "weight"), [(0, "1024", "100"), (10, "110", "11"), (19, "15", "1")])
def test_a_group_weighs_as_much_as_a_process_as_nice_as_its_maker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, niceness: int, shares: str, weight: str
) -> None:
    monkeypatch.setattr(os, "getpriority", lambda which, who: niceness)
    for version in (1, 2):
        (tmp_path / str(version)).mkdir()
        parent = Parent(str(tmp_path / str(version)), version, ("cpu",))
        make_group([parent], "box", memory_bytes=1, processes=1, cores=0.5)
    assert (tmp_path / "1/box/cpu.shares").read_text(encoding="ascii") == shares
    assert (tmp_path / "2/box/cpu.weight").read_text(encoding="ascii") == weight


def test_a_quota_of_all_cores_costs_no_group(tmp_path: Path) -> None:
    parent = Parent(str(tmp_path), 1, ("cpu",))
    assert make_group([parent], "box", memory_bytes=1, processes=1, cores=float(os.cpu_count() or 1)).paths == ()
    assert list(tmp_path.iterdir()) == []


def test_a_command_has_a_group_below_its_sandboxs_where_time_is_counted(tmp_path: Path) -> None:
    parents = []
    for name in ("memory", "unified"):
        (tmp_path / name).mkdir()
    parents = [
        Parent(str(tmp_path / "memory"), 1, ("memory",)),
        Parent(str(tmp_path / "unified"), 2, ("cpuacct", "kill")),
    ]
    group = make_group(parents, "box", memory_bytes=1, processes=1, cores=1000.0)
    job = group.open_job("1")
    assert job is not None
    assert job.path == str(tmp_path / "unified/box/1")
    (tmp_path / "unified/box/1/cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\n", encoding="ascii")
    assert job.cpu_s() == 1.5
    group.join(job)
    written = {str(path.parent.relative_to(tmp_path)) for path in tmp_path.rglob("cgroup.procs")}
    assert written == {"memory/box", "unified/box/1"}
    assert make_group([], "box", memory_bytes=1, processes=1, cores=1.0).open_job("1") is None


def test_killing_at_once_is_asked_of_the_kernel_where_it_can(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    (tmp_path / "new/cgroup.kill").write_text("", encoding="ascii")
    Group((str(tmp_path / "old"), str(tmp_path / "new")), Counters()).kill()
    assert (tmp_path / "new/cgroup.kill").read_text(encoding="ascii") == "1"
    assert list((tmp_path / "old").iterdir()) == []


def test_time_is_counted_by_version_2_where_both_can() -> None:
    found = find_parents()
    counting = [parent.version for parent in found if "cpuacct" in parent.controllers]
    assert len(counting) <= 1
    assert 2 not in {parent.version for parent in found} or counting == [2]


def test_cpu_seconds_are_read_in_either_unit(tmp_path: Path) -> None:
    (tmp_path / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n", encoding="ascii")
    (tmp_path / "cpuacct.usage").write_text("1500000000\n", encoding="ascii")
    assert Group((), Counters(cpu=str(tmp_path / "cpu.stat"))).cpu_s() == 2.5
    assert Group((), Counters(cpu=str(tmp_path / "cpuacct.usage"))).cpu_s() == 1.5
    assert Group((), Counters()).cpu_s() is None


def test_a_group_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no-such"):
        make_group([Parent(str(tmp_path / "no-such"), 2, ("memory",))], "box", memory_bytes=1, processes=1, cores=1)
    assert list(tmp_path.iterdir()) == []


def test_the_sweep_takes_what_the_dead_left_and_nothing_else(tmp_path: Path) -> None:
    for name in ("polyathlon-0-0-1", "polyathlon-0-0-1/7", f"{owner_mark()}1", "other"):
        (tmp_path / name).mkdir()
    sweep([Parent(str(tmp_path), 2, ("memory",))])  # no process has the pid 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["other", f"{owner_mark()}1"])
