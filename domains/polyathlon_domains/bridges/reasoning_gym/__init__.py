"""The generators of reasoning-gym as domains: its questions and its verifiers, each looked at before it is used.

The library is imported in a process of its own (`serving`), which `theirs` asks: nothing of it runs here.
"""

from __future__ import annotations

import importlib.metadata

from polyathlon.errors import RegistryError

VERSION = "0.1.25"
"""The release whose rewards the ids of this bridge stand for: another one may pay otherwise."""
NAMESPACE = "reasoning-gym"
INSTALL = f"polyathlon[{NAMESPACE}]"


def check_installed() -> None:
    """Refuse to go on without the library, or with another release of it.

    Raises:
        ModuleNotFoundError: it is not installed.
        RegistryError: another release is.

    """
    installed = importlib.metadata.version(NAMESPACE)
    if installed != VERSION:
        raise RegistryError(
            f"reasoning-gym {installed} is installed, and the ids of this bridge stand for the rewards of {VERSION}. "
            f"Try: pip install '{INSTALL}'"
        )
