"""The registry in force: filed with Gymnasium at import, its domains loaded when asked for."""

from __future__ import annotations

import functools
import importlib
import threading
import warnings

import gymnasium
from gymnasium.envs.registration import EnvSpec

from polyathlon.domain import Domain
from polyathlon.errors import RegistryError
from polyathlon.plugins import Entry, Registry, read_registry

_LOCK = threading.Lock()
_REGISTRY: list[Registry] = []


class PluginWarning(UserWarning):
    """An installed plugin is broken; everything else works."""


def registry() -> Registry:
    """Return the registry in force, read once a process."""
    with _LOCK:
        if not _REGISTRY:
            _REGISTRY.append(read_registry())
            for fault in _REGISTRY[0].faults:
                warnings.warn(f"Plugin {fault.plugin} is left out: {fault.cause}", PluginWarning, stacklevel=3)
        return _REGISTRY[0]


def file_with_gymnasium(entries: Registry) -> None:
    """Write one `EnvSpec` a domain into `gymnasium.registry`.

    Directly: `gymnasium.register` rescans the registry at each call, 1.2 s for 2,000 ids.
    """
    for full_id in entries.entries:
        gymnasium.registry[full_id] = EnvSpec(
            id=full_id, entry_point="polyathlon.env:DomainEnv", kwargs={"domain_id": full_id}
        )


@functools.cache
def load_domain(domain_id: str) -> Domain:
    """Return the domain of `domain_id`, importing its module.

    Raises:
        UnknownDomain: no such id.
        RegistryError: an extra is missing (with the pip line), or the module or the name in it does not exist.

    """
    entry = registry().entry(domain_id)
    module_name, _, name = entry.row.load.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise RegistryError(_import_complaint(entry, module_name, error)) from error
    domain = getattr(module, name, None)
    if not isinstance(domain, Domain):
        kind = "there is no such name" if domain is None else f"it is a {type(domain).__name__}, not a Domain"
        raise RegistryError(f"{entry.path}: {entry.id}: load is {entry.row.load}, but {kind} in {module_name}.")
    return domain


def _import_complaint(entry: Entry, module_name: str, error: ImportError) -> str:
    missing = error.name or str(error)
    if isinstance(error, ModuleNotFoundError) and not module_name.startswith(missing):
        return f"{entry.row.load}: no module {missing!r}. Try: pip install '{entry.row.install}'"
    return f"{entry.id}: {entry.row.load} cannot be imported: {error}. Check `load` in {entry.path}."
