"""How checks say what they saw: faults, verdicts and actions in a line."""

from __future__ import annotations

from collections.abc import Sequence

from polyathlon.inspect.finding import Finding
from polyathlon.inspect.play import Playthrough, Subject

MAX_SHOWN_CHARS = 160


def fault_of(subject: Subject, played: Playthrough, message: str) -> Finding:
    """Return the fault that `played` shows, with the command that plays it again."""
    return Finding(played.key.level, played.key.seed, message, subject.replay(played.key))


def verdict_text(played: Playthrough) -> str:
    """Return the reward with three digits, and the verdict's reason where there is one."""
    reward = "no reward" if played.verdict.reward is None else f"{played.verdict.reward:.3f}"
    return f"{reward} ({played.verdict.reason})" if played.verdict.reason else reward


def actions_text(actions: Sequence[str]) -> str:
    """Return the actions on one ASCII line, clipped in the middle."""
    text = " | ".join(actions)
    return ascii(text if len(text) <= MAX_SHOWN_CHARS else f"{text[:120]} ... {text[-30:]}")
