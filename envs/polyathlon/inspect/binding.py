"""What a certificate is bound to: one hash over all that the grade of a domain depends on, in parts that have names."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from polyathlon.canonical import Json, content_hash
from polyathlon.errors import RegistryError
from polyathlon.inspect.closure import GYM, Source, Sources, data_files, reached
from polyathlon.inspect.waivers import Waiver, waiver_record
from polyathlon.plugins import Entry

EPISODE = (f"{GYM}.env", f"{GYM}.drawing")
"""What plays an episode of any domain."""
CHECKS = f"{GYM}.inspect.checks"
NOT_PLAYED = tuple(f"{GYM}.{name}" for name in ("catalog", "cli", "inspect", "plugins", "registration", "vector"))
"""Modules of the gym that list, find and look at domains: no task and no verdict comes from them."""
SANDBOX = f"{GYM}.sandbox"
SHOWN_ONLY = (".css", ".html", ".j2", ".js")
INSTALLED = ("dist-packages", "site-packages")
OUTSIDE = ("inspector", "attacks")
"""The parts that say how a domain was looked at, and nothing about the domain."""
NO_MATTER = ("install", "weight")
"""Keys of a row that decide neither a task nor a verdict."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The hash of each part that a domain's grade depends on, by the part's name."""

    parts: Mapping[str, str]

    @property
    def sha256(self) -> str:
        """One hash of all parts, 64 hexadecimal characters."""
        return content_hash(dict(self.parts))

    def changed_since(self, parts: Mapping[str, str]) -> tuple[str, ...]:
        """Return the names of the parts that are not what they were in `parts`."""
        names = sorted({*self.parts, *parts})
        return tuple(name for name in names if self.parts.get(name) != parts.get(name))


def bind(entry: Entry, waivers: Iterable[Waiver], sources: Sources) -> Binding:
    """Return what the grade of `entry` depends on now. It reads sources, and imports no domain.

    "row": what the catalogue declares, but its weight and its install line. "source": the modules of its own package
    that its `load` reaches by imports. "data": the other files beside them. "gym": what of polyathlon these import, and
    what plays an episode; the sandbox where the row needs one. "inspector": what the checks are made of. "waivers".

    Raises:
        RegistryError: the module that `load` names is not there, or a source cannot be read.

    """
    module = entry.row.load.partition(":")[0]
    top = module.partition(".")[0]
    if sources.find(module) is None:
        raise RegistryError(f"{entry.id}: there is no source of {module}. Try: pip install '{entry.row.install}'")
    own = reached([module], sources, follow=_own(module, sources))
    outward = [name for source in own.values() for name in source.imports]
    gym = reached([*outward, *EPISODE], sources, follow=_gym(needs_sandbox="sandbox" in entry.row.needs))
    folders = {source.path.parent for source in own.values() if source.is_package or "." in source.name}
    row: dict[str, Json] = msgspec.to_builtins(entry.row)
    return Binding(
        {
            "row": content_hash({"id": entry.id, **{key: row[key] for key in row if key not in NO_MATTER}}),
            "source": _modules(own),
            "data": _files(data_files(folders), beside=sources.folder_of(top)),
            "gym": _modules(gym),
            "inspector": inspector_hash(sources),
            "waivers": content_hash([waiver_record(waiver) for waiver in waivers]),
        }
    )


def inspector_hash(sources: Sources) -> str:
    """Return a hash of all that the checks are made of: how the inspection is shown and kept is no part of it."""
    found = reached([CHECKS], sources, follow=lambda name: name.startswith(f"{GYM}.inspect"))
    folders = {source.path.parent for source in found.values()}
    data = (path for path in data_files(folders) if path.suffix not in SHOWN_ONLY)
    return content_hash([_modules(found), _files(data, beside=sources.folder_of(GYM))])


def _own(module: str, sources: Sources) -> Callable[[str], bool]:
    """Return what decides whether a name is of the same package; beside a module without one, of the same folder."""
    top = module.partition(".")[0]
    folder = sources.folder_of(top)
    alone = "." not in module and folder is not None and folder.name not in INSTALLED

    def is_own(name: str) -> bool:
        head = name.partition(".")[0]
        if head == top or not alone or folder is None:
            return head == top
        return (folder / f"{head}.py").is_file() or (folder / head / "__init__.py").is_file()

    return is_own


def _gym(*, needs_sandbox: bool) -> Callable[[str], bool]:
    left_out = NOT_PLAYED if needs_sandbox else (*NOT_PLAYED, SANDBOX)

    def is_played(name: str) -> bool:
        return name.partition(".")[0] == GYM and not any(f"{name}.".startswith(f"{prefix}.") for prefix in left_out)

    return is_played


def _modules(found: Mapping[str, Source]) -> str:
    return content_hash([[name, source.digest] for name, source in found.items()])


def _files(paths: Iterable[Path], *, beside: Path | None) -> str:
    assert beside is not None  # its sources were found there
    return content_hash([[path.relative_to(beside).as_posix(), _digest(path)] for path in paths])


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
