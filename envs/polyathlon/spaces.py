"""The space of all texts, for observations and actions."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Space


class TextSpace(Space[str]):
    """Every Python string. Unlike `gymnasium.spaces.Text` it has no alphabet and no length.

    Gymnasium cannot put it in shared memory: `AsyncVectorEnv(shared_memory=True)` raises CustomSpaceError instead of
    handing out filler. `sample` gives harmless words: no workspace runs them.
    """

    def __init__(self) -> None:
        super().__init__(shape=None, dtype=None)

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Return one to eight lower-case letters. Masks have no meaning here and are refused."""
        if mask is not None or probability is not None:
            raise ValueError("A text space takes no mask and no probabilities.")
        length = int(self.np_random.integers(1, 9))
        return "".join(chr(ord("a") + int(k)) for k in self.np_random.integers(0, 26, size=length))

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    def __repr__(self) -> str:
        return "TextSpace()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextSpace)

    def __hash__(self) -> int:
        return hash(TextSpace)
