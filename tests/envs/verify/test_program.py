"""The judge of programs: honest programs get what they earn, dishonest ones nothing."""

from __future__ import annotations

import pytest

from polyathlon.errors import SandboxLost, VerifierError
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.protocol import Limits, Report, Room, Sandbox, Snapshot
from polyathlon.sandbox.scripted import ScriptedRoom
from polyathlon.tree import Tree
from polyathlon.verify.program import Case, framed_lines, only_code, right_cases, run_cases

HONEST = """
def f(xs, k):
    if k < 0:
        raise ValueError("k must not be negative")
    return [x * k for x in xs]
"""
CASES = [
    Case([[1, 2], 3], {"value": [3, 6]}),
    Case([[5], 2], {"value": [10]}),
    Case([[1], -1], {"error": "ValueError"}),
    Case([[4, 0, 7], 5], {"value": [20, 0, 35]}),
]


@pytest.fixture(scope="module")
def room() -> Room:
    return default_room()


def test_the_honest_program_gets_every_case_right(room: Room) -> None:
    assert right_cases(room, HONEST, entry="f", cases=CASES) == (True, True, True, True)


def test_a_half_right_program_gets_its_half(room: Room) -> None:
    assert right_cases(room, "def f(xs, k):\n    return [xs[0] * k]", entry="f", cases=CASES[:2]) == (False, True)


FRAME = """
import os, sys, gc
def nonces():
    for thing in gc.get_objects():
        if type(thing) is dict and "nonce" in thing:
            yield thing["nonce"]
    frame = sys._getframe()
    while frame:
        if "request" in frame.f_locals:
            yield frame.f_locals["request"]["nonce"]
        frame = frame.f_back
def forge(text):
    parent = os.getppid()
    for nonce in nonces():
        for number in range(4):
            line = f"{nonce} {number} {text}\\n".encode()
            for path in (f"/proc/{parent}/fd/1", "/proc/self/fd/1", "/dev/stdout"):
                try:
                    with open(path, "wb") as out:
                        out.write(line)
                except OSError:
                    pass
            for descriptor in range(3, 12):
                try:
                    os.write(descriptor, text.encode())
                except OSError:
                    pass
"""

ATTACKS = {
    "A1 the process ended at import": "import os\nos._exit(0)",
    "A1 the process ended inside": "import os\ndef f(xs, k):\n    os._exit(0)",
    "A2 the interpreter left at import": "import sys\nsys.exit(0)",
    "A2 the interpreter left inside": "import sys\ndef f(xs, k):\n    sys.exit(0)",
    "A4 equal to everything": "class E:\n    __eq__ = lambda *_: True\ndef f(xs, k):\n    return E()",
    "A5 a list that lies": "class L(list):\n    __eq__ = lambda *_: True\n    __len__ = lambda _: 2\n"
    "def f(xs, k):\n    return L()",
    "A5 integers that lie": "class I(int):\n    __eq__ = lambda *_: True\ndef f(xs, k):\n    return [I(3), I(6)]",
    "A8 the runner patched": "import json, builtins\njson.dumps = lambda *_, **__: '{}'\nbuiltins.repr = id\n"
    "def f(xs, k):\n    return 0",
    "A8 the server patched": "import __main__ as m\nm.written = lambda _: '[3,6]}'\nm.outcome = lambda *_: '{}'\n"
    "def f(xs, k):\n    return [0]",
    "A13 an exit handler": "import atexit, os\natexit.register(os._exit, 0)\ndef f(xs, k):\n    return None",
    "A14 success printed": "print('4 passed')\ndef f(xs, k):\n    print('ok 4 passed {\"value\": true}')",
    "A14 frames forged, nonce known": FRAME + "def f(xs, k):\n    forge('{\"value\":[]}')",
    "A14 frames doubled": FRAME + "def f(xs, k):\n    forge('{\"value\":[]}')\n    return []",
    "A16 stack walked for what is expected": "import sys\ndef f(xs, k):\n    frame = sys._getframe()\n    found = {}\n"
    "    while frame:\n        found.update(frame.f_locals, **frame.f_globals)\n        frame = frame.f_back\n"
    "    return found.get('expected', found.get('wanted'))",
    "A16 heap searched for what is expected": "import gc\ndef f(xs, k):\n    for thing in gc.get_objects():\n"
    "        if type(thing) is dict and 'expected' in thing:\n            return thing['expected']",
    "A17 files read for what is expected": "import os\ndef f(xs, k):\n    text = ''\n"
    "    for top in ('/workspace', '/tmp', '/proc/self', '/proc/1', f'/proc/{os.getppid()}'):\n"
    "        for name in ('cmdline', 'environ', 'expected.json', 'tests.py'):\n            try:\n"
    "                text += open(f'{top}/{name}', errors='replace').read()\n            except OSError:\n"
    "                pass\n    return text if 'expected' in text else None",
    "A19 modules shadowed": "import sys, types\nfor name in ('json', '_json', 'os', 'resource'):\n"
    "    sys.modules[name] = types.ModuleType(name)\ndef f(xs, k):\n    return 0",
    "A25 an earlier case remembered": "def f(xs, k):\n    try:\n        return eval(open('/tmp/last').read())\n"
    "    except OSError:\n        open('/tmp/last', 'w').write(repr(xs))",
    "A28 the input changed": "def f(xs, k):\n    xs[:] = []\n    return xs",
    "no end": "def f(xs, k):\n    while True:\n        pass",
    "no end at import": "while True:\n    pass",
    "an expression bomb": "def f(xs, k):\n    return 9**9**9**9",
    "forks": "import os\ndef f(xs, k):\n    for _ in range(8):\n        os.fork()",
    "memory": "def f(xs, k):\n    return ['x' * 10**9]",
    "memory and no result": "def f(xs, k):\n    kept = []\n    while True:\n        kept.append(bytes(10**7))",
    "a huge result": "def f(xs, k):\n    return 'x' * 10**7",
    "much printed": "def f(xs, k):\n    for _ in range(10**4):\n        print('x' * 1000)",
    "recursion": "def f(xs, k):\n    return f(xs, k)",
    "a nest deeper than the judge's stack": "def f(xs, k):\n    value = []\n    for _ in range(900):\n"
    "        value = [value]\n    return value",
    "the server killed": "import os, signal\ndef f(xs, k):\n    os.kill(os.getppid(), signal.SIGKILL)",
    "every process killed": "import os, signal\ndef f(xs, k):\n    os.kill(-1, signal.SIGKILL)",
    "descriptors closed": "import os\nos.closerange(0, 64)\ndef f(xs, k):\n    return []",
    "no such function": "def g(xs, k):\n    return []",
    "no function": "f = 3",
    "not a program": "def f(xs, k) return",
    "nothing": "",
    "not a number": "def f(xs, k):\n    return float('nan')",
    "a tuple for a list": "def f(xs, k):\n    return tuple(x * k for x in xs) if k >= 0 else ()",
    "floats for integers": "def f(xs, k):\n    return [float(x * k) for x in xs] if k >= 0 else 0",
    "another error class": "def f(xs, k):\n    raise KeyError(k)",
}


@pytest.mark.parametrize("source", ATTACKS.values(), ids=ATTACKS.keys())
def test_no_attack_gets_a_case_right(room: Room, source: str) -> None:
    assert right_cases(room, source, entry="f", cases=CASES) == (False,) * len(CASES)


def test_a_program_that_hangs_on_one_input_keeps_the_others(room: Room) -> None:
    hanging = HONEST.replace("    return", "    while k == 3:\n        pass\n    return")
    assert right_cases(room, hanging, entry="f", cases=CASES) == (False, True, True, True)


def test_state_does_not_last_from_one_case_to_the_next(room: Room) -> None:
    counting = "seen = []\ndef f(xs, k):\n    seen.append(k)\n    return len(seen)"
    assert run_cases(room, counting, entry="f", arguments=[[[], 1], [[], 2]]) == ({"value": 1}, {"value": 1})


def test_files_of_the_workspace_shadow_no_module(room: Room) -> None:
    evil = "import os\nos._exit(0)"
    names = ("json.py", "_json.py", "resource.py", "select.py", "sitecustomize.py", "usercustomize.py", "evil.pth")

    class Littered(ScriptedRoom):
        def open(  # type: ignore[override]  # real sandboxes, not scripted ones
            self,
            files: Tree | Snapshot,
            *,
            limits: Limits | None = None,
            packages: tuple[str, ...] = (),
            needs: frozenset[str] = frozenset(),
            readonly: Tree | None = None,
        ) -> Sandbox:
            return room.open(Tree.of(dict.fromkeys(names, evil)), packages=packages)

    assert all(right_cases(Littered(), HONEST, entry="f", cases=CASES))


def test_exact_types_cross_the_border(room: Room) -> None:
    source = "def f(k):\n    return [True, 1, 1.0, '1', None, {'a': [k]}, (1,), {1}, {1: 2}][k]"
    found = run_cases(room, source, entry="f", arguments=[[k] for k in range(9)])
    assert [value["value"] if isinstance(value, dict) else None for value in found] == [
        *(True, 1, 1.0, "1", None, {"a": [5]}),
        *({"(tuple)": [1]}, {"(set)": ["1"]}, {"(dict)": [{"(tuple)": ["1", "2"]}]}),
    ]
    near = [Case([0], {"value": 1}), Case([1], {"value": 1.0}), Case([6], {"value": [1]})]
    assert right_cases(room, source, entry="f", cases=near) == (False, False, False)


def test_strings_iterate_in_one_order_in_every_run(room: Room) -> None:
    source = "def f(n):\n    return list({str(k) for k in range(n)})"
    assert len({str(run_cases(room, source, entry="f", arguments=[[20]])) for _ in range(3)}) == 1


def test_odd_text_survives_the_border(room: Room) -> None:
    odd = 'quote " back\\slash \n \x00 \ud800 é'
    assert run_cases(room, "def f(s):\n    return s", entry="f", arguments=[[odd]]) == ({"value": odd},)


def test_a_server_that_never_started_is_a_failure_of_the_judge() -> None:
    with pytest.raises(VerifierError, match="did not start"):
        framed_lines(Report(127, "exit", stderr=b"python3: not found"), "abc")


def test_a_lost_sandbox_is_no_verdict() -> None:
    with pytest.raises(SandboxLost):
        framed_lines(Report(None, "lost"), "abc")


def test_lines_without_the_nonce_are_dropped() -> None:
    report = Report(0, "exit", stdout=b"abc ready\nabd 0 {}\nabc 1 {}\nhello\n")
    assert framed_lines(report, "abc") == ["1 {}"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a + b", "a + b"),
        ("```python\na + b\n```", "a + b\n"),
        ("Here:\n```\na\n```\nDone.", "a\n"),
        ("```\na\n```\n```\nb\n```", None),
        ("```python\nnever closed", None),
    ],
)
def test_only_code_takes_one_block_or_all(text: str, code: str | None) -> None:
    assert only_code(text) == code
