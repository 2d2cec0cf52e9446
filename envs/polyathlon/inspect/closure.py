"""What a module is made of: the sources it reaches by imports, found by reading them, never by running any."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from polyathlon.errors import RegistryError

GYM = "polyathlon"
GENERATED = ("certificates.json", "waivers.yaml", "registry.yaml")
"""Files beside a domain that say something about it, and are no part of what its tasks and verdicts come from."""


@dataclass(frozen=True, slots=True)
class Source:
    """One module, as a file: its dotted name, whether it is a package, a hash of its text, and what it imports.

    `imports` are dotted names of modules, or of names in them: `from a.b import c` gives "a.b.c".
    """

    name: str
    path: Path
    is_package: bool
    digest: str
    imports: tuple[str, ...]


@dataclass(slots=True)
class Sources:
    """Reads modules, each once. Keep one for a pass over many domains, and no longer: files may change."""

    _read: dict[str, Source | None] = field(default_factory=dict)
    _folders: dict[str, tuple[Path, ...]] = field(default_factory=dict)

    def find(self, name: str) -> Source | None:
        """Return the module called `name`; None when there is no such file.

        Raises:
            RegistryError: the file is there, and cannot be read.

        """
        if name not in self._read:
            path = self._path_of(name)
            self._read[name] = None if path is None else read_source(name, path)
        return self._read[name]

    def folder_of(self, name: str) -> Path | None:
        """Return the folder that the top-level module of `name` lies in; None when it is not installed."""
        folders = self._folders_of(name.partition(".")[0])
        return folders[0] if folders else None

    def resolve(self, name: str) -> list[Source]:
        """Return the modules that an import of the dotted `name` reaches: the one it is, or is a name in.

        The gym's own package is only a list of names from its modules: a name of it is where that comes from.
        """
        parent, _, last = name.rpartition(".")
        found = self.find(name)
        if GYM in (name, parent) and (name == GYM or found is None):
            listed = self.find(GYM)
            names = listed.imports if listed is not None else ()
            wanted = [full for full in names if name == GYM or full.endswith(f".{last}")]
            return [source for full in wanted if (source := self.find(full.rpartition(".")[0])) is not None]
        found = found or self.find(parent)
        return [] if found is None else [found]

    def _path_of(self, name: str) -> Path | None:
        top, *rest = name.split(".")
        for folder in self._folders_of(top):
            stem = folder.joinpath(top, *rest)
            for path in (stem / "__init__.py", stem.with_name(f"{stem.name}.py")):
                if path.is_file():
                    return path
        return None

    def _folders_of(self, top: str) -> tuple[Path, ...]:
        if top not in self._folders:
            self._folders[top] = tuple(_folders(top)) if top else ()
        return self._folders[top]


def reached(roots: Iterable[str], sources: Sources, *, follow: Callable[[str], bool]) -> dict[str, Source]:
    """Return the modules that `roots` reach by imports, by name, sorted: those, and only through those, it follows.

    The packages that a module lies in are reached too: importing it runs them.
    """
    found: dict[str, Source] = {}
    todo = list(roots)
    while todo:
        name = todo.pop()
        if not follow(name):
            continue
        for source in sources.resolve(name):
            if source.name in found or not follow(source.name):
                continue
            found[source.name] = source
            todo += source.imports
            package = source.name.rpartition(".")[0]
            todo += [package] if package not in ("", GYM) else []
    return dict(sorted(found.items()))


def read_source(name: str, path: Path) -> Source:
    """Return the module `name` in the file at `path`. Line ends do not count, they differ between checkouts.

    Raises:
        RegistryError: the file cannot be read, or is no Python.

    """
    try:
        data = path.read_bytes().replace(b"\r\n", b"\n")
        tree = ast.parse(data)
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        raise RegistryError(
            f"{path}: cannot be read as a module ({error}). Mend it, or `load` in the registry."
        ) from error
    is_package = path.name == "__init__.py"
    package = name if is_package else name.rpartition(".")[0]
    return Source(
        name, path, is_package, hashlib.sha256(data).hexdigest(), tuple(dict.fromkeys(_imports(tree, package)))
    )


def data_files(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the files in `folders` that are no Python, those of subfolders that are no packages too, in order."""
    for folder in sorted(set(folders)):
        yield from _data_in(folder)


def _data_in(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name == "__pycache__":
            continue
        if path.is_dir() and not (path / "__init__.py").exists():
            yield from _data_in(path)
        elif path.is_file() and path.suffix not in (".py", ".pyc", ".pyi") and path.name not in GENERATED:
            yield path


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (base if alias.name == "*" else f"{base}.{alias.name}" for alias in node.names)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements under `node` at any depth: imports may stand in functions, never in expressions."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, name, None) or ():
            if isinstance(inner, ast.stmt | ast.ExceptHandler | ast.match_case):
                yield inner
                yield from _statements(inner)


def _folders(top: str) -> Iterator[Path]:
    """Yield the folders that may hold the top-level module `top`. Finding it runs none of its code."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return
    if spec is None:
        return
    if spec.submodule_search_locations:
        yield from (Path(place).parent for place in spec.submodule_search_locations)
    elif spec.origin and spec.has_location:
        yield Path(spec.origin).parent
