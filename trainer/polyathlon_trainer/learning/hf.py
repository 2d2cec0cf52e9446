"""Hugging Face causal models: loading one from disk, its chat by its own template, and its rows for the learner."""

from __future__ import annotations

import contextlib
import copy
import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jinja2 import TemplateError
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from polyathlon.errors import RegistryError
from polyathlon_trainer.learning.bytechat import clip_ids
from polyathlon_trainer.learning.learner import TorchLearner
from polyathlon_trainer.learning.protocol import Policy
from polyathlon_trainer.learning.recipe import HF_RECIPE, Recipe, TrustRules
from polyathlon_trainer.learning.rows import TensorRows
from polyathlon_trainer.sampling.hf_engine import HfEngine
from polyathlon_trainer.sampling.protocol import Engine

_CUT = " [... cut ...] "
_MARKS = ("polyathlonalpha", "polyathlonbeta", "polyathlongamma", "polyathlondelta", "polyathlonomega")
_SYSTEM_MARK = "polyathlonsystem"


class HfRows:
    """A causal model as a `RowModel`: plain rows, one branch each. Dropout stays off, as it is when sampling."""

    reads_trees = False

    def __init__(self, model: nn.Module, *, pad_id: int) -> None:
        self._model = model.eval()
        self._pad_id = pad_id

    @property
    def pad_id(self) -> int:
        return self._pad_id

    @property
    def module(self) -> nn.Module:
        return self._model

    def matrices(self) -> list[nn.Parameter]:
        return []

    def logits(self, rows: TensorRows) -> Tensor:
        length = rows.ids.shape[1]
        places = rows.sources % length
        first = int(places.min())
        output = self._model(
            input_ids=rows.ids,
            attention_mask=(rows.segments >= 0).long(),
            position_ids=rows.positions,
            use_cache=False,
            logits_to_keep=torch.arange(first, length, device=rows.ids.device),
        )
        logits: Tensor = output.logits[rows.sources // length, places - first].float()
        return logits


@dataclass(frozen=True, slots=True)
class TemplateChat:
    """The `Chat` of a model with a chat template: the template's own glue, around texts encoded as plain text.

    Texts never become control ids: a prompt that spells `<|im_end|>` is read as those letters. Of a text longer than
    `max_prompt_tokens` the head and the tail are kept. Build it with `read_template`, which proves that contexts grow
    by appending.
    """

    tokenizer: Any
    end_id: int
    max_prompt_tokens: int
    before_prompt: tuple[int, ...]
    before_instructions: tuple[int, ...] | None  # None: the template takes no system message
    after_instructions: tuple[int, ...]
    after_prompt: tuple[int, ...]
    after_turn: tuple[int, ...]  # follows end_id
    cut: tuple[int, ...]

    def open(self, prompt: str, *, instructions: str) -> tuple[int, ...]:
        if not instructions:
            return (*self.before_prompt, *self._clipped(prompt), *self.after_prompt)
        if self.before_instructions is None:
            return (*self.before_prompt, *self._clipped(f"{instructions}\n\n{prompt}"), *self.after_prompt)
        head = (*self.before_instructions, *self._clipped(instructions), *self.after_instructions)
        return (*head, *self._clipped(prompt), *self.after_prompt)

    def reply(self, observation: str) -> tuple[int, ...]:
        return (*self.after_turn, *self._clipped(observation), *self.after_prompt)

    def decode(self, token_ids: Sequence[int]) -> str:
        own = [token for token in token_ids if token != self.end_id]
        return str(self.tokenizer.decode(own, skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def encode_turn(self, text: str) -> tuple[int, ...]:
        return (*_plain_ids(self.tokenizer, text), self.end_id)

    def _clipped(self, text: str) -> tuple[int, ...]:
        return clip_ids(_plain_ids(self.tokenizer, text), max_ids=self.max_prompt_tokens, mark=self.cut)


def read_template(tokenizer: Any, *, max_prompt_tokens: int) -> TemplateChat:
    """Return the chat of a tokenizer, its glue read off a conversation of marks.

    Raises:
        RegistryError: there is no template, or it rewrites earlier messages when later ones come: then a context
            would not be a prefix of the next, and what the policy wrote would have to be encoded again.

    """
    if not getattr(tokenizer, "chat_template", None):
        raise RegistryError("The model's tokenizer has no chat template. Use an instruction-tuned model.")
    roles = ("user", "assistant", "user", "assistant", "user")
    talk = [{"role": role, "content": mark} for role, mark in zip(roles, _MARKS, strict=True)]
    head, glue, turn_glue, *rest = _split(_render(tokenizer, talk), _MARKS)
    opening = _render(tokenizer, talk[:1])
    if rest != [glue, turn_glue, glue] or opening != head + _MARKS[0] + glue:
        raise RegistryError(
            "The model's chat template rewrites earlier messages when later ones come, so that contexts do not grow by "
            "appending. Set a template without that (often: one that keeps reasoning in the history)."
        )
    after_turn = _control_ids(tokenizer, turn_glue)
    before_system, after_system = _system_glue(tokenizer, glue)
    return TemplateChat(
        tokenizer=tokenizer,
        end_id=after_turn[0],
        max_prompt_tokens=max_prompt_tokens,
        before_prompt=_control_ids(tokenizer, head),
        before_instructions=before_system,
        after_instructions=after_system,
        after_prompt=_control_ids(tokenizer, glue),
        after_turn=after_turn[1:],
        cut=_plain_ids(tokenizer, _CUT),
    )


def load_policy(
    folder: Path,
    *,
    name: str,
    gguf_file: str | None,
    max_prompt_tokens: int,
    device: torch.device,
    learning: tuple[Recipe | None, TrustRules],
) -> Policy:
    """Return the policy of a causal model in `folder` (or of the GGUF file in it), its weights in float32.

    Raises:
        RegistryError: the folder holds no causal model that transformers can read, or no usable chat template.

    """
    tokenizer, model = _read(folder, gguf_file)
    chat = read_template(tokenizer, max_prompt_tokens=max_prompt_tokens)
    model = model.to(device)
    recipe, rules = learning
    learner = TorchLearner(HfRows(model, pad_id=chat.end_id), recipe or HF_RECIPE, rules)

    def new_engine() -> Engine:
        return HfEngine(copy.deepcopy(model), end_id=chat.end_id, pad_id=chat.end_id, device=device)

    return Policy(name, chat, new_engine(), learner, new_engine)


def _read(folder: Path, gguf_file: str | None) -> tuple[Any, nn.Module]:
    """Return the tokenizer and the model of `folder`, quietly where nobody watches."""
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
    source = {"gguf_file": gguf_file} if gguf_file else {}
    # Unpacking a GGUF file draws a bar of its own, even into a pipe.
    quiet = contextlib.nullcontext() if sys.stderr.isatty() else contextlib.redirect_stderr(io.StringIO())
    try:
        with quiet:
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, **source)
            model: nn.Module = AutoModelForCausalLM.from_pretrained(
                folder, local_files_only=True, dtype=torch.float32, **source
            )
    except (OSError, ValueError, KeyError) as error:
        cause = " ".join(str(error).split())
        raise RegistryError(
            f"{folder} holds no causal language model that transformers can read: {cause} It needs config.json, the "
            "weights and the tokenizer, as save_pretrained writes them."
        ) from error
    return tokenizer, model


def _render(tokenizer: Any, talk: Sequence[Mapping[str, str]]) -> str:
    return str(tokenizer.apply_chat_template(list(talk), tokenize=False, add_generation_prompt=True))


def _split(text: str, marks: Sequence[str]) -> list[str]:
    parts = []
    for mark in marks:
        part, found, text = text.partition(mark)
        if not found:
            raise RegistryError(
                "The model's chat template leaves out a message. Use one that shows them all, in order."
            )
        parts.append(part)
    return [*parts, text]


def _system_glue(tokenizer: Any, glue: str) -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
    """Return what stands around the instructions, up to the prompt; (None, ()) when there is no place for them."""
    talk = [{"role": "system", "content": _SYSTEM_MARK}, {"role": "user", "content": _MARKS[0]}]
    try:
        before, between, after = _split(_render(tokenizer, talk), (_SYSTEM_MARK, _MARKS[0]))
    except (TemplateError, RegistryError):
        return None, ()
    if after != glue:
        return None, ()
    return _control_ids(tokenizer, before), _control_ids(tokenizer, between)


def _control_ids(tokenizer: Any, text: str) -> tuple[int, ...]:
    """Return the ids of glue, in which the spelling of a control id is that id."""
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


def _plain_ids(tokenizer: Any, text: str) -> tuple[int, ...]:
    """Return the ids of a text that no control id may come from."""
    safe = text.encode("utf-8", errors="replace").decode("utf-8")
    return tuple(tokenizer(safe, add_special_tokens=False, split_special_tokens=True)["input_ids"])
