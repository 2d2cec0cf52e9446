"""Attacks on a sandbox from inside it, each harmless where it succeeds: a program for `python3`, standard library only.

The probe and the tests run this text in a sandbox, where every attack must fail, and the tests run it outside, where
it must succeed. Its one argument is JSON: `secret_path` and `secret` (a file of the host), `port` (a listener on the
host's loopback), `command_line` (a process of the host, in hexadecimal). It prints JSON:
{attack: [succeeded, evidence]}.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# A setting that is only ever rewritten with the value it has.
_SETTING = "/proc/sys/vm/stat_interval"
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_AF_VSOCK = 40
_PLAIN_NAMES = ("HOME", "LANG", "LD_LIBRARY_PATH", "LOGNAME", "OLDPWD", "PATH", "PWD", "SHELL", "SHLVL", "TERM", "TZ")

Outcome = tuple[bool, str]


def read_host_file(facts: dict[str, Any]) -> Outcome:
    """Read a file of the host, by its path and through other processes' roots."""
    for root in ("", "/proc/1/root", "/proc/self/root", "/proc/1/cwd/..", "/workspace/../.."):
        try:
            if Path(root + facts["secret_path"]).read_text(encoding="utf-8") == facts["secret"]:
                return True, f"read {facts['secret_path']}"
        except OSError:
            continue
    return False, "no path leads to it"


def read_host_environment(_: dict[str, Any]) -> Outcome:
    """Find a variable of the process that started us, in our environment or in that of any process we see."""
    leaked = [
        name for name in os.environ if name not in _PLAIN_NAMES and not name.startswith(("PYTHON", "LC_", "USER"))
    ]
    own = Path("/proc/self/environ").read_bytes()
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            text = entry.read_bytes()
        except OSError:
            continue
        if text and text != own:
            leaked.append(f"{entry} ({len(text)} bytes)")
    return bool(leaked), ", ".join(leaked[:4]) or "empty, in every process"


def write_kernel_setting(_: dict[str, Any]) -> Outcome:
    """Write a kernel setting, with its own value."""
    value = Path(_SETTING).read_bytes()
    Path(_SETTING).write_bytes(value)
    return True, f"wrote {_SETTING}"


def open_vsock(_: dict[str, Any]) -> Outcome:
    """Make a socket to the hypervisor. It is never connected."""
    socket.socket(_AF_VSOCK, socket.SOCK_STREAM).close()
    return True, "made an AF_VSOCK socket"


def open_netlink(_: dict[str, Any]) -> Outcome:
    """Make a socket to the kernel's network control."""
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
    return True, "made an AF_NETLINK socket"


def reach_host_network(facts: dict[str, Any]) -> Outcome:
    """Connect to a listener on the host's loopback."""
    with socket.create_connection(("127.0.0.1", facts["port"]), timeout=1):
        return True, f"connected to port {facts['port']}"


def see_host_process(facts: dict[str, Any]) -> Outcome:
    """See the process of the host that has the command line `command_line`."""
    seen = 0
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = entry.read_bytes()
        except OSError:
            continue
        seen += 1
        if text == bytes.fromhex(facts["command_line"]):
            return True, f"sees it as {entry}"
    return False, f"{seen} processes to see, none of the host"


def make_user_namespace(_: dict[str, Any]) -> Outcome:
    """Become root in a user namespace of our own."""
    return _in_child(lambda libc: libc.unshare(_NEW_USER)), "unshare(CLONE_NEWUSER)"


def make_network_namespace(_: dict[str, Any]) -> Outcome:
    """Make a network namespace of our own."""
    return _in_child(lambda libc: libc.unshare(_NEW_USER | _NEW_NETWORK)), "unshare(CLONE_NEWUSER | CLONE_NEWNET)"


def mount_something(_: dict[str, Any]) -> Outcome:
    """Mount a file system, in a namespace of our own if there may be one."""

    def attempt(libc: ctypes.CDLL) -> int:
        libc.unshare(_NEW_USER | 0x20000)
        return int(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", ctypes.c_ulong(0), None))

    return _in_child(attempt), "mount(tmpfs on /tmp)"


def trace_process(_: dict[str, Any]) -> Outcome:
    """Ask to be traced."""
    return _in_child(lambda libc: libc.ptrace(0, 0, None, None)), "ptrace(PTRACE_TRACEME)"


def write_system(_: dict[str, Any]) -> Outcome:
    """Make a file, removed at once, where the system lives."""
    for folder in ("/usr/bin", "/etc", "/opt", "/dev", "/run", "/"):
        try:
            path = Path(folder) / "polyathlon-attack"
            path.touch()
            path.unlink()
            return True, f"wrote to {folder}"
        except OSError:
            continue
    return False, "all of it is read-only"


def inherit_descriptor(_: dict[str, Any]) -> Outcome:
    """Find a descriptor beyond the three standard streams."""
    extra = [name for name in os.listdir("/proc/self/fd") if int(name) > 2 and os.path.exists(f"/proc/self/fd/{name}")]
    return bool(extra), f"descriptors {', '.join(extra)}" if extra else "0, 1 and 2 only"


def keep_privileges(_: dict[str, Any]) -> Outcome:
    """Hold a capability, or the right to gain one by a setuid program."""
    rows = (line.split(":") for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    status = {name: value.strip() for name, value, *_ in rows}
    bad = [name for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb") if int(status[name], 16) != 0]
    bad += [] if status["NoNewPrivs"] == "1" else ["no NoNewPrivs"]
    return bool(bad), ", ".join(bad) or "no capability, no way to one"


ATTACKS: dict[str, Callable[[dict[str, Any]], Outcome]] = {
    attack.__name__: attack
    for attack in (
        read_host_file,
        read_host_environment,
        write_kernel_setting,
        open_vsock,
        open_netlink,
        reach_host_network,
        see_host_process,
        make_user_namespace,
        make_network_namespace,
        mount_something,
        trace_process,
        write_system,
        inherit_descriptor,
        keep_privileges,
    )
}


def _in_child(attempt: Callable[[ctypes.CDLL], int]) -> bool:
    """Return whether `attempt` returns 0 in a child process, which keeps its effect away from us."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if attempt(ctypes.CDLL(None)) == 0 else 1)
    return os.waitpid(pid, 0)[1] == 0


def run_attacks(facts: dict[str, Any]) -> dict[str, Outcome]:
    """Run every attack; one that the system answers with an error has failed."""
    outcomes = {}
    for name, attack in ATTACKS.items():
        try:
            outcomes[name] = attack(facts)
        except OSError as error:
            outcomes[name] = (False, f"{type(error).__name__}: {os.strerror(error.errno or 0)}")
    return outcomes


if __name__ == "__main__":
    print(json.dumps(run_attacks(json.loads(sys.argv[1]))))
