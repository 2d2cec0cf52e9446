"""What the walls of a warm Python hold, by the attacks that the sandbox itself is proven by: run in a judge."""

from __future__ import annotations

import json
from collections.abc import Iterator

from polyathlon.errors import SandboxError
from polyathlon.sandbox.probe import PROBE_LIMITS, Capability, Record, attack_text, prepared_attack, told_by_attacks
from polyathlon.sandbox.warm import PythonRoom

_ATTACK = "import sys\nsys.argv[1:] = [{facts!r}]\nexec(compile({text!r}, 'attacks.py', 'exec'))\n"
# Each tries to get more than PROBE_LIMITS allow; children are bounded, and end with the judge.
_EXCESS = """
import json, os, time

def fill():
    for folder in ("/workspace", "/tmp", "/dev/shm"):
        try:
            with open(f"{folder}/fill", "wb", buffering=0) as file:
                if sum(file.write(bytes(2**20)) for _ in range(8)) == 8 * 2**20:
                    return True, f"8 MiB into 4 MiB of {folder}"
        except OSError:
            pass
        finally:
            os.remove(f"{folder}/fill")
    return False, "8 MiB into 4 MiB: no room"

def litter():
    made = 0
    try:
        while made < 600:
            os.close(os.open(f"/tmp/{made}", os.O_CREAT))
            made += 1
    except OSError:
        pass
    for number in range(made):
        os.remove(f"/tmp/{number}")
    return made == 600, f"{made} of 600 files into 500"

def multiply():
    children = []
    try:
        while len(children) < 40:
            pid = os.fork()
            if pid == 0:
                time.sleep(20)
                os._exit(0)
            children.append(pid)
    except OSError:
        pass
    for pid in children:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return len(children) == 40, f"{len(children)} of 40 forks; limit 12 and 6 to spare"

def hog(sizes):
    children = []
    for size in sizes:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            kept = bytearray(b"1") * size
            os.write(writer, b"%d" % (len(kept) > 0))
            time.sleep(20)
        os.close(writer)
        children.append((pid, reader))
    fitted = sum(bool(os.read(reader, 1)) for _, reader in children)
    for pid, _ in children:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return fitted == len(sizes), f"{fitted} of {len(sizes)} x {sizes[0] >> 20} MiB fit into 64 MiB"

print(json.dumps({
    "disk size": fill(),
    "file count": litter(),
    "process count": multiply(),
    "memory of a process": hog([96 * 2**20]),
    "memory of all processes": hog([40 * 2**20] * 3),
}))
"""
_STUBBORN = (
    "import os, signal, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "if os.fork() == 0:\n    os.setsid()\n    time.sleep(30)\n"
    "while True:\n    pass\n"
)
_FLOOD = "import os\nwhile True:\n    os.write(1, b'y' * 4096)\n"


def prove_warm(room: PythonRoom, *, packages: tuple[str, ...], kernel: str, held: frozenset[str]) -> Record:
    """Return what judges of `room` hold. A name in `held`, what its sandboxes hold, is not optional here.

    Takes some tenths of a second.

    Raises:
        SandboxError: no judge starts here, or the attacks do not run in one.

    """

    def judge(source: str, timeout_s: float = 20.0) -> tuple[str, float, bytes]:
        report = room.judge_python(source, stdin=b"", packages=packages, limits=PROBE_LIMITS, timeout_s=timeout_s)
        return report.reason, report.wall_s, report.stdout

    def attacked() -> Iterator[Capability]:
        with prepared_attack() as facts:
            source = _ATTACK.format(facts=facts, text=attack_text())
            report = room.judge_python(source, stdin=b"", packages=packages, limits=PROBE_LIMITS, timeout_s=20.0)
        yield from told_by_attacks(report)

    def exceeded() -> Iterator[Capability]:
        reason, _, said = judge(_EXCESS)
        if not said:
            raise SandboxError(f"The warm Python's judge did not get to try its limits ({reason}).")
        for name, (succeeded, evidence) in json.loads(said).items():
            yield Capability(name, not succeeded, evidence, optional=name not in held)
        reason, wall_s, _ = judge(_STUBBORN, 0.2)
        yield Capability("deadline", reason == "timeout" and wall_s < 10, f"ended after {wall_s:.1f} s")
        reason, _, said = judge(_FLOOD)
        yield Capability("output", reason == "output_limit", f"{reason} after {len(said)} kept bytes")

    capabilities = tuple(attacked())
    if all(capability.held for capability in capabilities):  # without walls, an excess would be the host's
        capabilities += tuple(exceeded())
    return Record(backend="warm python", kernel=kernel, capabilities=capabilities)
