"""Patches: what applies, what is refused and with which words, and the same results as git's own."""

from __future__ import annotations

import difflib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polyathlon.errors import PatchRefused
from polyathlon.patch import MAX_CHARS, apply_patch, paths_of
from polyathlon.tree import Entry, Tree

TEN = "".join(f"line {number}\n" for number in range(1, 11))


def patched(tree: Tree, patch: str) -> Tree:
    changes = apply_patch(tree, patch)
    return tree.without(*changes.removed).with_files(changes.written)


def hunk(header: str, *lines: str, path: str = "x") -> str:
    return f"--- a/{path}\n+++ b/{path}\n@@ {header} @@\n" + "".join(f"{line}\n" for line in lines)


def test_a_hunk_replaces_its_lines() -> None:
    tree = patched(Tree.of({"x": TEN, "y": "kept"}), hunk("-3,3 +3,3", " line 3", "-line 4", "+four", " line 5"))
    assert tree.text("x") == TEN.replace("line 4", "four")
    assert tree.text("y") == "kept"


def test_only_what_changes_is_named() -> None:
    changes = apply_patch(Tree.of({"x": TEN, "y": "kept"}), hunk("-1 +1", "-line 1", "+one"))
    assert (list(changes.written), changes.removed) == (["x"], ())


def test_an_offset_is_found_where_there_is_one_place() -> None:
    moved = Tree.of({"x": "new\nnewer\n" + TEN})
    patch = hunk("-3,2 +3,2", " line 3", "-line 4", "+four") + "@@ -9,2 +9,1 @@\n line 9\n-line 10\n"
    assert patched(moved, patch).text("x") == ("new\nnewer\n" + TEN).replace("line 4", "four").replace("line 10\n", "")


def test_more_than_one_place_is_refused() -> None:
    with pytest.raises(PatchRefused, match=r"x: hunk 1 \(@@ -9,1 @@\) .* more than one other place"):
        apply_patch(Tree.of({"x": "a\nb\na\nb\n"}), hunk("-9 +9", "-b", "+c"))
    # the place that it names is right without being the only one
    assert patched(Tree.of({"x": "a\nb\na\nb\n"}), hunk("-4 +4", "-b", "+c")).text("x") == "a\nb\na\nc\n"


def test_a_refusal_names_file_hunk_line_and_what_stands_there() -> None:
    with pytest.raises(PatchRefused, match=r"x: hunk 1 .*: line 4 should be 'four\\n', and is 'line 4\\n'\. Nothing"):
        apply_patch(Tree.of({"x": TEN}), hunk("-3,2 +3,2", " line 3", "-four", "+4"))
    with pytest.raises(PatchRefused, match=r"line 11 should be 'line 11\\n', and the file has 10 lines"):
        apply_patch(Tree.of({"x": TEN}), hunk("-10,2 +10,1", " line 10", "-line 11"))


def test_all_of_it_or_nothing() -> None:
    tree = Tree.of({"x": TEN, "y": TEN})
    good, bad = hunk("-1 +1", "-line 1", "+one"), hunk("-1 +1", "-nowhere", "+one", path="y")
    with pytest.raises(PatchRefused, match="y: hunk 1"):
        apply_patch(tree, good + bad)
    assert tree.text("x") == TEN


def test_files_are_made_removed_renamed_and_copied_with_their_modes() -> None:
    tree = Tree.of({"old": "a\n", "gone": "b\n", "run": "c\n", "first": "d\n", "empty": ""})
    patch = (
        "diff --git a/dir/new b/dir/new\nnew file mode 100755\nindex 0000000..1\n--- /dev/null\n+++ b/dir/new\n"
        "@@ -0,0 +1,2 @@\n+one\n+two\n"
        "diff --git a/gone b/gone\ndeleted file mode 100644\nindex 1..0000000\n--- a/gone\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-b\n"
        "diff --git a/old b/renamed\nsimilarity index 50%\nrename from old\nrename to renamed\nindex 1..2 100644\n"
        "--- a/old\n+++ b/renamed\n@@ -1 +1,2 @@\n a\n+more\n"
        "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
        "diff --git a/first b/second\nsimilarity index 100%\ncopy from first\ncopy to second\n"
        "diff --git a/empty b/empty\ndeleted file mode 100644\nindex e69de29..0000000\n"
        "diff --git a/blank b/blank\nnew file mode 100644\nindex 0000000..e69de29\n"
    )
    after = patched(tree, patch)
    assert {path: entry.text() for path, entry in after.entries.items()} == {
        "dir/new": "one\ntwo\n",
        "renamed": "a\nmore\n",
        "run": "c\n",
        "first": "d\n",
        "second": "d\n",
        "blank": "",
    }
    assert [path for path, entry in after.entries.items() if entry.mode == 0o755] == ["run", "dir/new"]


def test_a_mode_that_the_patch_does_not_change_stays() -> None:
    tree = Tree.of({"x": Entry(mode=0o600, data=b"a\n")})
    patch = "diff --git a/x b/x\nindex 1..2 100644\n" + hunk("-1 +1", "-a", "+b")
    assert patched(tree, patch).get("x") == Entry(mode=0o600, data=b"b\n")


def test_plain_diffs_without_prefixes_and_with_times() -> None:
    tree = Tree.of({"src/x": "a\n"})
    patch = "--- src/x.orig\t2020-01-01 00:00:00\n+++ src/x\t2020-01-02 00:00:00\n@@ -1 +1 @@\n-a\n+b\n"
    assert patched(tree, patch).text("src/x") == "b\n"
    made = "--- old/n\t1970-01-01 00:00:00.0 +0000\n+++ n\t2020-01-02 00:00:00\n@@ -0,0 +1 @@\n+b\n"
    assert patched(tree, made).text("n") == "b\n"
    both = tree.with_files({"src/x.orig": "a\n"})
    with pytest.raises(PatchRefused, match="names of one file, and both are there"):
        apply_patch(both, patch)


def test_ends_of_lines_stay_as_they_are() -> None:
    crlf = Tree.of({"x": "a\r\nb\r\n"})
    assert patched(crlf, hunk("-1,2 +1,2", " a\r", "-b\r", "+c\r")).get("x") == Entry(data=b"a\r\nc\r\n")
    with pytest.raises(PatchRefused, match=r"line 1 should be 'a\\n', and is 'a\\r\\n'"):
        apply_patch(crlf, hunk("-1,2 +1,2", " a", "-b", "+c"))
    bare = Tree.of({"x": "a\nb"})
    mark = "\\ No newline at end of file"
    assert patched(bare, hunk("-1,2 +1,2", " a", "-b", mark, "+c", mark)).text("x") == "a\nc"
    assert patched(bare, hunk("-1,2 +1,2", " a", "-b", mark, "+b")).text("x") == "a\nb\n"
    assert patched(bare, hunk("-1,2 +1,1", "-a", " b", mark)).text("x") == "b"
    with pytest.raises(PatchRefused, match=r"line 2 should be 'b\\n', and is 'b'"):
        apply_patch(bare, hunk("-1,2 +1,2", " a", "-b", "+c"))


def test_a_line_without_its_end_may_not_come_before_another() -> None:
    with pytest.raises(PatchRefused, match="without its end"):
        apply_patch(Tree.of({"x": "a\nb\n"}), hunk("-1 +1", "-a", "+c", "\\ No newline at end of file"))


def test_text_that_is_not_utf8_around_a_hunk_is_kept() -> None:
    tree = Tree.of({"x": b"\xff\xfe\na\n\x00\n"})
    assert patched(tree, hunk("-2 +2", "-a", "+\u00e9")).get("x") == Entry(data=b"\xff\xfe\n\xc3\xa9\n\x00\n")


def test_insertions_without_context_stand_where_they_say() -> None:
    assert patched(Tree.of({"x": "a\nb\n"}), hunk("-1,0 +2,1", "+new")).text("x") == "a\nnew\nb\n"
    assert patched(Tree.of({"x": "a\nb\n"}), hunk("-0,0 +1,1", "+new")).text("x") == "new\na\nb\n"
    with pytest.raises(PatchRefused, match="goes after line 7, and the file has 2 lines"):
        apply_patch(Tree.of({"x": "a\nb\n"}), hunk("-7,0 +8,1", "+new"))


def test_names_that_git_quotes() -> None:
    tree = Tree.of({"caf\u00e9 \t.txt": "a\n"})
    quoted = '"a/caf\\303\\251 \\t.txt"', '"b/caf\\303\\251 \\t.txt"'
    patch = f"diff --git {quoted[0]} {quoted[1]}\n--- {quoted[0]}\n+++ {quoted[1]}\n@@ -1 +1 @@\n-a\n+b\n"
    assert paths_of(patch) == ("caf\u00e9 \t.txt",)
    assert patched(tree, patch).text("caf\u00e9 \t.txt") == "b\n"


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        (hunk("-0,0 +1", "+x", path="../../etc/cron"), "no path inside"),
        ("--- /dev/null\n+++ /etc/passwd\n@@ -0,0 +1 @@\n+x\n", "no path inside"),
        ("--- /dev/null\n+++ b//etc/passwd\n@@ -0,0 +1 @@\n+x\n", "no path inside"),
        ('--- /dev/null\n+++ "b/\\056\\056/x"\n@@ -0,0 +1 @@\n+x\n', "no path inside"),
        ("--- /dev/null\n+++ b/link/x\n@@ -0,0 +1 @@\n+x\n", "link is a symlink"),
        ("--- /dev/null\n+++ b/file/x\n@@ -0,0 +1 @@\n+x\n", "file is a file"),
        ("--- /dev/null\n+++ b/file\n@@ -0,0 +1 @@\n+x\n", "is there already"),
        (hunk("-1 +1", "-target", "+x", path="link"), "no regular file"),
        (hunk("-1 +1", "-x", "+y", path="none"), "no such file"),
        (hunk("-1,9 +1,9", "-x", "+y"), "no unified diff at its line 5"),
        ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n", "mode 120000"),
        ("diff --git a/l b/l\nnew file mode 104755\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n", "mode 104755"),
        ("diff --git a/l b/l\nnew file mode 100644\nGIT binary patch\nliteral 1\nIcma\n", "binary"),
        ("diff --git a/file b/dir\nsimilarity index 100%\nrename from file\nrename to dir\n", "is there already"),
        ("diff --git a/file b/file\ndeleted file mode 100644\n", "to be removed, but"),
        ("--- a/file\n+++ b/file\n", "without a hunk"),
        ("no patch\n", "names no file"),
        ("", "names no file"),
        ("@@ -1 +1 @@\n-a\n+b\n", "no unified diff"),
        (hunk("-1 +1", "-\ud800", "+y", path="file"), "not Unicode"),
        ("x" * (MAX_CHARS + 1), "at most"),
        ("".join(hunk("-0,0 +1", "+x", path=f"p{n}") for n in range(500)), "at most"),
        ("--- a/file\n+++ b/file\n" + "@@ -1 +1 @@\n-a\n+a\n" * 5000, "at most"),
        (hunk("-99999999999999999999 +1", "-a", "+b", path="file"), "does not fit"),
        ("--- a/" + "x/" * 2000 + "y\n+++ b/" + "x/" * 2000 + "y\n@@ -1 +1 @@\n-a\n+b\n", "characters"),
    ],
)
def test_hostile_and_broken_patches_are_refused(patch: str, words: str) -> None:
    tree = Tree.of({"link": Entry("symlink", 0o777, b"/etc"), "file": "f\n", "dir": Entry("dir", 0o755)})
    with pytest.raises(PatchRefused, match=words):
        apply_patch(tree, patch)


def test_hunks_that_cost_too_much_to_place_are_refused() -> None:
    tree = Tree.of({"x": b"a\n" * 200_000})
    patch = "--- a/x\n+++ b/x\n" + "@@ -1 +1 @@\n-nowhere\n+b\n" * 2
    with pytest.raises(PatchRefused, match="line 1 should be 'nowhere"):
        apply_patch(tree, patch)
    many = "--- a/x\n+++ b/x\n" + "@@ -1,2 +1 @@\n-a\n-a\n+a\n" + "@@ -199999 +199999 @@\n-a\n+a\n" * 500
    with pytest.raises(PatchRefused):
        apply_patch(tree, many)


names = st.sampled_from(["x", "dir/y", "z.txt"])
texts = st.lists(
    st.sampled_from(["a", "b", "c", "", " ", "\t", "-", "+", "--- a", "@@ -1 +1 @@", "\\", "e\u00e9\r"]), max_size=30
)
ends = st.sampled_from(["", "\n"])


@given(old=texts, new=texts, old_end=ends, new_end=ends, context=st.integers(0, 4))
@settings(max_examples=150, deadline=None)
def test_a_diff_of_two_texts_makes_the_one_of_the_other(
    old: list[str], new: list[str], old_end: str, new_end: str, context: int
) -> None:
    before, after = ("\n".join(lines) + end if lines else "" for lines, end in ((old, old_end), (new, new_end)))
    patch = unified(before, after, context)
    if patch:
        assert patched(Tree.of({"x": before}), patch).get("x") == Entry(data=after.encode())


@pytest.mark.skipif(shutil.which("git") is None, reason="no git to compare with")
@given(old=texts, new=texts, shift=st.lists(st.sampled_from(["q", "a", "b"]), max_size=3), end=ends)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_git_applies_in_one_place_only_is_applied_in_the_same(
    tmp_path: Path, old: list[str], new: list[str], shift: list[str], end: str
) -> None:
    """On a file with lines put before it. Git takes the nearest of several places, which is refused here."""
    before, after = ("\n".join(lines) + end if lines else "" for lines in (old, new))
    patch = unified(before, after, 3)
    if not patch or not before:
        return
    shifted = "".join(f"{line}\n" for line in shift) + before
    (tmp_path / "x").write_bytes(shifted.encode())
    git = subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=tmp_path, capture_output=True, check=False)
    try:
        ours, words = patched(Tree.of({"x": shifted}), patch).get("x"), ""
    except PatchRefused as refusal:
        ours, words = None, str(refusal)
    if git.returncode == 0:
        assert ours == Entry(data=(tmp_path / "x").read_bytes()) or "more than one other place" in words


@pytest.mark.skipif(shutil.which("git") is None, reason="no git to compare with")
@given(
    before=st.dictionaries(names, st.tuples(texts, st.booleans()), max_size=3),
    after=st.dictionaries(names, st.tuples(texts, st.booleans()), max_size=3),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_gits_own_diff_of_two_trees_makes_the_one_of_the_other(
    tmp_path: Path, before: dict[str, tuple[list[str], bool]], after: dict[str, tuple[list[str], bool]]
) -> None:
    trees = [
        Tree.of(
            {path: Entry("file", 0o755 if runs else 0o644, "\n".join(t).encode()) for path, (t, runs) in tree.items()}
        )
        for tree in (before, after)
    ]
    for name, tree in zip(("a", "b"), trees, strict=True):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        (tmp_path / name).mkdir()
        for path, entry in tree.entries.items():
            place = tmp_path / name / path
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(entry.data)
            place.chmod(entry.mode)
    diff = ["git", "diff", "--no-index", "--no-prefix", "-M", "--no-color", "a", "b"]
    patch = subprocess.run(diff, cwd=tmp_path, capture_output=True, check=False).stdout.decode()
    if patch and "rename" not in patch:  # of two folders, its renames have their names in them
        assert patched(trees[0], patch) == trees[1]


def unified(before: str, after: str, context: int) -> str:
    """Return the diff of two texts of one file, as diff(1) writes it: difflib has no mark for a missing last end."""
    split = [text.split("\n") for text in (before, after)]
    old, new = ([line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else []) for lines in split)
    lines = difflib.unified_diff(old, new, "a/x", "b/x", n=context)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
