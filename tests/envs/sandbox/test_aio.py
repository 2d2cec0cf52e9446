"""Sandboxes that are awaited: many at once, and a cancelled caller leaves no command behind."""

from __future__ import annotations

import asyncio
import time
from typing import NoReturn

import pytest

from polyathlon.errors import SandboxRefused
from polyathlon.sandbox import aio
from polyathlon.sandbox.bubblewrap import BubblewrapRoom, BubblewrapSandbox
from polyathlon.sandbox.scripted import ScriptedRoom, printing
from polyathlon.tree import Tree

from .host import comes_true, processes_of


def test_a_command_is_awaited_and_its_files_read(room: BubblewrapRoom) -> None:
    async def work() -> tuple[bytes, str | None]:
        async with aio.open(room, Tree.of({"a": "1\n"})) as sandbox:
            report = await sandbox.run("cat a; echo b >b")
            await sandbox.apply("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n")
            shell = sandbox.shell()
            await shell.run("word=kept")
            tree = await sandbox.get()
            return report.stdout + (await shell.run("cat a b; echo $word")).stdout, tree.text("b")

    assert asyncio.run(work()) == (b"1\n2\nb\nkept\n", "b\n")


def test_two_sandboxes_wait_at_the_same_time(room: BubblewrapRoom) -> None:
    async def work() -> tuple[bytes, bool]:
        async with aio.open(room, Tree()) as one, aio.open(room, Tree()) as other:
            waiting = asyncio.create_task(one.run("sleep 1000", timeout_s=60))
            report = await other.run("echo meanwhile")
            done = waiting.done()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            return report.stdout, done

    assert asyncio.run(work()) == (b"meanwhile\n", False)


@pytest.mark.parametrize("in_shell", [False, True])
def test_cancelling_kills_the_command_and_keeps_the_files(room: BubblewrapRoom, in_shell: bool) -> None:
    async def work() -> tuple[list[int], bytes, bytes]:
        async with aio.open(room, Tree()) as sandbox:
            run = sandbox.shell().run if in_shell else sandbox.run
            task = asyncio.create_task(run("echo kept >file; setsid sleep 1000 & sleep 1000", timeout_s=60))
            while not (await sandbox_tree(sandbox)).text("file"):
                await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            left = processes_of(_uid(sandbox))
            return left, (await sandbox.run("cat file")).stdout, (await sandbox.shell().run("cat file")).stdout

    async def sandbox_tree(sandbox: aio.AsyncSandbox) -> Tree:
        # the sandbox's own thread is busy with the command
        return await asyncio.to_thread(sandbox._sandbox.get)

    assert asyncio.run(work()) == ([], b"kept\n", b"kept\n")


def test_cancelling_before_the_start_starts_nothing(room: BubblewrapRoom) -> None:
    async def work() -> tuple[bytes, Tree]:
        async with aio.open(room, Tree()) as sandbox:
            first = asyncio.create_task(sandbox.run("sleep 0.3; echo first"))
            second = asyncio.create_task(sandbox.run("echo x >second"))
            await asyncio.sleep(0.05)
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)
            return (await first).stdout, await sandbox.get()

    out, tree = asyncio.run(work())
    assert (out, list(tree)) == (b"first\n", [])


def test_a_block_that_is_cancelled_closes_its_sandbox(room: BubblewrapRoom) -> None:
    seen: list[int] = []

    async def work() -> None:
        async with aio.open(room, Tree()) as sandbox:
            seen.append(_uid(sandbox))
            await sandbox.run("sleep 1000", timeout_s=60)

    async def cancel() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(work(), 0.5)

    started_s = time.monotonic()
    asyncio.run(cancel())
    assert time.monotonic() - started_s < 10
    assert comes_true(lambda: processes_of(seen[0]) == [])


def _uid(sandbox: aio.AsyncSandbox) -> int:
    inner = sandbox._sandbox
    assert isinstance(inner, BubblewrapSandbox)
    return inner.lease.uid


def test_a_terminal_is_awaited(room: BubblewrapRoom) -> None:
    async def work() -> str:
        async with aio.open(room, Tree()) as sandbox:
            terminal = await sandbox.terminal(["cat"])
            await terminal.send_keys("typed", "Enter")
            shown = await terminal.screen(quiet_s=0.3)
            await terminal.close()
            assert not await terminal.alive()
            return shown

    assert asyncio.run(work()) == "typed\ntyped"


def test_any_room_will_do_and_a_refusal_is_told() -> None:
    async def work() -> bytes:
        async with aio.open(ScriptedRoom({"ls": printing("a\n")}), Tree()) as sandbox:
            return (await sandbox.run(["ls"])).stdout

    class Refusing(ScriptedRoom):
        def open(self, *_: object, **__: object) -> NoReturn:
            raise SandboxRefused("none here")

    async def refused() -> None:
        async with aio.open(Refusing(), Tree()):
            pass

    assert asyncio.run(work()) == b"a\n"
    with pytest.raises(SandboxRefused, match="none here"):
        asyncio.run(refused())
