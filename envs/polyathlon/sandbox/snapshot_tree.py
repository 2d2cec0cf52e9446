"""Layers as a plain tree of files, and a tree as a layer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polyathlon.sandbox.launcher.trees import Node, Step, sparse
from polyathlon.tree import Entry, Tree


def tree_steps(tree: Tree) -> list[Step]:
    """Return `tree` as the nodes of one layer. Entries of kind "other" are not there."""
    steps: list[Step] = [Node("", "dir", 0o755)]
    open_folders: list[str] = []
    for path in sorted(_with_parents(tree), key=lambda path: path.split("/")):
        *folders, name = path.split("/")
        while open_folders and open_folders != folders[: len(open_folders)]:
            open_folders.pop()
            steps.append(None)
        entry = tree.get(path) or Entry("dir", 0o755)
        mtime_ns = entry.mtime_s * 10**9
        if entry.kind == "dir":
            steps.append(Node(name, "dir", entry.mode, mtime_ns))
            open_folders.append(name)
        elif entry.kind == "symlink":
            steps.append(Node(name, "symlink", 0o777, mtime_ns, target=entry.data.decode("utf-8", "surrogateescape")))
        elif entry.kind == "file":
            data = tuple(sparse(entry.data))
            steps.append(Node(name, "file", entry.mode, mtime_ns, len(entry.data), data))
    return [*steps, *(None for _ in open_folders), None]


def layers_tree(layers: Sequence[Iterable[Step]]) -> Tree:
    """Return the sum of `layers`, lowest first, as a tree: without attributes, and each name of a file by itself."""
    entries: dict[str, Entry] = {}
    for steps in layers:
        folders: list[str] = []
        files: dict[int, Entry] = {}
        number = 0
        for step in steps:
            if step is None:
                folders.pop()
                continue
            path = f"{folders[-1]}{step.name}" if folders else ""
            standing = entries.get(path)
            if step.kind == "dir":
                if step.opaque or (standing is not None and standing.kind != "dir"):
                    _remove(entries, path)
                folders.append(f"{path}/" if path else "")
            else:
                _remove(entries, path)
            if path and step.kind != "gone":
                entries[path] = files[number] = files[step.size] if step.kind == "link" else _entry(step)
            number += 1
    return Tree(entries)


def _entry(node: Node) -> Entry:
    mtime_s = node.mtime_ns // 10**9
    if node.kind == "symlink":
        return Entry("symlink", 0o777, node.target.encode("utf-8", "surrogateescape"), mtime_s)
    if node.kind == "dir":
        return Entry("dir", node.mode, b"", mtime_s)
    data = bytearray(node.size)
    for offset, stretch in node.data:
        data[offset : offset + len(stretch)] = stretch
    return Entry("file", node.mode, bytes(data), mtime_s)


def _remove(entries: dict[str, Entry], path: str) -> None:
    for below in [other for other in entries if other == path or other.startswith(f"{path}/") or not path]:
        del entries[below]


def _with_parents(tree: Tree) -> set[str]:
    paths = set(tree)
    for path in tree:
        parts = path.split("/")
        paths |= {"/".join(parts[:depth]) for depth in range(1, len(parts))}
    return paths
