"""How checks say what they saw: faults, verdicts and actions in a line."""

from __future__ import annotations

import math
from collections.abc import Sequence

from polyathlon.inspect.finding import Finding
from polyathlon.inspect.play import Playthrough, Subject

MAX_SHOWN_CHARS = 160


def fault_of(subject: Subject, played: Playthrough, message: str) -> Finding:
    """Return the fault that `played` shows, with what was sent, and the command that sends it again."""
    sent = _spoken(played.actions)
    reward = math.nan if played.verdict.reward is None else played.verdict.reward
    return Finding(played.key.level, played.key.seed, message, subject.replay(played.key, sent), sent, reward)


def _spoken(actions: Sequence[str]) -> tuple[str, ...]:
    """Return the actions without the silence at their end, of which one message is kept where there is nothing else."""
    last = max((place for place, action in enumerate(actions) if action), default=0)
    return tuple(actions[: last + 1])


def verdict_text(played: Playthrough) -> str:
    """Return the reward with three digits, and the verdict's reason where there is one."""
    reward = "no reward" if played.verdict.reward is None else f"{played.verdict.reward:.3f}"
    return f"{reward} ({played.verdict.reason})" if played.verdict.reason else reward


def actions_text(actions: Sequence[str]) -> str:
    """Return the actions on one ASCII line, clipped in the middle."""
    text = " | ".join(actions)
    return ascii(text if len(text) <= MAX_SHOWN_CHARS else f"{text[:120]} ... {text[-30:]}")
