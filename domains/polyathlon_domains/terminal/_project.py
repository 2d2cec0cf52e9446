"""Projects with wrong modes: folders by role, a policy over them, and what a careless copy made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from polyathlon import Json
from polyathlon_domains.terminal._modes import Policy, Rule

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Role:
    """What a kind of folder is called, what lies in it, and which modes its folders and files may be given."""

    names: tuple[str, ...]
    files: tuple[str, ...]
    folder_modes: tuple[int, ...]
    file_modes: tuple[int, ...]
    exceptions: tuple[tuple[str, tuple[int, ...]], ...]


ROLES = {
    "code": Role(
        ("src", "app", "lib", "web", "core"),
        ("main.py", "parser.py", "store.c", "index.html", "README.md", "notes.txt", "start.sh"),
        (),
        (),
        (("*.html", (0o644, 0o664)), ("README.md", (0o444, 0o644)), ("*.c", (0o640, 0o600))),
    ),
    "bin": Role(
        ("bin", "tools", "scripts", "deploy"),
        ("build.sh", "run.sh", "backup.sh", "migrate", "check", "README.md", "env.conf"),
        (0o755, 0o750, 0o711),
        (0o755, 0o750, 0o700, 0o775),
        (("README.md", (0o644, 0o444)), ("*.conf", (0o640, 0o600))),
    ),
    "keys": Role(
        ("keys", "private", "vault", "certs"),
        ("server.key", "client.key", "chain.pem", "server.pub", "token.txt", "README.md"),
        (0o700, 0o750, 0o500),
        (0o600, 0o400, 0o640),
        (("*.pub", (0o644, 0o444)), ("README.md", (0o644, 0o640))),
    ),
    "team": Role(
        ("shared", "team", "inbox", "handover"),
        ("plan.md", "budget.csv", "minutes.txt", "todo.txt", "sync.sh"),
        (0o2775, 0o2770, 0o2750),
        (0o664, 0o660),
        (("*.sh", (0o775, 0o770)), ("budget.csv", (0o640, 0o440))),
    ),
    "release": Role(
        ("release", "archive", "snapshots"),
        ("v1.tar", "v2.tar", "sums.txt", "index.json", "install.sh"),
        (0o555, 0o755, 0o550),
        (0o444, 0o440),
        (("*.sh", (0o555, 0o550)), ("index.json", (0o644, 0o664))),
    ),
    "spool": Role(
        ("spool", "queue", "drop"),
        ("job.txt", "retry.txt", "lock", "handler.sh"),
        (0o1777, 0o1775, 0o3770),
        (0o666, 0o660, 0o622),
        (("*.sh", (0o755, 0o4755)), ("lock", (0o600, 0o660))),
    ),
}
SUBFOLDERS = ("old", "eu", "us", "v2", "daily", "staging", "common", "legacy")

# (roles, most files a folder, subfolders a role, exceptions, links?, shut folders?, which rule may decide) a level
_LEVELS: tuple[tuple[tuple[str, ...], int, int, int, bool, bool, tuple[str, ...]], ...] = (
    (("code", "bin"), 4, 1, 0, False, False, ("last",)),
    (("code", "bin", "keys", "team"), 4, 1, 1, False, False, ("last",)),
    (("code", "bin", "keys", "team", "release"), 5, 1, 3, False, False, ("last",)),
    (("code", "bin", "keys", "team", "release", "spool"), 5, 2, 5, True, False, ("last", "first")),
    (("code", "bin", "keys", "team", "release", "spool"), 6, 3, 8, True, True, ("last", "first")),
)
_WRONG_FOLDERS = (0o777, 0o700, 0o775, 0o755, 0o750, 0o2755, 0o1777)
_SHUT_FOLDERS = (0o000, 0o400, 0o600, 0o500, 0o555)
_WRONG_FILES = (0o777, 0o755, 0o666, 0o664, 0o644, 0o600, 0o400, 0o640)
_SHUT_FILES = (0o000, 0o200, 0o4755, 0o111)


def draw_project(rng: np.random.Generator, level: int) -> Mapping[str, Json]:
    """Return {"policy": ..., "paths": {path: {"kind", "mode"}}} with at least three wrong and three right modes."""
    while True:
        paths = _draw_paths(rng, level)
        policy = _draw_policy(rng, level, paths)
        modes = _draw_modes(rng, level, policy, paths)
        wrong = sum(modes[path] != policy.mode(path, kind) for path, kind in paths.items())
        if 3 <= wrong <= len(paths) - 3:
            break
    drawn: dict[str, Json] = {path: {"kind": kind, "mode": modes[path]} for path, kind in paths.items()}
    if _LEVELS[level][4]:
        drawn |= _draw_links(rng, [*paths])
    return {"policy": policy.to_json(), "paths": drawn}


def _draw_paths(rng: np.random.Generator, level: int) -> dict[str, str]:
    roles, most, num_subfolders, *_ = _LEVELS[level]
    paths = {"README.md": "file", "Makefile": "file"}
    for role in roles:
        top = _pick(rng, [name for name in ROLES[role].names if name not in paths])
        folders = [top, *(f"{top}/{_pick(rng, SUBFOLDERS)}" for _ in range(num_subfolders))]
        if level >= 3:
            folders.append(f"{folders[-1]}/{_pick(rng, SUBFOLDERS)}")
        for folder in dict.fromkeys(folders):
            paths[folder] = "dir"
            for place in rng.permutation(len(ROLES[role].files))[: int(rng.integers(2, most + 1))]:
                paths[f"{folder}/{ROLES[role].files[place]}"] = "file"
    return paths


def _draw_policy(rng: np.random.Generator, level: int, paths: Mapping[str, str]) -> Policy:
    roles, _, _, num_exceptions, _, _, orders = _LEVELS[level]
    tops = [path for path, kind in paths.items() if kind == "dir" and "/" not in path]
    rules = [
        Rule("dir", _pick(rng, (0o755, 0o750, 0o775, 0o770, 0o711, 0o751))),
        Rule("file", _pick(rng, (0o644, 0o640, 0o664, 0o660, 0o600, 0o444))),
        Rule("file", _pick(rng, (0o755, 0o750, 0o700, 0o775, 0o744, 0o740)), glob="*.sh"),
    ]
    exceptions: list[Rule] = []
    for role, top in zip(roles, tops, strict=True):
        if ROLES[role].folder_modes and (level > 0 or rng.random() < 0.5):
            rules.append(Rule("dir", _pick(rng, ROLES[role].folder_modes), under=top))
        if ROLES[role].file_modes:
            rules.append(Rule("file", _pick(rng, ROLES[role].file_modes), under=top))
        for glob, modes in ROLES[role].exceptions:
            exceptions.append(Rule("file", _pick(rng, modes), under=top, glob=glob))
    files = [path for path, kind in paths.items() if kind == "file"]
    for _ in range(num_exceptions // 3):
        exceptions.append(Rule("file", _pick(rng, (0o600, 0o644, 0o640, 0o755)), path=_pick(rng, files)))
    chosen = [exceptions[place] for place in sorted(rng.permutation(len(exceptions))[:num_exceptions].tolist())]
    rules += [rule for rule in chosen if any(rule.about(path, kind) for path, kind in paths.items())]
    return Policy(tuple(rules), "last") if _pick(rng, orders) == "last" else Policy(tuple(rules[::-1]), "first")


def _draw_modes(rng: np.random.Generator, level: int, policy: Policy, paths: Mapping[str, str]) -> dict[str, int]:
    shut_folders = _LEVELS[level][5]
    modes: dict[str, int] = {}
    for path, kind in paths.items():
        goal = policy.mode(path, kind)
        wrong: tuple[int, ...]
        if kind == "dir":
            wrong = _WRONG_FOLDERS if level >= 2 else _WRONG_FOLDERS[:5]
            wrong = (*wrong, *_SHUT_FOLDERS) if shut_folders else wrong
        else:
            wrong = (*_WRONG_FILES, *_SHUT_FILES) if level >= 2 else _WRONG_FILES
        modes[path] = _pick(rng, [mode for mode in wrong if mode != goal]) if rng.random() < 0.55 else goal
    return modes


def _draw_links(rng: np.random.Generator, paths: list[str]) -> dict[str, Json]:
    tops = [path for path in paths if "/" not in path]
    links: dict[str, Json] = {}
    for name in ("current", "latest", "link-to-readme")[: int(rng.integers(2, 4))]:
        links[name] = {"kind": "link", "mode": 0o777, "to": _pick(rng, paths)}
    links[f"{tops[2]}/up"] = {"kind": "link", "mode": 0o777, "to": f"../{_pick(rng, tops)}"}
    return links


def _pick(rng: np.random.Generator, items: Sequence[T]) -> T:
    return items[int(rng.integers(len(items)))]
