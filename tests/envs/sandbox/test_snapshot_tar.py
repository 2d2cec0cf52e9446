"""Tars of layers: the same bytes for the same layers, readable by others' tools, and no hostile one comes through."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from polyathlon.errors import SandboxError
from polyathlon.sandbox.bubblewrap import BubblewrapRoom
from polyathlon.sandbox.launcher.digests import digest_nodes
from polyathlon.sandbox.launcher.trees import Node, Step, sparse
from polyathlon.sandbox.scripted import ScriptedRoom
from polyathlon.sandbox.snapshot_tar import read_tar, write_tar
from polyathlon.sandbox.snapshot_tree import layers_tree, tree_steps
from polyathlon.tree import Entry, Tree

TIME_NS = 1_234_567_890_123_456_789
LOWER: list[Step] = [
    Node("", "dir", 0o755, TIME_NS),
    Node("a", "file", 0o640, TIME_NS, 5, ((0, b"hello"),), attributes={"user.key": b"\x00\xff=\n"}),
    Node("b", "link", size=1),
    Node("d", "dir", 0o2750, -1_500_000_000),
    Node("\udcff\n", "symlink", 0o777, 5, target="../a"),
    None,
    Node("holes", "file", 0o600, 0, 2**33, ((4096, b"x" * 4096), (2**32, b"y"))),
    None,
]
UPPER: list[Step] = [
    Node("", "dir", 0o700, TIME_NS),
    Node("a", "gone"),
    Node("d", "dir", 0o755, TIME_NS, opaque=True),
    Node("new", "file", 0o4755, TIME_NS, 0),
    None,
    None,
]


def test_layers_come_back_as_they_were() -> None:
    tar = write_tar([LOWER, UPPER])
    assert read_tar(tar) == [LOWER, UPPER]
    assert write_tar([LOWER, UPPER]) == tar
    assert len(tar) < 50_000


def test_other_tools_read_it(tmp_path: Path) -> None:
    (tmp_path / "t.tar").write_bytes(write_tar([LOWER]))
    subprocess.run(["tar", "-xf", "t.tar", "0/a", "0/b", "0/d"], cwd=tmp_path, check=True)
    assert (tmp_path / "0/b").read_text() == "hello"
    assert (tmp_path / "0/a").stat().st_ino == (tmp_path / "0/b").stat().st_ino
    listed = subprocess.run(["tar", "-tvf", "t.tar"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "8589934592" in listed


def test_pipes_and_sockets_are_left_out_and_names_of_them_too() -> None:
    steps: list[Step] = [Node("", "dir"), Node("a", "fifo"), Node("b", "link", size=1), Node("c", "socket"), None]
    gone: list[Step] = [Node("", "dir"), Node("a", "gone"), Node("b", "gone"), Node("c", "gone"), None]
    assert read_tar(write_tar([steps])) == [gone]
    assert digest_nodes(steps) == digest_nodes(gone)


def test_a_digest_tells_all_but_times_apart() -> None:
    file = Node("f", "file", 0o644, 1, 5, ((0, b"hello"),))
    variants = [
        file._replace(name="g"),
        file._replace(mode=0o600),
        file._replace(size=6),
        file._replace(data=((0, b"hellO"),)),
        file._replace(attributes={"user.a": b""}),
        Node("f", "symlink", 0o644, 1, target="hello"),
        Node("f", "gone"),
        Node("f", "dir", 0o644, 1),
    ]
    digests = {
        digest_nodes([Node("", "dir"), each, *([None] if each.kind == "dir" else []), None]) for each in variants
    }
    plain = digest_nodes([Node("", "dir"), file, None])
    assert len(digests | {plain}) == len(variants) + 1
    assert digest_nodes([Node("", "dir"), file._replace(mtime_ns=2), None]) == plain


def test_a_stretch_of_zeros_is_a_hole_however_it_was_written() -> None:
    data = b"x" * 4096 + bytes(8192) + b"y"
    assert sparse(data) == [(0, b"x" * 4096), (12288, b"y")]
    assert sparse(bytes(100)) == []


def test_a_tree_is_a_layer_and_back() -> None:
    tree = Tree(
        {
            "d": Entry("dir", 0o700, b"", 7),
            "d/e": Entry("dir", 0o755),
            "d/e/f": Entry("file", 0o600, b"x\0y", 9),
            "l": Entry("symlink", 0o777, b"d/e", 3),
        }
    )
    assert layers_tree(read_tar(write_tar([tree_steps(tree)]))) == tree
    hidden: list[Step] = [Node("", "dir", 0o755), Node("d", "dir", 0o755, opaque=True), None, Node("l", "gone"), None]
    assert list(layers_tree([tree_steps(tree), hidden])) == ["d"]


def test_a_tar_of_one_backend_opens_in_another(room: BubblewrapRoom) -> None:
    tree = Tree.of({"d": Entry("dir", 0o755, b"", 5), "d/f": Entry("file", 0o640, b"text", 7)})
    with room.open(tree) as sandbox, sandbox.snapshot() as snapshot:
        loaded = ScriptedRoom().load(snapshot.to_tar())
        assert loaded.tree == sandbox.get()
        with room.load(loaded.to_tar()) as back, room.open(back) as other, room.open(loaded) as direct:
            assert other.get() == direct.get() == sandbox.get()


def tar_of(*members: tarfile.TarInfo, digests: Sequence[str] = ("0" * 64,)) -> bytes:
    head = json.dumps({"version": 1, "layers": list(digests)}).encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info in (member("snapshot.json", size=len(head)), *members):
            tar.addfile(info, io.BytesIO(head if info.name == "snapshot.json" else bytes(info.size)))
    return buffer.getvalue()


def member(
    name: str, kind: bytes = tarfile.REGTYPE, *, link: str = "", size: int = 0, headers: Mapping[str, str] | None = None
) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    info.pax_headers = {"mtime": "1.5", **(headers or {})}
    return info


TOP = member("0", tarfile.DIRTYPE)


def device(major: int) -> tarfile.TarInfo:
    info = member("0/a", tarfile.CHRTYPE)
    info.devmajor, info.devminor = major, 3
    return info


HOSTILE: dict[str, tuple[tarfile.TarInfo, ...]] = {
    "no layer": (),
    "dot dot": (TOP, member("0/../a")),
    "dot": (TOP, member("0/./a")),
    "absolute": (TOP, member("/etc/passwd")),
    "no folder": (TOP, member("0/d/a")),
    "a file as a parent": (TOP, member("0/d"), member("0/d/a")),
    "a link as a parent": (TOP, member("0/d", tarfile.SYMTYPE, link="/tmp"), member("0/d/a")),
    "a hard link out": (TOP, member("0/a", tarfile.LNKTYPE, link="/etc/shadow")),
    "a hard link to the head": (TOP, member("0/a", tarfile.LNKTYPE, link="snapshot.json")),
    "a hard link to a folder": (TOP, member("0/a", tarfile.LNKTYPE, link="0")),
    "a device": (TOP, device(1)),
    "a block device": (TOP, member("0/a", tarfile.BLKTYPE)),
    "a pipe": (TOP, member("0/a", tarfile.FIFOTYPE)),
    "a name twice": (TOP, member("0/a"), member("0/a")),
    "a file that becomes a folder": (TOP, member("0/a"), member("0/a", tarfile.DIRTYPE)),
    "out of order": (TOP, member("0/b"), member("0/a")),
    "another layer first": (member("1", tarfile.DIRTYPE),),
    "a layer that is a file": (member("0"),),
    "a layer come back to": (TOP, member("1", tarfile.DIRTYPE), member("0/a")),
    "overlay's own attribute": (
        TOP,
        member("0/a", tarfile.DIRTYPE, headers={"SCHILY.xattr.trusted.overlay.redirect": "/"}),
    ),
    "a redirect of users": (TOP, member("0/a", tarfile.DIRTYPE, headers={"SCHILY.xattr.user.overlay.redirect": "/"})),
    "an opaque file": (TOP, member("0/a", headers={"SCHILY.xattr.trusted.overlay.opaque": "y"})),
    "a capability": (TOP, member("0/a", headers={"SCHILY.xattr.security.capability": "x"})),
    "a bomb of holes": (
        TOP,
        member(
            "0/GNUSparseFile.0/a",
            size=512,
            headers={
                "GNU.sparse.major": "1",
                "GNU.sparse.minor": "0",
                "GNU.sparse.name": "0/a",
                "GNU.sparse.realsize": "9" * 15,
            },
        ),
    ),
    "a name too long": (TOP, member(f"0/{'x' * 300}")),
    "no time": (TOP, member("0/a", headers={"mtime": "nan"})),
    "a time out of range": (TOP, member("0/a", headers={"mtime": "1e30"})),
    "too deep": (TOP, *(member("0" + "/d" * depth, tarfile.DIRTYPE) for depth in range(1, 300))),
}


@pytest.mark.isolation
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_tar_is_refused(name: str) -> None:
    with pytest.raises(SandboxError, match="no tar of a snapshot"):
        read_tar(tar_of(*HOSTILE[name]))


def test_a_sound_tar_made_by_hand_is_taken() -> None:
    """The control of the hostile ones: but for its digest, which is right here, it is built as they are."""
    steps: list[Step] = [Node("", "dir", 0o644, 1_500_000_000), Node("a", "file", 0o644, 1_500_000_000), None]
    assert read_tar(tar_of(TOP, member("0/a"), digests=[digest_nodes(steps)])) == [steps]


@pytest.mark.parametrize(
    "change",
    [
        lambda tar: b"",
        lambda tar: b"no tar at all" * 1000,
        lambda tar: tar[: len(tar) // 2],
        lambda tar: tar.replace(b"hello", b"hellO"),
        lambda tar: tar.replace(b'"version":1', b'"version":2'),
        lambda tar: tar[1024:],
    ],
)
def test_a_changed_tar_is_refused(change: Callable[[bytes], bytes], room: BubblewrapRoom) -> None:
    with pytest.raises(SandboxError):
        room.load(change(write_tar([LOWER, UPPER])))
