"""The filter, read by a small interpreter of classic BPF: numbers and verdicts by hand from the kernel's tables."""

from __future__ import annotations

import errno
import struct

import pytest

from polyathlon.errors import SandboxRefused
from polyathlon.sandbox.seccomp import seccomp_filter

ALLOW, KILL = "allow", "kill"
X86, ARM = 0xC000003E, 0xC00000B7


def verdict(program: bytes, arch: int, number: int, *arguments: int) -> str:
    """Return what `program` answers to a call: "allow", "kill" or the name of an error."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<iIQ6Q", number, arch, 0, *padded)
    lines = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, value = lines[at]
        at += 1
        if code == 0x20:  # BPF_LD | BPF_W | BPF_ABS
            accumulator = struct.unpack_from("<I", data, value)[0]
        elif code == 0x06:  # BPF_RET | BPF_K
            if value == 0x7FFF0000:
                return ALLOW
            return KILL if value == 0x80000000 else errno.errorcode[value & 0xFFFF]
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            at += if_true if holds else if_false


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ((0,), ALLOW),  # read
        ((59,), ALLOW),  # execve
        ((165,), "EPERM"),  # mount
        ((272, 0x10000000), "EPERM"),  # unshare
        ((321,), "EPERM"),  # bpf
        ((101, 0), "EPERM"),  # ptrace
        ((425,), "EPERM"),  # io_uring_setup
        ((435,), "ENOSYS"),  # clone3
        ((56, 0x3D0F00), ALLOW),  # clone of a thread
        ((56, 17), ALLOW),  # clone as fork does, SIGCHLD
        ((56, 0x10000011), "EPERM"),  # clone with CLONE_NEWUSER
        ((56, 0x00020011), "EPERM"),  # clone with CLONE_NEWNS
        ((41, 1), ALLOW),  # socket AF_UNIX
        ((41, 2), ALLOW),  # AF_INET
        ((41, 10), ALLOW),  # AF_INET6
        ((41, 16), "EAFNOSUPPORT"),  # AF_NETLINK
        ((41, 17), "EAFNOSUPPORT"),  # AF_PACKET
        ((41, 40), "EAFNOSUPPORT"),  # AF_VSOCK
        ((41, 38), "EAFNOSUPPORT"),  # AF_ALG
        ((53, 1), ALLOW),  # socketpair AF_UNIX
        ((16, 1, 0x5401), ALLOW),  # ioctl TCGETS
        ((16, 1, 0x5412), "EPERM"),  # TIOCSTI
        ((16, 1, 0xFFFFFFFF00005412), "EPERM"),  # the kernel reads the low word only
        ((16, 1, 0x541C), "EPERM"),  # TIOCLINUX
        ((0x40000000,), "ENOSYS"),  # x32 read
    ],
)
def test_x86_64(call: tuple[int, ...], expected: str) -> None:
    assert verdict(seccomp_filter("x86_64"), X86, *call) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ((63,), ALLOW),  # read
        ((40,), "EPERM"),  # mount
        ((97, 0x10000000), "EPERM"),  # unshare
        ((435,), "ENOSYS"),  # clone3
        ((220, 0x10000011), "EPERM"),  # clone with CLONE_NEWUSER
        ((198, 40), "EAFNOSUPPORT"),  # socket AF_VSOCK
        ((198, 1), ALLOW),  # socket AF_UNIX
        ((29, 1, 0x5412), "EPERM"),  # ioctl TIOCSTI
        ((41, 1), "EPERM"),  # pivot_root, the number of x86_64's socket
    ],
)
def test_aarch64(call: tuple[int, ...], expected: str) -> None:
    assert verdict(seccomp_filter("aarch64"), ARM, *call) == expected


def test_calls_of_another_architecture_kill() -> None:
    assert verdict(seccomp_filter("x86_64"), 0x40000003, 11) == KILL  # i386 execve


def test_an_unknown_machine_is_refused() -> None:
    with pytest.raises(SandboxRefused, match="riscv64"):
        seccomp_filter("riscv64")
