"""Trees from and to tars: what a tree can hold comes back the same, and no hostile archive gets in."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyathlon.tree import Entry, Tree


def member(name: str, **fields: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def archive(*members: tarfile.TarInfo, data: bytes = b"x", kind: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:", format=kind) as tar:
        for info in members:
            info.size = len(data) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=120).filter(
    lambda name: name not in (".", "..")
)
entries = st.one_of(
    st.builds(Entry, st.just("file"), st.integers(0, 0o7777), st.binary(max_size=2000), st.integers(0, 2**33)),
    st.builds(Entry, st.just("dir"), st.integers(0, 0o7777), st.just(b""), st.integers(0, 2**33)),
    st.builds(Entry, st.just("symlink"), st.just(0o777), names.map(str.encode), st.integers(0, 2**33)),
)


@given(st.dictionaries(st.tuples(names, names).map("/".join), entries, max_size=5))
@settings(max_examples=100, deadline=None)
def test_what_goes_in_comes_out(files: dict[str, Entry]) -> None:
    tree = Tree(files)
    assert Tree.from_tar(tree.to_tar()) == tree
    assert tree.to_tar() == Tree(dict(reversed(files.items()))).to_tar()


def test_names_that_are_no_text_come_out() -> None:
    tree = Tree({"\udcff\udc80": Entry(data=b"x"), "long/" + "n" * 300: Entry("symlink", 0o777, b"\xff")})
    assert Tree.from_tar(tree.to_tar()) == tree


def test_tars_of_other_programs_are_read() -> None:
    plain = archive(
        member("./", type=tarfile.DIRTYPE),
        member("./dir/", type=tarfile.DIRTYPE, mode=0o750),
        member("./dir/file", mode=0o640, mtime=7, uid=0, uname="root"),
        member("dir/hard", type=tarfile.LNKTYPE, linkname="./dir/file"),
        member("dir/deep/link", type=tarfile.SYMTYPE, linkname="../../dir/file", mode=0o777),
        kind=tarfile.GNU_FORMAT,
    )
    file = Entry("file", 0o640, b"x", 7)
    assert Tree.from_tar(plain) == Tree(
        {
            "dir": Entry("dir", 0o750),
            "dir/file": file,
            "dir/hard": file,
            "dir/deep/link": Entry("symlink", 0o777, b"../../dir/file"),
        }
    )


def link(name: str, target: str) -> tarfile.TarInfo:
    return member(name, type=tarfile.SYMTYPE, linkname=target)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([member("../x")], "no path"),
        ([member("a/../../x")], "no path"),
        ([member("/etc/passwd")], "no path"),
        ([member("a//b")], "no path"),
        ([member(".")], "no path"),
        ([link("x", "/etc")], "may leave"),
        ([link("x", "..")], "may leave"),
        ([link("a/b/x", "../../../y")], "may leave"),
        # inside by its letters, outside by way of another link
        ([link("a/b/up", "../.."), link("x", "a/b/up/../y")], "may leave"),
        ([link("x", "")], "may leave"),
        ([link("x", "y"), member("x/z")], "lies below"),
        ([member("x"), member("x/z")], "lies below"),
        ([member("x/z"), member("x")], "something lies below"),
        ([member("x"), member("x")], "twice"),
        ([member("x", type=tarfile.DIRTYPE), link("./x", "y")], "twice"),
        ([member("x", type=tarfile.LNKTYPE, linkname="/etc/passwd")], "no file before it"),
        ([member("x", type=tarfile.LNKTYPE, linkname="../y")], "no file before it"),
        ([link("l", "y"), member("x", type=tarfile.LNKTYPE, linkname="l")], "no file before it"),
        ([member("x", type=tarfile.CHRTYPE)], "a device"),
        ([member("x", type=tarfile.BLKTYPE)], "a device"),
        ([member("x", type=tarfile.FIFOTYPE)], "a pipe"),
        ([member("x", type=tarfile.CONTTYPE), member("../y")], "no path"),
    ],
)
def test_entries_that_no_tree_may_have_are_refused(members: list[tarfile.TarInfo], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Tree.from_tar(archive(*members))


def test_bombs_are_refused() -> None:
    with pytest.raises(ValueError, match="too large in sum"):
        Tree.from_tar(archive(member("x"), data=b"x" * 100), max_bytes=99)
    many = archive(
        member("x"), *(member(f"y{n}", type=tarfile.LNKTYPE, linkname="x") for n in range(20)), data=b"x" * 9
    )
    with pytest.raises(ValueError, match="too large in sum"):
        Tree.from_tar(many, max_bytes=100)
    with pytest.raises(ValueError, match="more than 3 entries"):
        Tree.from_tar(archive(*(member(str(n)) for n in range(5))), max_entries=3)
    sparse = member("x", pax_headers={"GNU.sparse.map": "0,0", "GNU.sparse.size": str(2**50)})
    with pytest.raises(ValueError, match="holes"):
        Tree.from_tar(archive(sparse, data=b""))
    claims = bytearray(archive(member("x")))
    claims[124:136] = b"\x80" + (2**60).to_bytes(11, "big")
    claims[148:156] = b"%06o\0 " % (sum(claims[:148]) + sum(claims[156:512]) + 8 * 32)
    with pytest.raises(ValueError, match=r"too large|whole"):
        Tree.from_tar(bytes(claims))


def test_what_is_no_whole_tar_is_refused() -> None:
    whole = archive(member("x"), data=b"x" * 3000)
    for data in (b"", b"no tar", gzip.compress(whole), whole[:2000], whole[:700], b"\0" * 100, b"\xff" * 2000):
        with pytest.raises(ValueError, match=r"archive"):
            Tree.from_tar(data)


@given(st.binary(max_size=3000), st.integers(0, 1500), st.binary(max_size=40))
@settings(max_examples=150, deadline=None)
def test_no_bytes_raise_anything_else(noise: bytes, place: int, other: bytes) -> None:
    whole = archive(member("dir/x"), link("y", "dir/x"), data=b"xyz")
    for data in (noise, whole[:place] + other + whole[place + len(other) :]):
        try:
            tree = Tree.from_tar(data)
        except ValueError:
            continue
        assert Tree.from_tar(tree.to_tar()) == tree


def test_an_entry_of_another_kind_is_in_no_archive() -> None:
    with pytest.raises(ValueError, match="'pipe' is of kind 'other'"):
        Tree({"pipe": Entry("other")}).to_tar()
