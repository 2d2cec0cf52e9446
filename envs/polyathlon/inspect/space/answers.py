"""U04: answers are spread: none is frequent, and where one is picked out of options, no place and no length is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.play import Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.space.survey import Answered, answered_of
from polyathlon.inspect.tally import Tally
from polyathlon.verify.text import plain

MIN_ANSWERS = 20
MIN_OPTIONS = 2

_OPTION = re.compile(r"(?:^|\s)\(?([A-H])[).:][ \t]+(.+?)(?=\s+\(?[A-H][).:][ \t]|\n|$)")


@dataclass(frozen=True, slots=True)
class Picked:
    """Which of a task's options is right: its place from 0, how many there are, and whether it is the longest."""

    place: int
    num_options: int
    is_longest: bool


def check_answers(stage: Stage) -> CheckResult:
    """U04: the share of the most frequent answer above the floor, or the surplus of an option's place or length."""
    subject = stage.subject
    tally = Tally("U04", subject.entry.row.levels)
    numbers: dict[str, float] = {}
    for level, answered in enumerate(answered_of(stage)):
        known = [one for one in answered if one.texts]
        if not known:
            continue
        (answer, count), *_ = Counter(plain(one.whole) for one in known).most_common(1)
        surplus = {f"the answer {answer[:60]!r} is right in {count} of {len(known)} tasks": count / len(known)}
        surplus = {text: max(0.0, share - subject.entry.row.floor) for text, share in surplus.items()}
        surplus.update(option_bias([picked for one in known if (picked := picked_option(one)) is not None]))
        worst = max(surplus, key=lambda text: surplus[text])
        if count == 1 and worst.startswith("the answer"):
            tally.count(level, 0.0, num_cases=len(known))  # each once: nothing is frequent, however few were looked at
        else:
            tally.count(level, surplus[worst] * len(known), num_cases=len(known))
        numbers[f"most_frequent_{level}"] = count / len(known)
        if len(known) >= MIN_ANSWERS and surplus[worst] > RULES["U04"].gold:
            hint = "Draw answers evenly, or ask for several at once."
            tally.fault(level, 0, f"at level {level}, {worst}. {hint}")
    return tally.result(tally.shares(), numbers)


def picked_option(one: Answered) -> Picked | None:
    """Return which option the reference picks; None where the prompt lists none, or it picks none of them."""
    options = _OPTION.findall(one.task.prompt)
    letters = [letter for letter, _ in options]
    if len(options) < MIN_OPTIONS or letters != [chr(ord("A") + place) for place in range(len(options))]:
        return None
    answer = plain(one.whole).casefold()
    texts = [plain(text).casefold() for _, text in options]
    for place, (letter, text) in enumerate(zip(letters, texts, strict=True)):
        if answer in (letter.casefold(), text):
            longest = max(map(len, texts))
            return Picked(place, len(options), len(text) == longest and sum(len(t) == longest for t in texts) == 1)
    return None


def option_bias(picked: Sequence[Picked]) -> dict[str, float]:
    """Return how much more often than by chance one place, or the longest option, is right."""
    if len(picked) < MIN_ANSWERS:
        return {}
    chance = sum(1 / one.num_options for one in picked) / len(picked)
    (place, count), *_ = Counter(one.place for one in picked).most_common(1)
    longest = sum(one.is_longest for one in picked)
    return {
        f"option {chr(ord('A') + place)} is right in {count} of {len(picked)} tasks": count / len(picked) - chance,
        f"the longest option is right in {longest} of {len(picked)} tasks": longest / len(picked) - chance,
    }
