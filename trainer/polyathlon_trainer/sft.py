"""The stream of reference episodes: balanced over domains by share and over levels, fetched ahead, the same every time.

The n-th task that a domain is tried at is fixed, whatever arrives first; a reference that does not fit the model
(too long, or not passed in its own world) is left out, counted and replaced by the domain's next.

Early in the stage the domains with the shortest references may come alone (`short_first`). What a model that begins
with nothing must find first is how to copy out of its prompt, and it finds that soonest where there is little to read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from polyathlon.drawing import TaskKey
from polyathlon.errors import PolyathlonError
from polyathlon.seeding import child, child_seed
from polyathlon_trainer.learning.batch import SftExample
from polyathlon_trainer.mixture import DomainCard, shares
from polyathlon_trainer.rollout.crew import Crew
from polyathlon_trainer.rollout.messages import Broke, Order, Recite, Report, Solve, Solved
from polyathlon_trainer.sampling.protocol import Chat
from polyathlon_trainer.state import SftState

AHEAD = 8
"""References fetched ahead, a domain."""
SHORT_PART = 1 / 3
"""How many of the domains are the short ones."""
MAX_MISSES = 6
"""References in a row that did not fit, after which a level is given up for imitation."""
POLL_S = 1.0


class NothingToImitate(PolyathlonError):
    """No domain has a reference that fits the model."""


@dataclass(frozen=True, slots=True)
class ReferenceRules:
    """What fits, in ids, and how many tasks of a dear domain are played at all.

    A prompt must be shorter than its bound: at the bound it may have been cut. `short_first` is the part of the stage
    in which the short domains come alone.
    """

    seed: int
    stage: str
    max_prompt_tokens: int
    max_new_tokens: int
    max_context_tokens: int
    sandbox_tasks: int
    short_first: float = 0.0


class ReferenceStream:
    """Reference episodes as training examples, without end. `state` is all that is needed to go on."""

    def __init__(
        self, cards: Sequence[DomainCard], crew: Crew, chat: Chat, rules: ReferenceRules, state: SftState
    ) -> None:
        self._cards = {card.id: card for card in cards}
        self._shares = shares(cards)
        self._crew, self._chat, self._rules = crew, chat, rules
        self._cursors = Counter(state.cursors)
        self._misses = Counter(state.misses)
        self._closed = set(state.closed)
        self._left_out = Counter(state.left_out)
        self._used = Counter(state.used)
        self._credit = {domain_id: state.credit.get(domain_id, 0.0) for domain_id in self._cards}
        self._short = set(state.short)
        self._sent = dict(self._cursors)
        self._waiting: dict[int, tuple[str, int]] = {}
        self._fetched: dict[tuple[str, int], Report] = {}
        self._played: dict[TaskKey, Report] = {}

    @property
    def state(self) -> SftState:
        """Where the stream stands."""
        return SftState(
            cursors=dict(self._cursors),
            misses=dict(self._misses),
            closed=tuple(sorted(self._closed)),
            left_out=dict(self._left_out),
            used=dict(self._used),
            credit=dict(self._credit),
            short=tuple(sorted(self._short)),
        )

    @property
    def left_out(self) -> Mapping[str, int]:
        """Return {domain id: references that did not fit}."""
        return dict(self._left_out)

    @property
    def shut(self) -> tuple[str, ...]:
        """The domains that have no level left to imitate."""
        return tuple(domain_id for domain_id in self._cards if self._is_shut(domain_id))

    def batch(self, num_examples: int, *, progress: float = 1.0) -> list[SftExample]:
        """Return the next examples, `progress` being how much of the stage is over, in [0, 1].

        Raises:
            NothingToImitate: no domain has a level left whose references fit.

        """
        early = progress < self._rules.short_first
        if early and not self._short:
            self._short = self._shortest()
        examples: list[SftExample] = []
        while len(examples) < num_examples:
            domain_id = self._choose(self._short if early else ())
            example = self._next(domain_id)
            if example is not None:
                self._credit[domain_id] -= 1.0
                self._used[domain_id] += 1
                examples.append(example)
        for domain_id in self._cards:
            self._fetch(domain_id, self._cursors[domain_id] + AHEAD)
        return examples

    def close(self) -> None:
        """Wait for what was fetched ahead, so that nothing of it comes to another caller of the crew."""
        while self._waiting:
            self._receive()

    def _choose(self, among: Collection[str]) -> str:
        """Return the domain that is owed most, after owing each open one its part of one example.

        Where one of `among` is open, the others are owed nothing.
        """
        held = {domain_id: share for domain_id, share in self._shares.items() if not self._is_shut(domain_id)}
        held = {domain_id: share for domain_id, share in held.items() if domain_id in among} or held
        if not held:
            raise NothingToImitate(
                f"No reference of {len(self._cards)} domains fits {self._rules.max_prompt_tokens} ids of prompt, "
                f"{self._rules.max_new_tokens} of answer and {self._rules.max_context_tokens} in all. Raise "
                "rl.max_prompt_tokens or rl.max_new_tokens, or skip imitation by sft.steps=0."
            )
        total = sum(held.values())
        if max(self._credit[domain_id] for domain_id in held) <= 0:
            for domain_id, share in held.items():
                self._credit[domain_id] += share / total
        return max(sorted(held), key=lambda domain_id: self._credit[domain_id])

    def _shortest(self) -> set[str]:
        """Return the third of the domains whose next references are shortest, in ids: of those of one turn."""
        alone = [domain_id for domain_id, card in self._cards.items() if card.max_turns == 1]
        for domain_id in alone:
            self._fetch(domain_id, self._cursors[domain_id] + AHEAD)
        while any(domain_id in alone for domain_id, _ in self._waiting.values()):
            self._receive()
        lengths: dict[str, list[int]] = {}
        for (domain_id, _), report in self._fetched.items():
            example = self._fit(domain_id, report) if domain_id in alone else None
            if example is not None:
                lengths.setdefault(domain_id, []).append(example.num_ids)
        ordered = sorted(lengths, key=lambda domain_id: (fmean(lengths[domain_id]), domain_id))
        return set(ordered[: max(1, round(SHORT_PART * len(self._cards)))])

    def _is_shut(self, domain_id: str) -> bool:
        return all(f"{domain_id}:{level}" in self._closed for level in range(self._cards[domain_id].levels))

    def _next(self, domain_id: str) -> SftExample | None:
        """Return the domain's next example that fits, or None when its last level was given up on the way."""
        while not self._is_shut(domain_id):
            place = self._cursors[domain_id]
            self._cursors[domain_id] += 1
            key = self._key(domain_id, place)
            name = f"{domain_id}:{key.level}"
            if name in self._closed:
                self._fetched.pop((domain_id, place), None)
                continue
            self._fetch(domain_id, place + AHEAD)
            while (domain_id, place) not in self._fetched:
                self._receive()
            example = self._fit(domain_id, self._fetched.pop((domain_id, place)))
            if example is not None:
                self._misses[name] = 0
                return example
            self._left_out[domain_id] += 1
            self._misses[name] += 1
            if self._misses[name] >= MAX_MISSES:
                self._closed.add(name)
        return None

    def _key(self, domain_id: str, place: int) -> TaskKey:
        card, rules = self._cards[domain_id], self._rules
        if card.needs_sandbox and card.max_turns > 1:
            place %= rules.sandbox_tasks
        level = int(child(rules.seed, rules.stage, "level", domain_id, place).integers(card.levels))
        return TaskKey(domain_id, level, child_seed(rules.seed, rules.stage, "task", domain_id, place))

    def _fetch(self, domain_id: str, end: int) -> None:
        """Send for the domain's references up to place `end`."""
        orders: list[Order] = []
        for place in range(self._sent.get(domain_id, 0), end):
            key = self._key(domain_id, place)
            if key in self._played:
                self._fetched[domain_id, place] = self._played[key]
            elif f"{domain_id}:{key.level}" not in self._closed:
                ticket = self._crew.ticket()
                self._waiting[ticket] = (domain_id, place)
                card = self._cards[domain_id]
                alone = card.max_turns == 1
                orders.append(Recite(ticket, key) if alone else Solve(ticket, key, card.max_turns))
        self._sent[domain_id] = max(end, self._sent.get(domain_id, 0))
        if orders:
            self._crew.send(orders)

    def _receive(self) -> None:
        for report in self._crew.poll(limit_s=POLL_S):
            domain_id, place = self._waiting.pop(report.ticket)
            self._fetched[domain_id, place] = report
            if self._cards[domain_id].needs_sandbox:
                self._played[self._key(domain_id, place)] = report

    def _fit(self, domain_id: str, report: Report) -> SftExample | None:
        """Return the reference as an example, or None when it broke, did not pass, or is too long."""
        if isinstance(report, Broke) or not isinstance(report, Solved) or report.reward not in (None, 1.0):
            return None
        prompt_ids = self._chat.open(report.prompt, instructions=report.instructions)
        turns: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        for place, (action, observation) in enumerate(report.turns):
            last = place == len(report.turns) - 1
            turns.append((self._chat.encode_turn(action), () if last else self._chat.reply(observation)))
        example = SftExample(prompt_ids, tuple(turns), domain_id)
        longest = max(len(written) for written, _ in turns)
        if len(prompt_ids) >= self._rules.max_prompt_tokens:
            return None  # the chat has cut its middle: to answer it is to make things up
        if longest > self._rules.max_new_tokens or example.num_ids > self._rules.max_context_tokens:
            return None
        return example
