"""Calling an engine that may break now and then: nobody's request is lost for another's."""

from __future__ import annotations

from collections.abc import Sequence

from polyathlon.errors import EngineError
from polyathlon_trainer.sampling.protocol import Completion, Engine, Request


def generate_surely(engine: Engine, requests: Sequence[Request]) -> list[tuple[Completion, ...] | None]:
    """Return the engine's answers; when a call breaks, each request is tried alone, and None stands for a lost one.

    Raises:
        EngineError: not one request could be answered.

    """
    try:
        return list(engine.generate(requests))
    except EngineError:
        answers = [_alone(engine, request) for request in requests]
        if not any(answers):
            raise
        return answers


def _alone(engine: Engine, request: Request) -> tuple[Completion, ...] | None:
    try:
        return engine.generate([request])[0]
    except EngineError:
        return None
