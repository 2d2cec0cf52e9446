"""Sandboxes for asyncio: each waits in a thread of its own, so that thousands of callers can wait for theirs at once.

    async with aio.open(room, tree) as sandbox:
        report = await sandbox.run("make")

A caller that is cancelled while a command runs has it killed before the cancellation goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Self, TypeVar

from polyathlon.errors import SandboxLost
from polyathlon.sandbox.protocol import (
    Command,
    Limits,
    Report,
    Room,
    Sandbox,
    SandboxRecord,
    Snapshot,
    Terminal,
    Usage,
)
from polyathlon.tree import Tree

_RETRY_S = 0.05
T = TypeVar("T")


@asynccontextmanager
async def open(
    room: Room,
    files: Tree | Snapshot,
    *,
    limits: Limits | None = None,
    packages: tuple[str, ...] = (),
    needs: frozenset[str] = frozenset(),
    readonly: Tree | None = None,
) -> AsyncIterator[AsyncSandbox]:
    """Open a sandbox, as Room.open does, for the length of an `async with`."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="sandbox")
    make = partial(room.open, files, limits=limits, packages=packages, needs=needs, readonly=readonly)
    opening = thread.submit(make)
    try:
        opened = await asyncio.shield(asyncio.wrap_future(opening))
    except BaseException:
        opening.add_done_callback(_discard)
        thread.shutdown(wait=False)
        raise
    async with AsyncSandbox(opened, thread) as sandbox:
        yield sandbox


class AsyncShell:
    """The persistent shell of an AsyncSandbox; see Shell."""

    def __init__(self, sandbox: AsyncSandbox) -> None:
        self._sandbox = sandbox

    async def run(self, command: str, *, timeout_s: float = 30.0, idle_s: float | None = None) -> Report:
        """Run `command`; see Shell.run."""
        return await self._sandbox.interruptible(
            lambda inner: inner.shell().run(command, timeout_s=timeout_s, idle_s=idle_s)
        )


class AsyncTerminal:
    """A terminal of an AsyncSandbox; see Terminal."""

    def __init__(self, sandbox: AsyncSandbox, terminal: Terminal) -> None:
        self._sandbox, self._terminal = sandbox, terminal

    async def alive(self) -> bool:
        """Return whether the program still runs."""
        return await self._sandbox.wait(lambda _: self._terminal.alive)

    async def send_keys(self, *keys: str) -> None:
        """Type text or named keys; see Terminal.send_keys."""
        await self._sandbox.wait(lambda _: self._terminal.send_keys(*keys))

    async def screen(self, *, quiet_s: float = 0.1, timeout_s: float = 5.0) -> str:
        """Return the screen as text; see Terminal.screen."""
        return await self._sandbox.wait(lambda _: self._terminal.screen(quiet_s=quiet_s, timeout_s=timeout_s))

    async def resize(self, *, columns: int, rows: int) -> None:
        """Change the size; see Terminal.resize."""
        await self._sandbox.wait(lambda _: self._terminal.resize(columns=columns, rows=rows))

    async def close(self) -> None:
        """Kill the program. May be called twice."""
        await self._sandbox.wait(lambda _: self._terminal.close())


class AsyncSandbox:
    """The methods of Sandbox, to be awaited. Calls of one sandbox wait for each other; those of two do not."""

    def __init__(self, sandbox: Sandbox, thread: ThreadPoolExecutor) -> None:
        """Take over an open `sandbox`, and the one `thread` that it is used in."""
        self._sandbox = sandbox
        self._thread = thread
        self._killings: set[asyncio.Task[None]] = set()
        self._closed = False

    async def run(
        self,
        command: Command,
        *,
        timeout_s: float = 30.0,
        idle_s: float | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> Report:
        """Run `command` and wait for it; see Sandbox.run. Cancelled, it kills every process of the sandbox."""
        call = partial(
            self._sandbox.run, command, timeout_s=timeout_s, idle_s=idle_s, stdin=stdin, env=env, limits=limits
        )
        return await self.interruptible(lambda _: call())

    def shell(self) -> AsyncShell:
        """Return the one persistent shell."""
        return AsyncShell(self)

    async def terminal(self, command: Command = ("bash",), *, columns: int = 80, rows: int = 24) -> AsyncTerminal:
        """Start `command` on a terminal; see Sandbox.terminal."""
        return AsyncTerminal(self, await self.wait(lambda inner: inner.terminal(command, columns=columns, rows=rows)))

    async def put(self, tree: Tree) -> None:
        """Write `tree` under /workspace; see Sandbox.put."""
        await self.wait(lambda inner: inner.put(tree))

    async def apply(self, patch: str) -> None:
        """Apply a unified diff; see Sandbox.apply."""
        await self.wait(lambda inner: inner.apply(patch))

    async def get(self) -> Tree:
        """Return all that lies under /workspace; see Sandbox.get."""
        return await self.wait(lambda inner: inner.get())

    async def snapshot(self) -> Snapshot:
        """Freeze the files and return them; see Sandbox.snapshot."""
        return await self.wait(lambda inner: inner.snapshot())

    async def restore(self, snapshot: Snapshot) -> None:
        """Set /workspace back; see Sandbox.restore."""
        await self.wait(lambda inner: inner.restore(snapshot))

    async def fork(self) -> AsyncSandbox:
        """Return a new sandbox on the same files, to be closed by the caller; see Sandbox.fork."""
        forked = await self.wait(lambda inner: inner.fork())
        return AsyncSandbox(forked, ThreadPoolExecutor(1, thread_name_prefix="sandbox"))

    async def usage(self) -> Usage:
        """Return what was used since it opened."""
        return await self.wait(lambda inner: inner.usage())

    async def record(self) -> SandboxRecord:
        """Return what it is, and what it has used so far."""
        return await self.wait(lambda inner: inner.record())

    async def kill(self) -> None:
        """Kill every process, also of a command that is being waited for. The files stay."""
        await asyncio.to_thread(self._sandbox.kill)

    async def close(self) -> None:
        """Kill every process and free everything. May be called twice."""
        if self._closed:
            return
        self._closed = True
        await asyncio.gather(*self._killings)
        try:
            await asyncio.shield(asyncio.wrap_future(self._thread.submit(self._sandbox.close)))
        finally:
            self._thread.shutdown(wait=False)

    async def wait(self, call: Callable[[Sandbox], T]) -> T:
        """Make `call` in the sandbox's thread. It is short: a caller that is cancelled leaves it to end by itself."""
        return await asyncio.shield(asyncio.wrap_future(self._thread.submit(call, self._sandbox)))

    async def interruptible(self, call: Callable[[Sandbox], T]) -> T:
        """Make `call`, which runs a command, in the sandbox's thread; a caller that is cancelled ends the command."""
        running = self._thread.submit(call, self._sandbox)
        try:
            return await asyncio.shield(asyncio.wrap_future(running))
        except asyncio.CancelledError:
            killing = asyncio.create_task(self._kill_until_over(running))
            self._killings.add(killing)
            killing.add_done_callback(self._killings.discard)
            await asyncio.shield(killing)
            raise

    async def _kill_until_over(self, running: Future[T]) -> None:
        """Kill again and again: the command may not have been started yet. One that waits for its turn never is."""
        while not (running.cancel() or running.done()):
            with contextlib.suppress(SandboxLost):  # then the command is gone, too
                await asyncio.to_thread(self._sandbox.kill)
            await asyncio.sleep(_RETRY_S if not running.done() else 0)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _discard(opening: Future[Sandbox]) -> None:
    """Close a sandbox that nobody waits for any more."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
