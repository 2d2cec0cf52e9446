"""Catalogues that installed plugins bring, found without importing any of their code."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from polyathlon.catalog import Catalog, Row, builtin_path, did_you_mean, read_catalog
from polyathlon.errors import RegistryError, UnknownDomain

GROUP = "polyathlon.catalogs"
EXTRA = "POLYATHLON_CATALOGS"
BUILTIN = "polyathlon"


@dataclass(frozen=True, slots=True)
class Fault:
    """A plugin whose catalogue could not be used: who, and why."""

    plugin: str
    cause: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One domain in force: its full id, its row, and who brought it from where."""

    id: str
    row: Row
    owner: str
    path: Path


@dataclass(frozen=True, slots=True)
class Registry:
    """Every domain in force by full id, and the plugins that are broken."""

    entries: Mapping[str, Entry]
    faults: tuple[Fault, ...] = ()
    namespaces: Mapping[str, str] = field(default_factory=dict)

    def entry(self, domain_id: str) -> Entry:
        """Return the entry of `domain_id`; a built-in's namespace may be left out.

        Raises:
            UnknownDomain: no such id; the message suggests the nearest, and names broken plugins.

        """
        found = self.entries.get(domain_id) or self.entries.get(f"{BUILTIN}/{domain_id}")
        if found is not None:
            return found
        hint = did_you_mean(domain_id, list(self.entries)) or did_you_mean(f"{BUILTIN}/{domain_id}", list(self.entries))
        broken = "".join(f" Plugin {fault.plugin} could not be used: {fault.cause}" for fault in self.faults)
        raise UnknownDomain(f"No domain {domain_id!r} among {len(self.entries)}.{hint}{broken}")


def read_registry() -> Registry:
    """Return our own catalogue, every installed plugin's, and the files that POLYATHLON_CATALOGS names.

    The variable holds paths of registry.yaml files, split as PATH is: for catalogues that are not installed yet. A
    broken plugin becomes a fault and harms nothing else.

    Raises:
        RegistryError: our own registry.yaml is broken.

    """
    catalogs = [read_catalog(builtin_path(), owner=BUILTIN)]
    faults: list[Fault] = []
    for name, find in _brought():
        try:
            catalogs.append(read_catalog(find(), owner=name))
        except RegistryError as error:
            faults.append(Fault(name, str(error)))
    return merge(catalogs, faults)


def _brought() -> Iterator[tuple[str, Callable[[], Path]]]:
    for point in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        name = f"{point.dist.name} ({point.name})" if point.dist is not None else point.name
        yield name, functools.partial(_in_package, point.value)
    for path in filter(None, os.environ.get(EXTRA, "").split(os.pathsep)):
        yield path, functools.partial(Path, path)


def merge(catalogs: Iterable[Catalog], faults: Iterable[Fault] = ()) -> Registry:
    """Return one registry of `catalogs`; the first to use a namespace owns it, a later one becomes a fault."""
    entries: dict[str, Entry] = {}
    owners: dict[str, Catalog] = {}
    broken = list(faults)
    for catalog in catalogs:
        holder = owners.setdefault(catalog.namespace, catalog)
        if holder is not catalog:
            both = f"{holder.owner} ({holder.path}) and {catalog.owner} ({catalog.path})"
            clash = sorted({row.id for row in holder.rows} & {row.id for row in catalog.rows})
            what = f"the id {catalog.namespace}/{clash[0]}" if clash else f"the namespace {catalog.namespace!r}"
            broken.append(Fault(catalog.owner, f"{what} is claimed by {both}; a namespace has one owner. Rename one."))
            continue
        for row in catalog.rows:
            full_id = f"{catalog.namespace}/{row.id}"
            entries[full_id] = Entry(full_id, row, catalog.owner, catalog.path)
    return Registry(entries, tuple(broken), {name: catalog.owner for name, catalog in owners.items()})


def _in_package(package: str) -> Path:
    top, _, rest = package.partition(".")
    try:
        spec = importlib.util.find_spec(top)  # finding a top-level package runs none of its code
    except (ImportError, ValueError) as error:
        raise RegistryError(f"package {package!r} cannot be found: {error}. Reinstall the plugin.") from error
    if spec is None or not spec.submodule_search_locations:
        raise RegistryError(f"package {package!r} is not installed, or is no package. Reinstall the plugin.")
    return Path(next(iter(spec.submodule_search_locations)), *(rest.split(".") if rest else ()), "registry.yaml")
