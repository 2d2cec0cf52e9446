"""A persistent bash in a sandbox of its own, with tools to read, write and submit."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from typing import cast

from polyathlon.canonical import Json, expect_int, expect_map, expect_text
from polyathlon.clip import clip_text
from polyathlon.domain import Call, Evidence, Observation, Task, ToolSpec, WorkspaceState
from polyathlon.errors import DomainError, SandboxLost
from polyathlon.sandbox.protocol import Report, Room, Sandbox, SandboxRecord
from polyathlon.toolcall import ShortForm
from polyathlon.tree import Entry, Tree
from polyathlon.workspaces.toolbox import Outcome, Tool, Toolbox, text_parameters

DEFAULT_TIMEOUT_S = 20
MAX_TIMEOUT_S = 60
FILE_TIMEOUT_S = 10.0
MAX_OUTPUT_CHARS = 6_000

INSTRUCTIONS = (
    "You work in /workspace, in one bash that keeps its directory and variables from one command to the next. Send one "
    "message a turn, with one fenced bash block (it is run), or with one "
    '<tool_call>{"name": ..., "arguments": {...}}</tool_call>. Tools: run(cmd, timeout_s), read_file(path), '
    "write_file(path, text), submit(answer). Call submit when you are done: the files as they stand then are judged."
)

_WHY = {
    "signal": "ended by a signal",
    "timeout": "killed: out of time",
    "idle_timeout": "killed: silent for too long",
    "oom": "out of memory",
    "pids": "too many processes",
    "disk": "the disk is full",
    "output_limit": "killed: too much output",
}
_RUN = ToolSpec(
    "run",
    "Run a command in the persistent bash. Shows its exit code, its output (both streams) and the current directory.",
    {
        "type": "object",
        "properties": {
            "cmd": {"type": "string"},
            "timeout_s": {"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_S},
        },
        "required": ["cmd"],
    },
)
_READ = ToolSpec("read_file", "Show a file; a relative path starts at /workspace.", text_parameters("path"))
_WRITE = ToolSpec(
    "write_file",
    "Write text to a file, and make its directories where there are none.",
    text_parameters("path", "text"),
)
_SUBMIT = ToolSpec(
    "submit",
    "End the episode. The files are judged as they are now; answer only where the task asks for one.",
    {"type": "object", "properties": {"answer": {"type": "string"}}},
)
_WRITE_SCRIPT = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'


class TerminalWorkspace:
    """Tools over one sandbox. The sandbox opens at the first call: a message without one costs none."""

    instructions = INSTRUCTIONS

    def __init__(self, tree: Tree, room: Room) -> None:
        self._start = with_parents(tree)
        self._room = room
        self._sandbox: Sandbox | None = None
        self._answer: str | None = None
        self._closed = False
        tools = (
            Tool(_RUN, self._run),
            Tool(_READ, self._read),
            Tool(_WRITE, self._write),
            Tool(_SUBMIT, self._submit),
        )
        self._toolbox = Toolbox(tools, short_form=ShortForm("bash", "run", "cmd"))

    @property
    def tools(self) -> Sequence[ToolSpec]:
        return self._toolbox.specs

    @property
    def sandbox_record(self) -> SandboxRecord | None:
        """What its sandbox is, and has used; None before the first call, which opens it."""
        return None if self._sandbox is None else self._sandbox.record()

    def act(self, action: str) -> Observation:
        return self._toolbox.act(action)

    def evidence(self) -> Evidence:
        tree = self._start if self._sandbox is None else self._sandbox.get()
        return Evidence(answer=self._answer, ledger=self._toolbox.ledger, tree=tree)

    def snapshot(self) -> WorkspaceState:
        files = None if self._sandbox is None else self._sandbox.snapshot()
        return WorkspaceState((self._answer, self._toolbox.ledger), files)

    def restore(self, state: WorkspaceState) -> None:
        self._answer, ledger = cast(tuple[str | None, tuple[Call, ...]], state.values)
        self._toolbox.go_back(ledger)
        if state.files is not None:
            if self._sandbox is None:
                self._sandbox = self._room.open(Tree())
            self._sandbox.restore(state.files)
        elif self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None

    def close(self) -> None:
        self._closed = True
        if self._sandbox is not None:
            self._sandbox.close()

    def _open(self) -> Sandbox:
        if self._closed:
            raise SandboxLost("The workspace is closed; no more calls can be made in it.")
        if self._sandbox is None:
            self._sandbox = self._room.open(self._start)
        return self._sandbox

    def _run(self, arguments: Mapping[str, Json]) -> Outcome:
        shell = self._open().shell()
        command = expect_text(arguments["cmd"])
        timeout_s = expect_int(arguments.get("timeout_s", DEFAULT_TIMEOUT_S))
        unsendable = _unsendable(command)
        if unsendable is not None:
            return Outcome(unsendable, ok=False)
        report = _alive(shell.run(command, timeout_s=float(timeout_s)))
        place = _alive(shell.run('builtin printf "%s" "$PWD"', timeout_s=FILE_TIMEOUT_S))
        where = place.stdout.decode("utf-8", "replace") if place.ok else "?"
        return Outcome(_told(report, where), ok=report.reason == "exit", result=_kept(report))

    def _read(self, arguments: Mapping[str, Json]) -> Outcome:
        path = expect_text(arguments["path"])
        unsendable = _unsendable(path)
        if unsendable is not None:
            return Outcome(unsendable, ok=False)
        report = _alive(self._open().run(["cat", "--", path], timeout_s=FILE_TIMEOUT_S))
        if not report.ok:
            return Outcome(f"{path[:200]!r} could not be read: {_trouble(report)}", ok=False)
        return Outcome(clip_text(report.stdout.decode("utf-8", "replace"), max_chars=MAX_OUTPUT_CHARS))

    def _write(self, arguments: Mapping[str, Json]) -> Outcome:
        path, text = expect_text(arguments["path"]), expect_text(arguments["text"])
        unsendable = _unsendable(path)
        if unsendable is not None:
            return Outcome(unsendable, ok=False)
        argv = ["sh", "-c", _WRITE_SCRIPT, "write_file", path]
        data = text.encode("utf-8", "replace")
        report = _alive(self._open().run(argv, timeout_s=FILE_TIMEOUT_S, stdin=data))
        if not report.ok:
            return Outcome(f"{path[:200]!r} could not be written: {_trouble(report)}", ok=False)
        return Outcome(f"{len(data)} bytes written to {path[:200]}.")

    def _submit(self, arguments: Mapping[str, Json]) -> Outcome:
        if self._sandbox is not None:
            self._sandbox.kill()  # nothing may change the files while they are read
        answer = arguments.get("answer")
        self._answer = None if answer is None else expect_text(answer)
        return Outcome("Submitted.", finished=True)


def open_terminal(task: Task, room: Room) -> TerminalWorkspace:
    """Return a terminal on the files of `task.public["files"]`: what a terminal domain gives as `open_workspace`."""
    return TerminalWorkspace(read_tree(task.public["files"]), room)


def read_tree(files: Json) -> Tree:
    """Return the tree that plain JSON describes: {path: {...}}, with all parents of its paths as directories.

    Of an entry, "text" (a file; "gzip": true compresses it), "dir": true, or "link": target says what it is; "mode" is
    the permission bits (default 0o644 or 0o755) and "mtime_s" its time in seconds since the epoch.

    Raises:
        DomainError: an entry is none of the three.

    """
    return with_parents(Tree.of({path: _entry(path, expect_map(what)) for path, what in expect_map(files).items()}))


def with_parents(tree: Tree) -> Tree:
    """Return `tree` with an entry (mode 0o755) for each directory that lies above a path and has none."""
    parents: dict[str, Entry] = {}
    for path in tree:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            parents["/".join(parts[:depth])] = Entry("dir", 0o755)
    return Tree({**parents, **tree.entries})


def _entry(path: str, what: Mapping[str, Json]) -> Entry:
    mtime_s = expect_int(what.get("mtime_s", 0))
    if "text" in what:
        data = expect_text(what["text"]).encode("utf-8")
        data = gzip.compress(data, mtime=mtime_s) if what.get("gzip") is True else data
        return Entry("file", expect_int(what.get("mode", 0o644)), data, mtime_s)
    if "link" in what:
        return Entry("symlink", 0o777, expect_text(what["link"]).encode("utf-8"), mtime_s)
    if what.get("dir") is True:
        return Entry("dir", expect_int(what.get("mode", 0o755)), b"", mtime_s)
    raise DomainError(f'{path!r} is no file, link or directory. Give it "text", "link" or "dir": true.')


def _unsendable(text: str) -> str | None:
    """Return why `text` cannot be handed to a program, or None: a NUL, or half a surrogate pair."""
    if "\0" in text:
        return "The text holds a NUL character, which no command or path can."
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "The text holds half a surrogate pair, which is no valid character."
    return None


def _alive(report: Report) -> Report:
    if report.reason == "lost":
        raise SandboxLost("the sandbox died while a command ran in it")
    return report


def _trouble(report: Report) -> str:
    if report.reason != "exit":
        return _WHY[report.reason]
    return report.stderr.decode("utf-8", "replace").strip()[-300:] or f"exit {report.exit_code}"


def _kept(report: Report) -> Json:
    return {"exit_code": report.exit_code, "reason": report.reason}


def _told(report: Report, where: str) -> str:
    end = "" if report.exit_code is None else f"exit {report.exit_code}"
    if report.reason != "exit":
        end = ", ".join(filter(None, (end, _WHY[report.reason])))
    if report.fresh_shell:
        end += "; the shell was started anew, its variables are gone"
    output = clip_text(report.stdout.decode("utf-8", "replace"), max_chars=MAX_OUTPUT_CHARS)
    return f"[{end}] {where}\n{output}"
