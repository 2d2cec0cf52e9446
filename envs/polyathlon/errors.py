"""Every error of the gym, named after the boundary that was crossed.

PolyathlonError
├── RegistryError        registry.yaml, a plugin, an id, an extra that is not installed
│   └── UnknownDomain    no such id; carries the nearest ones
├── TaskError            a task source could not give a task (its space is too small for the split)
├── DomainError          a domain broke its contract
│   └── VerifierError    a verifier broke: never a reward of zero
├── SandboxError         a sandbox could not be made or kept
│   ├── PatchRefused     a patch does not apply; names file and hunk, nothing was changed
│   ├── SandboxRefused   isolation is not possible here; says what to install
│   └── SandboxLost      the sandbox died under us: the episode is discarded
├── ToolCallError        a policy's message could not be read as a tool call; becomes an observation
├── EngineError          the text generator broke
└── EpisodeLost          an invalid episode, in scalar use
"""

from __future__ import annotations

from typing import Literal


class PolyathlonError(Exception):
    """Any error this package raises on purpose."""


class RegistryError(PolyathlonError):
    """The catalogue of domains is wrong, or a domain in it cannot be loaded."""


class UnknownDomain(RegistryError):
    """No domain has this id."""


class TaskError(PolyathlonError):
    """A task source gave no task that fits."""


class DomainError(PolyathlonError):
    """A domain broke its contract."""


class VerifierError(DomainError):
    """A verifier broke. The episode is invalid; its reward is None, never zero."""


class SandboxError(PolyathlonError):
    """A sandbox could not be made, used or read."""


class SandboxRefused(SandboxError):
    """This machine cannot isolate; the message says what to install or allow."""


class PatchRefused(SandboxError):
    """A patch does not apply to the files as they are. None of it was applied."""


class SandboxLost(SandboxError):
    """The sandbox died while it was needed. Not the policy's failure."""


class ToolCallError(PolyathlonError):
    """A message could not be read as a tool call. Its text is shown to the policy."""


class EngineError(PolyathlonError):
    """The engine that writes the policy's text broke."""


LostKind = Literal["task", "verifier", "sandbox", "domain"]


class EpisodeLost(PolyathlonError):
    """The episode is invalid and must be discarded. `kind` names the boundary that broke; it is never the policy."""

    def __init__(self, message: str, kind: LostKind) -> None:
        super().__init__(message, kind)
        self.kind = kind

    def __str__(self) -> str:
        return str(self.args[0])
