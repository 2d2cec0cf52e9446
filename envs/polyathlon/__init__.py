"""polyathlon: a registry of RL domains for post-training language models.

Importing it files every catalogued domain with Gymnasium and loads none of them:

    import gymnasium as gym
    import polyathlon

    env = gym.make("polyathlon/math.arithmetic-expression-v1", level=1)
"""

from polyathlon.canonical import Json
from polyathlon.domain import (
    Attempt,
    Brief,
    Call,
    Core,
    Domain,
    Evidence,
    Observation,
    Script,
    Task,
    TaskSource,
    ToolSpec,
    Verdict,
    Verifier,
    Workspace,
    answering,
)
from polyathlon.drawing import TaskKey, draw_task
from polyathlon.registration import file_with_gymnasium, load_domain, registry
from polyathlon.tree import Entry, Tree
from polyathlon.vector import make_vec

__all__ = [
    "Attempt",
    "Brief",
    "Call",
    "Core",
    "Domain",
    "Entry",
    "Evidence",
    "Json",
    "Observation",
    "Script",
    "Task",
    "TaskKey",
    "TaskSource",
    "ToolSpec",
    "Tree",
    "Verdict",
    "Verifier",
    "Workspace",
    "answering",
    "draw_task",
    "load_domain",
    "make_vec",
    "registry",
]

__version__ = "0.1.0"

file_with_gymnasium(registry())
