"""The system calls a payload may not make, assembled into a classic BPF filter in pure Python."""

from __future__ import annotations

import errno
import platform
import struct

from polyathlon.errors import SandboxRefused

_LOAD_WORD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_OFFSET_CALL, _OFFSET_ARCH, _OFFSET_ARG0, _OFFSET_ARG1 = 0, 4, 16, 24  # struct seccomp_data, little-endian low words
_X32_BIT = 0x40000000

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# CLONE_NEWTIME (0x80) shares its bit with the exit signal of clone(2), where it cannot be asked for.
_NAMESPACE_FLAGS = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
_FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6: all else (AF_VSOCK, AF_NETLINK, AF_PACKET, ...) is refused
# TIOCSTI, TIOCLINUX: keys typed for others; TIOCSETD: a line discipline, which may load a module of the kernel
_TTY_REFUSED = (0x5412, 0x541C, 0x5423)

# name: (x86_64, aarch64); None where the architecture has no such call
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
_CLONE, _CLONE3, _SOCKET, _SOCKETPAIR, _IOCTL = (56, 220), (435, 435), (41, 198), (53, 199), (16, 29)


def seccomp_filter(machine: str | None = None) -> bytes:
    """Return the filter for `machine` ("x86_64" or "aarch64"; this one by default): struct sock_filter, packed.

    clone3 answers ENOSYS, so that libc falls back to clone, whose flags can be read; a call of another architecture
    kills the process; everything else that is refused fails with EPERM, or EAFNOSUPPORT for a socket family.

    Raises:
        SandboxRefused: no table of system calls for this machine.

    """
    machine = machine or platform.machine()
    if machine not in _AUDIT_ARCH:
        raise SandboxRefused(f"No system-call filter for {machine}: sandboxes run on x86_64 and aarch64.")
    column = list(_AUDIT_ARCH).index(machine)
    lines = [
        *_load(_OFFSET_ARCH),
        *_unless_equal(_AUDIT_ARCH[machine], _KILL),
        *_load(_OFFSET_CALL),
    ]
    if machine == "x86_64":
        lines += [_line(_JUMP_GREATER_EQUAL, _X32_BIT, 0, 1), _line(_RETURN, _FAIL | errno.ENOSYS)]
    lines += _when_equal(_CLONE3[column], _FAIL | errno.ENOSYS)
    for numbers in _REFUSED.values():
        number = numbers[column]
        if number is not None:
            lines += _when_equal(number, _FAIL | errno.EPERM)
    lines += _inspect_clone(_CLONE[column])
    lines += _inspect_socket(_SOCKET[column])
    lines += _inspect_socket(_SOCKETPAIR[column])
    lines += _inspect_ioctl(_IOCTL[column])
    lines.append(_line(_RETURN, _ALLOW))
    return b"".join(lines)


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _load(offset: int) -> list[bytes]:
    return [_line(_LOAD_WORD, offset)]


def _when_equal(value: int, verdict: int) -> list[bytes]:
    return [_line(_JUMP_EQUAL, value, 0, 1), _line(_RETURN, verdict)]


def _unless_equal(value: int, verdict: int) -> list[bytes]:
    return [_line(_JUMP_EQUAL, value, 1, 0), _line(_RETURN, verdict)]


def _only_for(call: int, body: list[bytes]) -> list[bytes]:
    """Return `body` jumped over unless the loaded call number is `call`. The body must end in a return."""
    return [_line(_JUMP_EQUAL, call, 0, len(body)), *body]


def _inspect_clone(call: int) -> list[bytes]:
    body = [
        *_load(_OFFSET_ARG0),
        _line(_JUMP_ANY_BIT, _NAMESPACE_FLAGS, 0, 1),
        _line(_RETURN, _FAIL | errno.EPERM),
        _line(_RETURN, _ALLOW),
    ]
    return _only_for(call, body)


def _inspect_socket(call: int) -> list[bytes]:
    body = _load(_OFFSET_ARG0)
    for family in _FAMILIES:
        body += _when_equal(family, _ALLOW)
    return _only_for(call, [*body, _line(_RETURN, _FAIL | errno.EAFNOSUPPORT)])


def _inspect_ioctl(call: int) -> list[bytes]:
    body = _load(_OFFSET_ARG1)
    for request in _TTY_REFUSED:
        body += _when_equal(request, _FAIL | errno.EPERM)
    return _only_for(call, [*body, _line(_RETURN, _ALLOW)])
