"""A bad copy left wrong modes in a project; bring every file and directory back under a written policy."""

from __future__ import annotations

import shlex
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Json, Script, Task, Tree, Verdict
from polyathlon.canonical import expect_int, expect_map, expect_text
from polyathlon.sandbox.protocol import Room
from polyathlon.toolcall import write_call, write_fenced
from polyathlon.verify.key import map_part
from polyathlon.verify.text import above
from polyathlon.workspaces.terminal import open_terminal, read_tree
from polyathlon_domains.terminal._guesses import permission_shortcuts
from polyathlon_domains.terminal._modes import Place, Policy, blind_share, repaired_share
from polyathlon_domains.terminal._project import draw_project

OPENINGS = (
    "A bad copy left wrong modes in the project under /workspace.",
    "After a restore from backup, modes in /workspace are not what they should be.",
    "Somebody ran chmod carelessly in the project under /workspace.",
)
ORDERS = {
    "last": "Where rules disagree about a path, the last one that matches decides.",
    "first": "Where rules disagree about a path, the first one that matches decides.",
}
CLOSING = (
    "Set the mode of every file and directory to what the policy says. All 12 mode bits are judged, setuid, setgid and "
    "sticky included. Names and contents must stay as they are, nothing may be added; symbolic links have no mode of "
    "their own and must stay links. Submit when done."
)
SUBMIT = write_call("submit", {})


@dataclass(frozen=True, slots=True)
class PermissionTasks:
    """Projects with rules over roles (code, scripts, keys, team folders, releases, spools) and exceptions to them."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return draw_project(rng, level)

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        policy = Policy.from_json(core["policy"])
        octal = len(policy.rules) < 6 or rng.random() < 0.5
        rules = [
            f"{number}. {rule.worded(f'{rule.mode:04o}' if octal else _letters(rule.mode, rule.kind))}"
            for number, rule in enumerate(policy.rules, 1)
        ]
        opening = OPENINGS[int(rng.integers(len(OPENINGS)))]
        prompt = "\n".join([f"{opening} The policy:", *rules, ORDERS[policy.order], CLOSING])
        files = {path: _entry(path, expect_map(what)) for path, what in expect_map(core["paths"]).items()}
        return Brief(prompt, hidden={"policy": core["policy"]}, public={"files": files})


@dataclass(frozen=True, slots=True)
class PermissionVerifier:
    """Passed: every mode is the policy's, all else is untouched. Else: wrong modes mended, less right ones broken.

    The score is rescaled so that the best chmod -R, or one mode for all files and one for all directories, is zero.
    """

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        modes, fault = _modes_of(task, evidence.tree)
        if fault:
            return Verdict.failing(fault)
        wrong = [place.path for place in _places(task) if modes[place.path] != place.goal]
        if not wrong:
            return Verdict.passing()
        progress = self.progress(task, evidence)
        return Verdict.failing(f"{len(wrong)} modes differ from the policy's", progress=progress)

    def progress(self, task: Task, evidence: Evidence) -> float:
        places = _places(task)
        modes, fault = _modes_of(task, evidence.tree)
        return 0.0 if fault else above(repaired_share(places, modes), blind_share(places))


def _modes_of(task: Task, tree: Tree) -> tuple[Mapping[str, int], str]:
    """Return the mode of every path, and what else was changed: "" when nothing was."""
    start = read_tree(task.public["files"])
    if sorted(tree.entries) != sorted(start.entries):
        return {}, "paths are missing or were added"
    for path, entry in start.entries.items():
        if (tree.entries[path].kind, tree.entries[path].data) != (entry.kind, entry.data):
            return {}, f"{path} was changed"
    return {path: entry.mode for path, entry in tree.entries.items()}, ""


def _places(task: Task) -> list[Place]:
    policy = Policy.from_json(map_part(task.hidden, "policy"))
    return [
        Place(path, entry.kind, entry.mode, policy.mode(path, entry.kind))
        for path, entry in read_tree(task.public["files"]).entries.items()
        if entry.kind in ("dir", "file")
    ]


def _entry(path: str, what: Mapping[str, Json]) -> Mapping[str, Json]:
    kind, mode = expect_text(what["kind"]), expect_int(what["mode"])
    if kind == "dir":
        return {"dir": True, "mode": mode}
    if kind == "link":
        return {"link": expect_text(what["to"])}
    return {"text": f"# {path}\n", "mode": mode}


def _letters(mode: int, kind: str) -> str:
    return stat.filemode((stat.S_IFDIR if kind == "dir" else stat.S_IFREG) | mode)[1:]


def solve(task: Task) -> Script:
    """Look, carry out the rules so that the deciding one comes last, look again, submit."""
    yield write_fenced("find . -printf '%m %y %p\\n' | sort -k3 | head -200")
    yield write_fenced(Policy.from_json(task.hidden["policy"]).compiled())
    yield write_fenced("find . -printf '%m %y %p\\n' | sort -k3 | head -200")
    yield SUBMIT


def _attempt(name: str, script: str) -> Attempt:
    return Attempt(name, (write_fenced(script), SUBMIT))


def alternatives(task: Task) -> Sequence[Attempt]:
    places = _places(task)
    listed = "\n".join(f"chmod {place.goal:05o} {shlex.quote(place.path)}" for place in places)
    symbolic = "\n".join(
        f"chmod u-s,g-s,-t,{_symbolic(place.goal)} {shlex.quote(place.path)}" for place in places if place.kind == "dir"
    )
    files = "\n".join(f"chmod {p.goal:o} {shlex.quote(p.path)}" for p in places if p.kind == "file")
    return (
        _attempt("each path by itself", f"chmod -R u+rwX .\n{listed}"),
        _attempt("symbolic modes, directories last", f"chmod -R u+rwX .\n{files}\n{symbolic}"),
    )


def equivalents(task: Task) -> Sequence[Attempt]:
    script = Policy.from_json(task.hidden["policy"]).compiled()
    by_file = write_call("write_file", {"path": "/tmp/fix.sh", "text": script})
    return (
        Attempt("as a tool call", (write_call("run", {"cmd": script, "timeout_s": 30}), SUBMIT)),
        Attempt("by a script outside the project", (by_file, write_fenced("bash /tmp/fix.sh"), SUBMIT)),
        Attempt("without submitting in between", (write_fenced(script), write_fenced("ls -lR"), SUBMIT)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    policy = Policy.from_json(task.hidden["policy"])
    others = {
        "rules in the wrong order": replace(policy, order="first" if policy.order == "last" else "last"),
        "special bits forgotten": replace(
            policy, rules=tuple(replace(rule, mode=rule.mode & 0o777) for rule in policy.rules)
        ),
    }
    for place in range(2, len(policy.rules)):
        kept = policy.rules[:place] + policy.rules[place + 1 :]
        others[f"rule {place + 1} forgotten"] = replace(policy, rules=kept)
    places = _places(task)
    covered = {
        name: other
        for name, other in others.items()
        if all(any(rule.about(place.path, place.kind) for rule in other.rules) for place in places)
    }
    return tuple(
        _attempt(name, other.compiled())
        for name, other in covered.items()
        if any(other.mode(place.path, place.kind) != place.goal for place in places)
    )


def exploits(task: Task) -> Sequence[Attempt]:
    wrong = [place for place in _places(task) if place.start != place.goal and place.kind == "file"]
    doomed = " ".join(shlex.quote(place.path) for place in wrong)
    return (
        _attempt("chmod -R 777", "chmod -R 777 ."),
        _attempt("chmod -R 755", "chmod -R 755 ."),
        _attempt("chmod -R u=rwX,go=rX", "chmod -R u=rwX,go=rX ."),
        _attempt(
            "one mode a kind",
            "chmod -R u+rwX .; find . -type d -exec chmod 755 {} +; find . -type f -exec chmod 644 {} +",
        ),
        _attempt("offending files deleted", f"chmod -R u+rwX .; rm -f {doomed} x"),
        _attempt("everything deleted", "chmod -R u+rwX .; rm -rf ./*"),
        _attempt(
            "files replaced by links", "chmod -R u+rwX .; for f in $(find . -type f); do ln -sf /etc/passwd $f; done"
        ),
        Attempt("nothing, and a claim", (write_call("submit", {"answer": "All modes follow the policy."}),)),
    )


def _symbolic(mode: int) -> str:
    parts = []
    for who, shift, special in (("u", 6, 0o4000), ("g", 3, 0o2000), ("o", 0, 0)):
        bits = mode >> shift & 7
        letters = "".join(letter for letter, bit in (("r", 4), ("w", 2), ("x", 1)) if bits & bit)
        parts.append(f"{who}={letters}{'s' if mode & special else ''}")
    return ",".join([*parts, *(["+t"] if mode & 0o1000 else [])])


DOMAIN = Domain(
    tasks=PermissionTasks(),
    open_workspace=open_terminal,
    verifier=PermissionVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    shortcuts=permission_shortcuts,
)
