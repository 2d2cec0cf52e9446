"""Collecting: from plans to judged groups, the engine writing while env workers pose, step and judge.

Tokens in, tokens out: what the policy wrote is decoded for the world, and never encoded again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from polyathlon.seeding import child_seed
from polyathlon_trainer.episode import Episode, Failure, FailureKind, Group, Turn
from polyathlon_trainer.plans import Collected, GroupPlan, SampleRules
from polyathlon_trainer.rollout.crew import Crew
from polyathlon_trainer.rollout.messages import Act, Acted, Broke, Judge, Order, Pose, Posed, Report
from polyathlon_trainer.sampling.protocol import Chat, Completion, Engine, Request
from polyathlon_trainer.sampling.surely import generate_surely

MAX_ROWS = 1_024
"""Continuations asked for at once at most, so that workers judge some while the engine writes the next."""
MIN_ROWS = 128
"""While workers are busy the engine waits for this many: smaller calls cost more than they overlap."""
POLL_S = 1.0
MAX_RESTARTS = 2


@dataclass(slots=True)
class _Member:
    """One episode in the making. `history` is what was said, `context` all ids so far."""

    place: int
    context: tuple[int, ...]
    turns: list[Turn] = field(default_factory=list)
    history: list[tuple[str, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    restarts: int = 0
    judge_s: float = 0.0
    outcome: Episode | Failure | None = None


@dataclass(slots=True)
class _Making:
    """A group in the making."""

    plan: GroupPlan
    prompt: str = ""
    prompt_ids: tuple[int, ...] = ()
    members: list[_Member] = field(default_factory=list)
    engine_s: float = 0.0
    judge_s: float = 0.0


@dataclass(frozen=True, slots=True)
class _Want:
    """A request to the engine: for the first turns of a whole group, or for the next turn of one member."""

    making: _Making
    member: _Member | None
    request: Request


def _no_pulse() -> None:
    return None


class Sampler:
    """Collects groups with one engine and one crew. One thread at a time."""

    def __init__(
        self, engine: Engine, chat: Chat, crew: Crew, rules: SampleRules, *, pulse: Callable[[], None] = _no_pulse
    ) -> None:
        """`pulse` is called between any two waits: it may load weights into the engine, or raise to stop."""
        self._engine = engine
        self._chat = chat
        self._crew = crew
        self._rules = rules
        self._pulse = pulse
        self._posing: dict[str, int] = {}
        self._early: dict[int, Report] = {}
        self._orders: dict[int, tuple[_Making, tuple[_Member, ...]]] = {}
        self._wants: list[_Want] = []
        self._open = 0
        self._unposed = 0

    def pose_ahead(self, plans: Sequence[GroupPlan]) -> None:
        """Have the workers draw the tasks of `plans` while nobody waits for them."""
        orders: list[Order] = []
        for plan in plans:
            ticket = self._posing[plan.uid] = self._crew.ticket()
            orders.append(Pose(ticket, plan.key))
        self._crew.send(orders)

    def collect(
        self, plans: Sequence[GroupPlan], *, on_done: Callable[[Collected], None], engine: Engine | None = None
    ) -> None:
        """Collect the groups of `plans`; `on_done` gets each as it is finished, in no fixed order.

        Another `engine` than the sampler's own may write them: for examinations.

        Raises:
            EngineError: the engine writes nothing any more.
            CrewError: no env worker can be kept alive.

        """
        self._done, self._writer = on_done, engine or self._engine
        self._open = self._unposed = len(plans)
        self._begin(plans)
        while self._open:
            self._pulse()
            ready = self._may_generate()
            for report in self._crew.poll(limit_s=0.0 if ready else POLL_S):
                self._take(report)
            if self._may_generate():
                self._generate()

    def _begin(self, plans: Sequence[GroupPlan]) -> None:
        self.pose_ahead([plan for plan in plans if plan.uid not in self._posing])
        for plan in plans:
            ticket = self._posing.pop(plan.uid)
            self._orders[ticket] = (_Making(plan), ())
            if ticket in self._early:
                self._take(self._early.pop(ticket))

    def _may_generate(self) -> bool:
        if not self._wants or self._unposed:
            return False
        return not self._orders or (not self._rules.lockstep and _num_rows(self._wants) >= MIN_ROWS)

    def _take(self, report: Report) -> None:
        if report.ticket not in self._orders:
            self._early[report.ticket] = report
            return
        making, members = self._orders.pop(report.ticket)
        making.judge_s += report.seconds
        self._unposed -= not making.members
        match report:
            case Posed():
                self._open_group(making, report)
            case Acted():
                for member in members:
                    self._go_on(making, member, report)
            case Broke():
                self._break(making, members, report)

    def _open_group(self, making: _Making, posed: Posed) -> None:
        plan = making.plan
        making.prompt = posed.prompt
        making.prompt_ids = self._chat.open(posed.prompt, instructions=posed.instructions)
        making.members = [_Member(place, making.prompt_ids) for place in range(plan.num_samples)]
        self._want(making, None, making.prompt_ids, num_samples=plan.num_samples, seed=plan.seed)

    def _want(
        self, making: _Making, member: _Member | None, context: tuple[int, ...], *, num_samples: int, seed: int
    ) -> None:
        request = Request(context, num_samples, self._rules.max_new_tokens, making.plan.temperature, seed)
        self._wants.append(_Want(making, member, request))

    def _generate(self) -> None:
        wants, self._wants = self._choose(sorted(self._wants, key=_in_order))
        start = time.monotonic()
        answers = generate_surely(self._writer, [want.request for want in wants])
        elapsed_s = time.monotonic() - start
        tokens = [sum(len(c.token_ids) for c in answer) + 1 if answer else 1 for answer in answers]
        orders: list[Order] = []
        for want, answer, count in zip(wants, answers, tokens, strict=True):
            want.making.engine_s += elapsed_s * count / sum(tokens)
            orders += self._speak(want, answer)
        self._crew.send(orders)

    def _choose(self, wants: list[_Want]) -> tuple[list[_Want], list[_Want]]:
        """Return what the engine shall write now, and what it shall write later."""
        if self._rules.lockstep:
            return wants, []
        dear = [want for want in wants if want.making.plan.key.domain_id in self._rules.dear]
        others = [want for want in wants if want.making.plan.key.domain_id not in self._rules.dear]
        if _num_rows(dear) < MIN_ROWS or _num_rows(others) < MIN_ROWS:
            dear, others = wants, []
        first, rest = _first_rows(dear, MAX_ROWS)
        return first, rest + others

    def _speak(self, want: _Want, answer: Sequence[Completion] | None) -> list[Order]:
        """Turn completions into orders to the world. Members that said the same in a world of one turn share one."""
        making = want.making
        members = making.members if want.member is None else [want.member]
        if answer is None:
            for member in members:
                self._fail(making, member, "engine", "The engine could not answer this request.")
            return []
        said: dict[object, list[_Member]] = {}
        single = self._rules.max_turns[making.plan.key.domain_id] == 1
        for member, completion in zip(members, answer, strict=True):
            member.turns.append(_turn(completion))
            member.texts.append(self._chat.decode(completion.token_ids))
            said.setdefault(member.texts[-1] if single else member.place, []).append(member)
        return [self._act(making, tuple(same)) for same in said.values()]

    def _act(self, making: _Making, members: tuple[_Member, ...]) -> Order:
        first = members[0]
        ticket = self._crew.ticket()
        self._orders[ticket] = (making, members)
        last = len(first.turns) >= self._rules.max_turns[making.plan.key.domain_id]
        name = f"{making.plan.uid}/{first.place}/{first.restarts}"
        return Act(ticket, making.plan.key, name, tuple(first.history), first.texts[-1], last)

    def _go_on(self, making: _Making, member: _Member, acted: Acted) -> None:
        member.judge_s += acted.seconds
        if acted.observation:
            member.texts.append(acted.observation)
        if acted.reward is not None:
            self._finish(making, member, _episode(making, member, acted))
            return
        turn = member.turns[-1]
        member.history.append((member.texts[-2], acted.observation))
        closing = () if turn.token_ids[-1:] == (self._chat.end_id,) else (self._chat.end_id,)
        suffix = (*closing, *self._chat.reply(acted.observation))
        context = (*member.context, *turn.token_ids, *suffix)
        if len(context) + self._rules.max_new_tokens > self._rules.max_context_tokens:
            self._judge(making, member)
            return
        member.turns[-1] = Turn(turn.token_ids, turn.logprobs, turn.versions, suffix)
        member.context = context
        seed = child_seed(making.plan.seed, member.place, len(member.turns), member.restarts)
        self._want(making, member, context, num_samples=1, seed=seed)

    def _judge(self, making: _Making, member: _Member) -> None:
        """Have an episode judged as it stands: there is no room for another turn."""
        ticket = self._crew.ticket()
        self._orders[ticket] = (making, (member,))
        name = f"{making.plan.uid}/{member.place}/{member.restarts}"
        self._crew.send([Judge(ticket, making.plan.key, name, tuple(member.history))])

    def _break(self, making: _Making, members: Sequence[_Member], broke: Broke) -> None:
        if not making.members:  # the task itself could not be posed
            making.members = [_Member(place, ()) for place in range(making.plan.num_samples)]
            members = making.members
        for member in members:
            if broke.diverged and member.restarts < MAX_RESTARTS:
                self._restart(making, member)
            else:
                self._fail(making, member, broke.kind, broke.message)

    def _restart(self, making: _Making, member: _Member) -> None:
        """Sample an episode afresh whose world did not repeat itself on another worker."""
        member.context, member.restarts = making.prompt_ids, member.restarts + 1
        for said in (member.turns, member.history, member.texts):
            said.clear()
        seed = child_seed(making.plan.seed, member.place, 0, member.restarts)
        self._want(making, member, making.prompt_ids, num_samples=1, seed=seed)

    def _fail(self, making: _Making, member: _Member, kind: FailureKind, message: str) -> None:
        self._finish(making, member, Failure(making.plan.key, kind, message, attempt=member.restarts))

    def _finish(self, making: _Making, member: _Member, outcome: Episode | Failure) -> None:
        member.outcome = outcome
        if any(other.outcome is None for other in making.members):
            return
        outcomes = [other.outcome for other in making.members]
        group = Group(
            uid=making.plan.uid,
            key=making.plan.key,
            episodes=tuple(found for found in outcomes if isinstance(found, Episode)),
            failures=tuple(found for found in outcomes if isinstance(found, Failure)),
        )
        self._open -= 1
        self._done(Collected(making.plan, group, making.engine_s, making.judge_s))


def _num_rows(wants: Sequence[_Want]) -> int:
    return sum(want.request.num_samples for want in wants)


def _first_rows(wants: Sequence[_Want], max_rows: int) -> tuple[list[_Want], list[_Want]]:
    """Return the wants that fill `max_rows` rows (at least one want), and the rest."""
    rows = 0
    for place, want in enumerate(wants):
        rows += want.request.num_samples
        if rows > max_rows and place > 0:
            return list(wants[:place]), list(wants[place:])
    return list(wants), []


def _in_order(want: _Want) -> tuple[int, int]:
    return want.making.plan.number, -1 if want.member is None else want.member.place


def _turn(completion: Completion) -> Turn:
    return Turn(completion.token_ids, completion.logprobs, completion.versions)


def _episode(making: _Making, member: _Member, acted: Acted) -> Episode:
    assert acted.reward is not None
    return Episode(
        key=making.plan.key,
        prompt_ids=making.prompt_ids,
        turns=tuple(member.turns),
        reward=acted.reward,
        passed=acted.passed,
        truncated=acted.truncated,
        reason=acted.reason,
        parts=acted.parts,
        prompt=making.prompt,
        texts=tuple(member.texts),
        wall_s=member.judge_s,
        sandbox=acted.sandbox,
    )
