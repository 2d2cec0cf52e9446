"""A few source files, a place to try them out, and one file to hand in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from polyathlon.canonical import Json, expect_text
from polyathlon.domain import Call, Evidence, Observation, ToolSpec, WorkspaceState
from polyathlon.errors import SandboxError, SandboxLost, SandboxRefused
from polyathlon.sandbox.protocol import Limits, Report, Room, Sandbox, SandboxRecord
from polyathlon.toolcall import OPEN, ShortForm, write_call
from polyathlon.tree import Tree
from polyathlon.workspaces.toolbox import Outcome, Tool, Toolbox, text_parameters

MAX_FILES = 100
RUN_TIMEOUT_S = 15.0
LIMITS = Limits(memory_bytes=256 * 2**20, disk_bytes=16 * 2**20, max_files=500, max_processes=32, cpu_s=30.0)

_CODE_BLOCK = re.compile(r"^```(?:python|py)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_FENCES = re.compile(r"^```", re.MULTILINE)


class CodingWorkspace:
    """Files that may be read, written and run; `solution` is the one that counts.

    Submitting ends the episode. One fenced `python` block is the short form of submitting that text; one fenced `bash`
    block is the short form of `run`. The sandbox is opened when something is first run.
    """

    def __init__(self, files: Tree, room: Room, *, solution: str = "solution.py") -> None:
        self._files, self._room, self._solution = files, room, solution
        self._sandbox: Sandbox | None = None
        self._toolbox = Toolbox(self._tools(), short_form=ShortForm("bash", "run", "command"))

    @property
    def tools(self) -> Sequence[ToolSpec]:
        return self._toolbox.specs

    @property
    def instructions(self) -> str:
        return (
            f"The file {self._solution} is judged as it stands when you submit. You may look around, write files and "
            "run commands in a sandbox first, one call a message; or send the whole file at once as one fenced python "
            "block, which submits it."
        )

    @property
    def sandbox_record(self) -> SandboxRecord | None:
        """What its sandbox is, and has used; None while nothing was run."""
        return None if self._sandbox is None else self._sandbox.record()

    def act(self, action: str) -> Observation:
        """Carry out one call, or submit the one fenced python block.

        Raises:
            SandboxLost: the sandbox died under us.
            SandboxRefused: there is no sandbox on this machine.

        """
        block = _CODE_BLOCK.search(action) if OPEN not in action else None
        if block is not None and len(_FENCES.findall(action)) == 2:
            action = write_call("submit", {"code": block[1]})
        return self._toolbox.act(action)

    def evidence(self) -> Evidence:
        """Return the solution file's text as the answer, None where there is no such file, and all files."""
        return Evidence(self._files.text(self._solution), self._toolbox.ledger, self._files)

    def snapshot(self) -> WorkspaceState:
        files = None if self._sandbox is None else self._sandbox.snapshot()
        return WorkspaceState((self._files, self._toolbox.ledger), files)

    def restore(self, state: WorkspaceState) -> None:
        self._files, ledger = cast(tuple[Tree, tuple[Call, ...]], state.values)
        self._toolbox.go_back(ledger)
        if state.files is None:
            self.close()
            return
        if self._sandbox is None:
            self._sandbox = self._room.open(Tree(), limits=LIMITS)
        self._sandbox.restore(state.files)

    def close(self) -> None:
        """Free the sandbox. May be called twice."""
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None

    def _tools(self) -> list[Tool]:
        code: dict[str, Json] = {"type": "object", "properties": {"code": {"type": "string"}}}
        return [
            Tool(ToolSpec("list_files", "List the files and their sizes.", text_parameters()), self._list_files),
            Tool(ToolSpec("read_file", "Show a file.", text_parameters("path")), self._read_file),
            Tool(ToolSpec("write_file", "Write a file, whole.", text_parameters("path", "text")), self._write_file),
            Tool(
                ToolSpec("run", "Run a bash command in the folder of the files.", text_parameters("command")), self._run
            ),
            Tool(ToolSpec("submit", f"Hand in {self._solution}, or `code` in its place; ends.", code), self._submit),
        ]

    def _list_files(self, _: Mapping[str, Json]) -> Outcome:
        rows = [(path, self._files.get(path)) for path in self._files]
        lines = [f"{len(entry.data):>8}  {path}" for path, entry in rows if entry is not None and entry.kind != "dir"]
        return Outcome("\n".join(lines) or "No files.")

    def _read_file(self, arguments: Mapping[str, Json]) -> Outcome:
        path = expect_text(arguments["path"])
        text = self._files.text(path)
        if text is None:
            return Outcome(f"There is no file {path[:200]!r}; list_files shows what there is.", ok=False)
        return Outcome(text)

    def _write_file(self, arguments: Mapping[str, Json]) -> Outcome:
        path, text = expect_text(arguments["path"]), expect_text(arguments["text"])
        try:
            written = Tree.of({path: text})
            if path not in self._files and len(self._files) >= MAX_FILES:
                return Outcome(f"Not written: there are {MAX_FILES} files already.", ok=False)
            if self._sandbox is not None:
                self._sandbox.put(written)
        except (SandboxLost, SandboxRefused):
            raise
        except (ValueError, SandboxError) as error:
            return Outcome(f"Not written: {error}", ok=False)
        self._files = self._files.with_files(written.entries)
        return Outcome(f"Wrote {path}, {len(text)} characters.")

    def _run(self, arguments: Mapping[str, Json]) -> Outcome:
        command = expect_text(arguments["command"])
        if self._sandbox is None:
            self._sandbox = self._room.open(self._files, limits=LIMITS)
        try:
            report = self._sandbox.run(["bash", "-c", command], timeout_s=RUN_TIMEOUT_S)
            self._files = self._sandbox.get()
        except (SandboxLost, SandboxRefused):
            raise
        except SandboxError as error:
            return Outcome(f"Not run, or its files could not be kept: {error}", ok=False)
        if report.reason == "lost":
            raise SandboxLost("The sandbox was lost while a command ran.")
        return Outcome(_told(report), ok=report.ok, result=report.exit_code)

    def _submit(self, arguments: Mapping[str, Json]) -> Outcome:
        if "code" in arguments:
            try:
                self._files = self._files.with_files({self._solution: expect_text(arguments["code"])})
            except ValueError as error:
                return Outcome(f"Not submitted: {error}", ok=False)
        return Outcome("Submitted.", finished=True)


def _told(report: Report) -> str:
    end = f"exit code {report.exit_code}" if report.exit_code is not None else "killed"
    reason = "" if report.reason in ("exit", "signal") else f" ({report.reason})"
    streams = [("", report.stdout), ("stderr:\n", report.stderr)]
    shown = [name + data.decode("utf-8", errors="replace").rstrip() for name, data in streams if data.strip()]
    return "\n".join([*shown, f"[{end}{reason}]"])
