"""The warm Python: a process inside the read-only system that forks a judge of its own for each program.

Run as text by the interpreter that payloads see, as root of a user namespace that maps users of this machine's
sandboxes and nobody else. It holds no secret, runs no payload, and is the first process of its process namespace: its
death ends every judge. Each judge is a fork in namespaces of its own, under the limits it is told, without a
privilege; what it is to run is compiled here, and run there.

From the launcher: packets of marshal. The first says what to import; each further one orders a judge, with descriptors:
the judge's source, its standard streams, a pipe for its end, and its control groups. The answer is its pidfd.

Only modules that leave no trace a program could meet are used: what a judge finds imported is what a cold start has.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # the part of signal that is written in C
import _socket  # socket would bring enum, selectors and more
import ctypes
import gc
import marshal
import os
import resource
import sys

TYPE_CHECKING = False  # importing typing would leave it there
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, NoReturn

CONTROL = 3
_MAX_FDS, _MAX_ORDER_BYTES = 32, 2**17
_NEW_MOUNTS, _NEW_CGROUP, _NEW_UTS, _NEW_IPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
_NEW_USER, _NEW_PIDS, _NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
_NOSUID, _NODEV, _NOEXEC, _READ_ONLY, _REMOUNT, _BIND = 0x2, 0x4, 0x8, 0x1, 0x20, 0x1000
_PDEATHSIG, _DUMPABLE, _SECCOMP, _DROP_BOUNDING, _NO_NEW_PRIVILEGES = 1, 4, 22, 24, 38
_CAPABILITY_VERSION = 0x20080522
_ONLY_AST, _MAX_CODES = 0x400, 16
_PAYLOAD_ID = 1000

_libc = ctypes.CDLL(None, use_errno=True)
_codes: dict[bytes, CodeType] = {}


def call(name: str, *arguments: object) -> int:
    """Call libc; a whole number is passed as a long, as variadic functions want it.

    Raises:
        OSError: it answered -1.

    """
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = int(getattr(_libc, name)(*words))
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def write(path: str, text: bytes) -> None:
    """Write a file of /proc, which takes its text in one piece."""
    fd = os.open(path, os.O_WRONLY)
    os.write(fd, text)
    os.close(fd)


def mount(source: bytes, target: bytes, kind: bytes, flags: int, data: bytes = b"") -> None:
    """Mount as mount(2) does."""
    call("mount", source, target, kind, flags, data)


def compiled(source: bytes) -> CodeType:
    """Return the code of a judge's source, with all that it imports first thing imported here, once.

    What is wrong with it is the judge's to find: as code that raises the same error.
    """
    if source in _codes:
        return _codes[source]
    try:
        statements = compile(source, "<string>", "exec", _ONLY_AST, dont_inherit=True).body
        code = compile(source, "<string>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return compile(f"compile({source!r}, '<string>', 'exec')", "<string>", "exec")
    for statement in statements:
        kind = type(statement).__name__
        names = [alias.name for alias in statement.names] if kind == "Import" else []
        for name in [statement.module] if kind == "ImportFrom" else names:
            try:
                __import__(name)
            except (ImportError, TypeError):
                break
    if len(_codes) == _MAX_CODES:
        _codes.clear()
    _codes[source] = code
    gc.freeze()  # what is shared with the forks stays shared
    return code


class Filter(ctypes.Structure):
    """A system-call filter, as the kernel takes it."""

    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_void_p))


class Judge:
    """One judge to be: its order, and its descriptors once the launcher's are laid out as 0, 1, 2 and `end`."""

    def __init__(self, order: dict[str, Any], code: CodeType, fds: list[int], refused: Filter) -> None:
        self.order, self.code, self.filter = order, code, refused
        self.streams, self.end, self.groups = fds[:3], fds[3], fds[4:]

    def become_init(self) -> None:
        """Become the first process of the judge's namespaces: build its walls, start it, and wait for its end.

        Returns in the judge alone.
        """
        for fd in self.groups:
            os.write(fd, b"0")  # with the rights of who opened it
        for place, fd in enumerate(self.streams):
            os.dup2(fd, place)
        os.dup2(self.end, CONTROL)
        os.closerange(CONTROL + 1, 256)
        call("prctl", _DUMPABLE, 1, 0, 0, 0)  # until the judge starts: what is in /proc/self must be ours to write
        unsealed = self.make_files()
        self.leave_host(unsealed)
        call("prctl", _DUMPABLE, 0, 0, 0, 0)
        judge = os.fork()
        if judge != 0:
            self.await_end(judge)
        os.close(CONTROL)
        call("prctl", _DUMPABLE, 1, 0, 0, 0)
        os.chdir("/workspace")

    def await_end(self, judge: int) -> NoReturn:
        """Reap until `judge` has ended; tell the launcher its exit code, and whether its files had filled up."""
        for place in (0, 1, 2):
            os.close(place)
        ended, code = -1, 0
        while ended != judge:
            ended, status = os.waitpid(-1, 0)
            code = os.waitstatus_to_exitcode(status)
        room = os.statvfs("/workspace")
        full = room.f_bfree == 0 or room.f_ffree == 0
        os.write(CONTROL, b"%d %d" % (code if code >= 0 else 128 - code, full))
        os._exit(0)

    def make_files(self) -> int:
        """Mount a sized, empty file system over all that can be written, and a /proc of our own over our parent's.

        Return a descriptor of that one, whose settings are not sealed.
        """
        call("unshare", _NEW_MOUNTS)
        user = self.order["user"]
        sizes = b"mode=755,size=%d,nr_inodes=%d" % (self.order["disk_bytes"], self.order["max_files"] + 4)
        mount(b"tmpfs", b"/tmp", b"tmpfs", _NOSUID | _NODEV, sizes)
        for name, mode, place in (
            ("workspace", 0o755, "/workspace"),
            ("shm", 0o1777, "/dev/shm"),
            ("tmp", 0o1777, "/tmp"),
        ):
            os.mkdir(f"/tmp/{name}")
            os.chmod(f"/tmp/{name}", mode)
            os.chown(f"/tmp/{name}", user, user)
            mount(b"/tmp/" + name.encode(), place.encode(), b"", _BIND)
        unsealed = os.open("/proc", os.O_PATH)
        mount(b"proc", b"/proc", b"proc", _NOSUID | _NODEV | _NOEXEC)
        mount(b"/proc/sys", b"/proc/sys", b"", _BIND)
        mount(b"", b"/proc/sys", b"", _BIND | _REMOUNT | _READ_ONLY | _NOSUID | _NODEV | _NOEXEC)
        return unsealed

    def limit(self) -> None:
        """Take on the limits of one process: in its own user namespace, where nobody else's processes count."""
        write("/proc/self/oom_score_adj", b"1000")
        for kind, soft, hard in self.order["ceilings"]:
            resource.setrlimit(kind, (soft, hard))
        if self.order["cpus"]:
            os.sched_setaffinity(0, self.order["cpus"])

    def leave_host(self, unsealed: int) -> None:
        """Become a user without privileges in namespaces without a way out, for good."""
        user = self.order["user"]
        if user:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            call("prctl", _DUMPABLE, 1, 0, 0, 0)
        call("unshare", _NEW_USER | _NEW_NETWORK | _NEW_IPC | _NEW_UTS | _NEW_CGROUP)
        entry = b"%d %d 1" % (_PAYLOAD_ID, user)
        for name, text in (("setgroups", b"deny"), ("uid_map", entry), ("gid_map", entry)):
            write(f"/proc/self/{name}", text)
        call("sethostname", b"sandbox", 7)
        setting = os.open("sys/user/max_user_namespaces", os.O_WRONLY, dir_fd=unsealed)
        os.write(setting, b"0")
        os.close(setting)
        os.close(unsealed)
        self.limit()
        self.drop_privileges()

    def drop_privileges(self) -> None:
        for capability in range(64):
            if _libc.prctl(_DROP_BOUNDING, ctypes.c_long(capability), 0, 0, 0) != 0:
                break
        header, nothing = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
        call("capset", header, nothing)
        os.setpgid(0, 0)  # a signal to the whole group reaches nobody else
        call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        call("prctl", _SECCOMP, 2, ctypes.byref(self.filter), 0, 0)


def start_anew() -> None:
    """Set what a cold start sets: streams on the new descriptors, and generators with seeds of their own."""
    for name, place, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        old = getattr(sys, name)
        new = open(place, mode, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115  # it stays
        if name == "stderr":
            new.reconfigure(line_buffering=True)  # type: ignore[attr-defined]  # a TextIOWrapper
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    for name in ("random", "numpy.random"):
        if name in sys.modules:
            sys.modules[name].seed()
    signal.signal(signal.SIGINT, signal.default_int_handler)


def fresh_main() -> dict[str, Any]:
    """Return the names of a main module in which nothing is defined yet."""
    main = type(sys)("__main__")
    vars(main)["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    return main.__dict__


def finish_python(error: BaseException | None) -> NoReturn:
    """End as an interpreter does that ran its program, or left it by `error`."""
    code: object = 0
    if isinstance(error, SystemExit):
        code = error.code
        if code is not None and not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    elif error is not None:
        sys.excepthook(type(error), error, error.__traceback__ and error.__traceback__.tb_next)
        code = 1
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    if "atexit" in sys.modules:
        sys.modules["atexit"]._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            code = code or 120
    os._exit((code or 0) & 0xFF)  # type: ignore[operator]  # a whole number by now


def receive(control: Any) -> tuple[dict[str, Any], list[int]]:
    """Return the next packet and its descriptors; end with the launcher."""
    data, ancillary, _, _ = control.recvmsg(
        _MAX_ORDER_BYTES, _socket.CMSG_SPACE(_MAX_FDS * 4), _socket.MSG_CMSG_CLOEXEC
    )
    if not data:
        os._exit(0)
    fds = [
        int.from_bytes(packed[at : at + 4], sys.byteorder)
        for _, _, packed in ancillary
        for at in range(0, len(packed), 4)
    ]
    return marshal.loads(data), fds


def reap(*_: object) -> None:
    """Wait for every judge that has ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def start(judge: Judge, own_pids: int) -> int | None:
    """Start `judge` in a process namespace of its own; return its pidfd. Returns None in the judge itself."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    pid = -1
    try:
        call("unshare", _NEW_PIDS)
        pid = os.fork()
        if pid != 0:
            return os.pidfd_open(pid)
    finally:
        if pid != 0:
            call("setns", own_pids, _NEW_PIDS)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        judge.become_init()
    except BaseException as error:  # a forked child: nothing may escape into the parent's code
        os.write(2, f"warm python: {type(error).__name__}: {error}".encode()[:2000])
        os._exit(125)
    return None


def serve() -> CodeType:
    """Answer orders until the launcher is gone. Returns in a judge alone: what it is to run."""
    control = _socket.socket(fileno=CONTROL)
    plan, _ = receive(control)
    call("prctl", _PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    call("prctl", _DUMPABLE, 0, 0, 0, 0)
    signal.signal(signal.SIGCHLD, reap)
    for package in plan["packages"]:
        __import__(package)
    lines = ctypes.create_string_buffer(plan["seccomp"], len(plan["seccomp"]))
    refused = Filter(len(plan["seccomp"]) // 8, ctypes.addressof(lines))
    own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    while True:
        order, fds = receive(control)
        with open(fds[0], "rb") as file:
            source = file.read()
        answer = None
        try:
            code = compiled(source)
            answer = start(Judge(order, code, fds[1:], refused), own_pids)
            if answer is None:
                control.detach()
                return code
            control.sendmsg([b"+"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, answer.to_bytes(4, sys.byteorder))])
        except OSError as error:
            control.sendmsg([f"-{type(error).__name__}: {error}".encode()[:2000]])
        for fd in fds[1:]:
            os.close(fd)
        if answer is not None:
            os.close(answer)


if __name__ == "__main__":
    _code, _finish = serve(), finish_python
    start_anew()
    _scope = fresh_main()
    try:
        exec(_code, _scope)  # noqa: S102  # this is what the sandbox is for
    except BaseException as _error:
        _finish(_error)
    _finish(None)
