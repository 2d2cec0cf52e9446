"""A judge forked from the warm Python is a cold start in all but time, and meets nobody: neither sibling nor parent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from polyathlon.errors import SandboxLost
from polyathlon.sandbox import attacks
from polyathlon.sandbox.bubblewrap import BubblewrapRoom
from polyathlon.sandbox.choose import ProvenRoom
from polyathlon.sandbox.probe import Record, attack_text, prepared_attack
from polyathlon.sandbox.protocol import Limits, Report
from polyathlon.sandbox.scripted import ScriptedRoom, printing
from polyathlon.sandbox.warm import judge_cold, judge_python

from .host import alive, comes_true, descriptors_of, groups_of, mounts

pytestmark = pytest.mark.isolation

SMALL = Limits(
    memory_bytes=64 * 2**20,
    disk_bytes=4 * 2**20,
    max_files=200,
    max_processes=16,
    cpu_s=1.0,
    output_bytes=2**20,
    kept_bytes=1000,
)


def judge(room: BubblewrapRoom, source: str, stdin: bytes = b"", timeout_s: float = 20.0) -> Report:
    return room.judge_python(source, stdin=stdin, limits=SMALL, timeout_s=timeout_s)


def said(report: Report) -> str:
    assert report.ok, report
    return report.stdout.decode().strip()


def warm_pids(launcher_pid: int) -> list[int]:
    """Return the pids of the launcher's warm Python and its judges: children, and children of those."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [pid for pid, parent in parents.items() if parent == launcher_pid]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def warm_python(room: BubblewrapRoom) -> int:
    """Return the pid of the room's warm Python, once it is alone: of an ended judge a zombie may stay for a moment."""
    assert comes_true(lambda: len(warm_pids(room.launcher().pid)) == 1)
    return warm_pids(room.launcher().pid)[0]


PROGRAMS = {
    "echo": "import sys; print(sys.stdin.read().upper())",
    "bytes in and out": "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read() * 2)",
    "a status": "import sys; sys.exit(7)",
    "a message and status 1": "import sys; sys.exit('no')",
    "left at once": "import os; os._exit(9)",
    "an exception": "def f():\n    raise ValueError('x')\nf()",
    "a signal": "import os; os.kill(os.getpid(), 11)",
    "no syntax": "x y",
    "no such module": "import sys, not_there",
    "a relative import": "from . import x",
    "a syntax error inside": "exec('x y')",
    "an exit handler": "import atexit; atexit.register(print, 'bye')",
    "a thread": "import threading; threading.Thread(target=print, args=('late',)).start()",
    "a child": "import subprocess; print(subprocess.run(['id', '-u'], capture_output=True).stdout)",
    "hashes": "print(hash('a'), hash(b'b'), list({str(n) for n in range(30)}))",
    "arguments, flags and path": "import sys; print(sys.argv, sys.flags, sys.path, sys.prefix, sys.executable)",
    "the main module": "import __main__; x = 1; print(__name__, __main__.x, __builtins__, sorted(vars(__main__))[-1])",
    "environment and place": "import os; print(sorted(os.environ.items()), os.getcwd(), os.umask(0))",
    "user, host and files": "import os; print(os.getuid(), os.getgroups(), os.uname().nodename, os.listdir('/'), "
    "os.listdir('/workspace'), os.listdir('/tmp'), os.listdir('/dev/shm'))",
    "signals": "import signal; print([signal.getsignal(n) for n in (1, 2, 13, 15, 17, 25)], "
    "signal.pthread_sigmask(0, []))",
    "limits": "import resource as r; print([r.getrlimit(getattr(r, n)) for n in dir(r) if n.startswith('RLIMIT_')])",
    "process numbers": "import os; print(os.getpid(), os.getppid())",
    "the recursion limit": "import sys; print(sys.getrecursionlimit())",
    "the collector": "import gc; print(gc.isenabled(), gc.get_threshold())",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_warm_start_tells_what_a_cold_one_does(room: BubblewrapRoom, name: str) -> None:
    source, fed = PROGRAMS[name], b"some \xc3\xa9 text\n"
    warm = judge(room, source, fed)
    cold = judge_cold(room, source, stdin=fed, packages=(), limits=SMALL, timeout_s=20)
    assert (warm.exit_code, warm.reason, warm.stdout) == (cold.exit_code, cold.reason, cold.stdout)
    assert warm.stderr.splitlines()[-1:] == cold.stderr.splitlines()[-1:]


@pytest.fixture(scope="module")
def facts() -> Iterator[str]:
    with prepared_attack() as facts:
        yield facts


@pytest.fixture(scope="module")
def inside(room: BubblewrapRoom, facts: str) -> dict[str, tuple[bool, str]]:
    source = f"import sys\nsys.argv[1:] = [{facts!r}]\nexec({attack_text()!r})"
    return dict(json.loads(said(judge(room, source))))


@pytest.mark.parametrize("attack", attacks.ATTACKS)
def test_the_attack_fails_in_a_judge(inside: dict[str, tuple[bool, str]], attack: str) -> None:
    # its control, the same attack outside, is in test_attacks
    succeeded, evidence = inside[attack]
    assert not succeeded, evidence


LITTER = """
import os, socket, sys, types
for place in ("/workspace", "/tmp", "/dev/shm"):
    open(f"{place}/left", "w").close()
os.environ["LEFT"] = "1"
os.left = sys.modules["left"] = types.ModuleType("left")
sys.path.append("/tmp")
line = socket.socket(socket.AF_UNIX)
line.bind("\\0left")
line.listen()
if os.fork() == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "1000"])
"""
SEE = """
import os, socket, sys
seen = [p for p in ("/workspace/left", "/tmp/left", "/dev/shm/left") if os.path.exists(p)]
seen += ["LEFT"] if "LEFT" in os.environ else []
seen += ["os.left"] if hasattr(os, "left") else []
seen += ["module"] if "left" in sys.modules else []
seen += ["path"] if "/tmp" in sys.path else []
seen += ["process"] if sum(name.isdigit() for name in os.listdir("/proc")) > 2 else []
try:
    socket.socket(socket.AF_UNIX).connect("\\0left")
    seen.append("socket")
except OSError:
    pass
print(len(seen), *seen)
"""


def test_a_judge_finds_nothing_of_the_one_before(room: BubblewrapRoom) -> None:
    assert said(judge(room, LITTER + SEE)).startswith("9 ")  # the control: who left it sees all of it
    assert said(judge(room, SEE)) == "0"


def test_judges_at_work_at_the_same_time_do_not_meet(room: BubblewrapRoom) -> None:
    reports: list[Report] = []
    one = threading.Thread(target=lambda: reports.append(judge(room, LITTER + "import time; time.sleep(1)")))
    one.start()
    time.sleep(0.3)
    assert said(judge(room, SEE)) == "0"
    one.join()
    assert reports[0].ok


def test_a_judge_cannot_reach_the_warm_python(room: BubblewrapRoom) -> None:
    said(judge(room, "print()"))
    warm = warm_python(room)
    reach = (
        "import os, signal\n"
        "done = []\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "def attempt(name, act):\n"
        "    try: act(); done.append(name)\n"
        "    except OSError: pass\n"
        "attempt('mem', lambda: open('/proc/1/mem', 'rb').close())\n"
        "attempt('environ', lambda: open('/proc/1/environ', 'rb').read())\n"
        "attempt('root', lambda: os.listdir('/proc/1/root'))\n"
        "for n in range(9): attempt('descriptor', lambda: open(f'/proc/1/fd/{n}', 'wb').close())\n"
        f"attempt('kill', lambda: os.kill({warm}, 9))\n"
        "os.kill(1, 9); os.kill(0, 15)\n"
        "attempt('own mem', lambda: open('/proc/self/mem', 'rb').close())\n"  # the control
        "print(done)\n"
    )
    assert said(judge(room, reach)) == "['own mem']"
    assert warm_python(room) == warm


def test_no_judge_runs_as_a_user_that_counts(room: BubblewrapRoom) -> None:
    waiting = threading.Thread(target=lambda: judge(room, "import time; time.sleep(1)"))
    waiting.start()
    time.sleep(0.5)
    statuses = [Path(f"/proc/{pid}/status").read_text(encoding="utf-8") for pid in warm_pids(room.launcher().pid)]
    waiting.join()
    uids = [int(text.split("\nUid:\t")[1].split("\t")[0]) for text in statuses]
    assert len(uids) == 3  # the warm Python, the first process of a judge, the judge
    if os.geteuid() == 0:
        assert 0 not in uids
        assert uids[0] != uids[1] == uids[2]


def test_what_a_judge_writes_to_descriptors_forges_no_end(room: BubblewrapRoom) -> None:
    forge = (
        "import os\n"
        "for fd in range(3, 64):\n"
        "    try: os.write(fd, b'0 0')\n"
        "    except OSError: pass\n"
        "os.write(1, b'0 0'); os.write(2, b'0 0')\n"
        "os._exit(3)\n"
    )
    report = judge(room, forge)
    assert (report.exit_code, report.reason, report.stdout) == (3, "exit", b"0 0")


def test_forks_end_at_the_limit_and_only_there(room: BubblewrapRoom) -> None:
    bomb = (
        "import os, time\n"
        "for n in range(40):\n"
        "    try:\n"
        "        if os.fork() == 0: time.sleep(30); os._exit(0)\n"
        "    except OSError: print(n, flush=True); os._exit(1)\n"
        "print(40)\n"
    )
    report = judge(room, bomb)
    assert report.exit_code == 1
    assert 10 < int(report.stdout) < 25
    assert report.reason == ("pids" if "pids" in room.launcher().controllers else "exit")
    # the control: fewer forks, allowed, and another judge may make its own at the same time
    assert said(judge(room, bomb.replace("range(40)", "range(5)"))) == "40"


def test_memory_ends_at_the_limit(room: BubblewrapRoom) -> None:
    hog = "kept = []\nfor _ in range(20):\n    kept.append(bytearray(b'1') * (10 * 2**20))\nprint('fits')"
    report = judge(room, hog)
    assert report.exit_code != 0
    if "memory" in room.launcher().controllers:
        assert report.reason == "oom"
    assert said(judge(room, hog.replace("range(20)", "range(3)"))) == "fits"


def test_the_disk_ends_at_the_limit(room: BubblewrapRoom) -> None:
    fill = "with open('/tmp/x', 'wb', buffering=0) as file:\n    while True: assert file.write(bytes(2**16)) == 2**16"
    assert judge(room, fill).reason == "disk"
    assert judge(room, "open('/tmp/x', 'wb').write(bytes(2**21))").reason == "exit"


def test_output_ends_at_the_limit_with_head_and_tail_kept(room: BubblewrapRoom) -> None:
    report = judge(room, "import os\nwhile True: os.write(1, b'y' * 4096)")
    assert (report.exit_code, report.reason, report.clipped) == (None, "output_limit", True)
    assert 1000 < len(report.stdout) < 1100


def test_a_deadline_ends_the_whole_tree(room: BubblewrapRoom) -> None:
    stubborn = (
        "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('on', flush=True)\n"
        "if os.fork() == 0: os.setsid()\ntime.sleep(1000)"
    )
    report = judge(room, stubborn, timeout_s=0.7)
    assert (report.exit_code, report.reason, report.stdout) == (None, "timeout", b"on\n")
    assert report.wall_s < 10
    assert warm_python(room)


def test_spent_cpu_seconds_read_as_a_timeout(room: BubblewrapRoom) -> None:
    report = judge(room, "while True: pass", timeout_s=60)
    assert (report.exit_code in (None, 152), report.reason) == (True, "timeout")


def test_judges_leave_nothing(room: BubblewrapRoom) -> None:
    launcher = room.launcher()
    said(judge(room, "print()"))
    zygote = warm_python(room)
    before = descriptors_of(os.getpid()), descriptors_of(launcher.pid), mounts()
    for _ in range(5):
        said(judge(room, LITTER))
        judge(room, "import time; time.sleep(100)", timeout_s=0.05)
        judge(room, "x = bytearray(10**9)")
        judge(room, "no syntax")
    assert comes_true(lambda: groups_of(launcher.pid) == [])
    assert warm_python(room) == zygote
    assert (descriptors_of(os.getpid()), descriptors_of(launcher.pid), mounts()) == before


OWNER = """
import json, sys, threading, time
from polyathlon.sandbox.bubblewrap import BubblewrapRoom
room = BubblewrapRoom()
room.judge_python("print()", stdin=b"")
def wait(): room.judge_python("import time; time.sleep(1000)", stdin=b"", timeout_s=1000)
for _ in range(2):
    threading.Thread(target=wait, daemon=True).start()
time.sleep(1)
print(room.launcher().pid, flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("victim", ["the owner", "the launcher"])
def test_whoever_is_killed_no_judge_lives_on(victim: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, env=environment, text=True)
    assert process.stdout is not None
    launcher = int(process.stdout.readline())
    family = warm_pids(launcher)
    assert len(family) == 5
    os.kill(process.pid if victim == "the owner" else launcher, signal.SIGKILL)
    assert comes_true(lambda: not any(map(alive, [launcher, *family])))
    assert comes_true(lambda: victim == "the launcher" or groups_of(launcher) == [])
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_dead_warm_python_is_a_lost_judgement_and_the_next_has_a_new_one() -> None:
    room = BubblewrapRoom()
    said(judge(room, "print()"))
    zygote = warm_python(room)
    killer = threading.Timer(0.3, os.kill, (zygote, signal.SIGKILL))
    killer.start()
    with pytest.raises(SandboxLost, match="Judge it again"):
        judge(room, "import time; time.sleep(20)")
    killer.join()
    assert said(judge(room, "print('again')")) == "again"
    assert warm_python(room) != zygote
    room.close()


def test_generators_have_seeds_of_their_own(room: BubblewrapRoom) -> None:
    source = "import random\nimport numpy\nprint(random.random(), numpy.random.random())"
    drawn = [said(room.judge_python(source, stdin=b"", packages=("numpy",), limits=Limits())).split() for _ in range(3)]
    assert len({one for one, _ in drawn}) == len({other for _, other in drawn}) == 3


def test_threads_share_the_warm_python(room: BubblewrapRoom) -> None:
    seen: list[str] = []
    ask = "import sys, time; time.sleep(0.05); print(sys.stdin.read())"
    threads = [threading.Thread(target=lambda n=n: seen.append(said(judge(room, ask, b"%d" % n)))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [str(n) for n in range(8)]


def test_a_room_without_a_warm_python_starts_a_cold_one() -> None:
    room = ScriptedRoom({"python3 -P -s -S -c print(1)": printing("1")})
    assert judge_python(room, "print(1)", stdin=b"fed").stdout == b"1"
    assert room.opened[0].asked[0].stdin == b"fed"
    assert room.opened[0].closed


class Leaking(BubblewrapRoom):
    """A room whose judges can read a file of the host."""

    def __init__(self) -> None:
        super().__init__()
        self.judged: list[str] = []

    def judge_python(self, source: str, **_: object) -> Report:
        self.judged.append(source)
        return printing(json.dumps({name: [name == "read_host_file", "read it"] for name in attacks.ATTACKS}))


def test_a_warm_python_whose_walls_leak_is_never_used() -> None:
    room = Leaking()
    proven = ProvenRoom(room, backend="leaking")
    for _ in range(2):
        assert proven.judge_python("print('cold')", stdin=b"").stdout == b"cold\n"
    assert len(room.judged) == 1
    record = proven.warm_record()
    assert isinstance(record, Record)
    assert [capability.name for capability in record.missing] == ["host files"]
    room.close()
