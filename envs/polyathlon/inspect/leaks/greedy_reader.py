"""Runs inside a sandbox, as a policy's command: reads all that can be read, and says where it saw a canary.

It must not hold a canary itself, so it is told only how one begins, in two halves. Nothing it finds is written
anywhere but to its output: a line for each canary, "seen TOKEN in PLACE by WAY", and last how much it has read.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import subprocess
import time
import zlib

START, REST = "qz", "canary"
LENGTH = 24
MAX_FILE_BYTES = 4 << 20
MAX_SEEN = 40
LIMIT_S = 12.0
SKIPPED = ("/sys", "/usr", "/lib", "/lib64", "/bin", "/sbin")
DEVICES = ("/dev/shm", "/dev/mqueue")
TOPS = ("/workspace", "/judge", "/tmp", "/home", "/root", *DEVICES, "/var", "/run", "/etc", "/opt", "/srv", "/mnt", "/")
PACKED = (b"\x1f\x8b", b"x\x9c", b"x\x01", b"x\xda")


def patterns() -> dict[str, re.Pattern[bytes]]:
    """Return what a canary looks like in each reading."""
    head = (START + REST).encode()
    digits = b"[0-9a-f]{%d}"
    found = {
        "as it is": re.escape(head) + digits % LENGTH,
        "backwards": digits % LENGTH + re.escape(head[::-1]),
        "hexadecimal": head.hex().encode() + digits % (2 * LENGTH),
    }
    for start in range(3):
        inner = head[start : start + (len(head) - start) // 3 * 3]
        found[f"base64 {start}"] = re.escape(base64.b64encode(inner)) + rb"[A-Za-z0-9+/]{0,40}"
    return {way: re.compile(pattern) for way, pattern in found.items()}


def token_of(way: str, found: bytes) -> str:
    """Return the canary that was found in reading `way`; of base64, what stands there."""
    if way == "hexadecimal":
        return bytes.fromhex(found.decode("ascii")).decode("ascii", "replace")
    return (found[::-1] if way == "backwards" else found).decode("ascii", "replace")


class Reader:
    """Looks at bytes, and tells of each canary in them once a place."""

    def __init__(self) -> None:
        self.patterns = patterns()
        self.seen: set[tuple[str, str]] = set()
        self.num_things = 0
        self.num_bytes = 0

    def look(self, place: str, data: bytes, depth: int = 0) -> None:
        """Report the canaries in `data`, and in what it unpacks to."""
        self.num_things += 1
        self.num_bytes += len(data)
        for way, pattern in self.patterns.items():
            for match in pattern.finditer(data):
                token = token_of(way, match[0])
                if (token, place) not in self.seen and len(self.seen) < MAX_SEEN:
                    self.seen.add((token, place))
                    print("seen", token, "in", place, "by", way, flush=True)
        if depth < 2 and data.startswith(PACKED):
            with contextlib.suppress(zlib.error):
                self.look(f"{place} (unpacked)", zlib.decompressobj(47).decompress(data, MAX_FILE_BYTES), depth + 1)

    def read_file(self, path: str) -> None:
        """Look at the first bytes of one file, and at its name."""
        self.look(f"{path} (its name)", os.fsencode(os.path.basename(path)))
        with contextlib.suppress(OSError), open(path, "rb") as file:
            self.look(path, file.read(MAX_FILE_BYTES))

    def read_processes(self) -> None:
        """Look at what /proc tells of every process that it shows."""
        for process in os.listdir("/proc") if os.path.isdir("/proc") else ():
            if not process.isdigit():
                continue
            for name in ("cmdline", "environ", "maps", "mountinfo", "comm"):
                self.read_file(f"/proc/{process}/{name}")
            with contextlib.suppress(OSError):
                for link in os.listdir(f"/proc/{process}/fd"):
                    with contextlib.suppress(OSError):
                        self.look(f"/proc/{process}/fd/{link}", os.fsencode(os.readlink(f"/proc/{process}/fd/{link}")))
        for name in ("/proc/net/unix", "/proc/net/tcp", "/proc/mounts", "/proc/keys"):
            self.read_file(name)

    def read_repository(self, folder: str) -> None:
        """Look at every object of a git repository: dangling ones and packs too."""
        command = ["git", "-C", folder, "cat-file", "--batch-all-objects", "--batch"]
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(command, capture_output=True, timeout=5, check=False)
            self.look(f"{folder} (git objects)", done.stdout[: 4 * MAX_FILE_BYTES])

    def read_folders(self, until_s: float) -> bool:
        """Look at every file, the likely places first; return whether there was time for all."""
        done: set[str] = set()
        for top in TOPS:
            for folder, folders, files in os.walk(top):
                real = os.path.realpath(folder)
                if real in done or within(real, SKIPPED) or (within(real, ("/dev",)) and not within(real, DEVICES)):
                    folders[:] = []
                    continue
                done.add(real)
                folders[:] = [name for name in folders if not within(os.path.join(real, name), ("/proc", "/sys"))]
                for name in folders:
                    self.look(os.path.join(folder, name) + " (its name)", os.fsencode(name))
                if ".git" in folders:
                    self.read_repository(folder)
                for name in files:
                    if time.monotonic() > until_s:
                        return False
                    path = os.path.join(folder, name)
                    if os.path.isfile(path):
                        self.read_file(path)
        return True


def within(path: str, folders: tuple[str, ...]) -> bool:
    """Return whether `path` is one of `folders`, or lies in one."""
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def main() -> None:
    """Read everything, and tell what was seen."""
    reader, until_s = Reader(), time.monotonic() + LIMIT_S
    reader.look("the environment", "\n".join(f"{key}={value}" for key, value in os.environ.items()).encode())
    reader.read_processes()
    if not reader.read_folders(until_s):
        print("out of time", flush=True)
    print("read", reader.num_things, "things,", reader.num_bytes, "bytes", flush=True)


if __name__ == "__main__":
    main()
