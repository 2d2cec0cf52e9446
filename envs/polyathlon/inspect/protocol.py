"""The protocol as data: every check, its statistic and its thresholds. docs/inspection.md says why each is there."""

from __future__ import annotations

from polyathlon.inspect.grade import Grade
from polyathlon.inspect.rule import Rule

_BRONZE = Grade.BRONZE
_SILVER = Grade.SILVER

# fmt: off  # a rule a line, two at most
RULES: dict[str, Rule] = {
    rule.id: rule
    for rule in (
        Rule(
            "C01",
            "contract",
            "things missing or wrong in the row and the domain's parts",
            "low",
            0,
            0,
            otherwise=Grade.REJECT,
            tier=0,
        ),
        Rule("C02", "reward range", "verdicts outside the contract", "low", 0, 0, otherwise=Grade.REJECT),
        Rule("C03", "hostile input", "texts that raise, hang or pay", "low", 0, 0),
        Rule("C04", "failure is not zero", "share of broken judgements that became no verdict", "high", 1, 1),
        Rule("C05", "verifier lint", "expressions known to pay wrong answers", "low", 0, 0, otherwise=_BRONZE, tier=0),
        Rule("S01", "reference", "share of tasks whose reference earns 1", "high", 1, 1),
        Rule(
            "S02",
            "honest reference",
            "share of references that solve from what a policy is shown",
            "high",
            1,
            1,
            tier=2,
        ),
        Rule("S03", "second solver", "share of tasks where an independent solution agrees", "high", 0.995, 0.98),
        Rule("S04", "right answers", "share of alternatives that earn 1", "high", 1, 0.95, otherwise=_BRONZE),
        Rule(
            "S05",
            "prompt covers what is graded",
            "share of tasks with a graded name that the prompt never mentions",
            "low",
            0,
            0.02,
            otherwise=_BRONZE,
            tier=0,
        ),
        Rule("N01", "silence", "mean reward of doing nothing, above the declared floor", "low", 0, 0),
        Rule(
            "N02", "blind policies", "mean reward of the best blind policy, above the declared floor", "low", 0.02, 0.02
        ),
        Rule("N03", "floor", "the floor itself", "low", 0.25, 0.5, otherwise=_BRONZE),
        Rule(
            "N04",
            "nothing to do",
            "mean reward of silence where leaving things alone is part of the answer",
            "low",
            0.05,
            0.2,
        ),
        Rule(
            "N05",
            "shortcuts",
            "mean reward of the best prompt-reading heuristic, above the declared floor",
            "low",
            0.05,
            0.15,
            0.3,
        ),
        Rule(
            "V01", "mutants of solutions", "share of wrong solutions that are refused", "high", 0.95, 0.85, 0.7, tier=2
        ),
        Rule("V02", "mutants of answers", "share of wrong answers that earn full reward", "low", 0.005, 0.02),
        Rule(
            "V03",
            "order of credit",
            "share of pairs where fewer right parts earn more",
            "low",
            0,
            0.01,
            otherwise=_BRONZE,
        ),
        Rule("V04", "distractors", "share of plausible wrong answers that are refused", "high", 1, 1),
        Rule(
            "V06", "rewrites", "share of meaning-preserving rewrites that earn 1", "high", 0.99, 0.95, otherwise=_BRONZE
        ),
        Rule("X01", "exploits", "attacks that earn more than the floor", "low", 0, 0),
        Rule("X02", "impossible variants", "passes of an answer to another expectation", "low", 0, 0),
        Rule("X03", "privilege", "ways for submitted code to reach the judge", "low", 0, 0, tier=2),
        Rule("X04", "fuzz", "wrong texts found that earn more than the floor", "low", 0, 0),
        Rule(
            "L01", "answers shown", "how much more often a task shows its own answer than another's", "low", 0.01, 0.03
        ),
        Rule("L02", "canaries", "hidden tokens that a greedy reader finds", "low", 0, 0, tier=2),
        Rule(
            "L03",
            "blind predictor",
            "upper bound of accuracy from the prompt's surface, above the floor",
            "low",
            0.03,
            0.08,
            otherwise=_SILVER,
        ),
        Rule(
            "L04",
            "telling feedback",
            "bits a failed call gives away, over the bits of the answer",
            "low",
            0.25,
            1,
            otherwise=_BRONZE,
        ),
        Rule("D01", "generation repeats", "share of tasks that are the same everywhere", "high", 1, 1),
        Rule("D02", "verdicts repeat", "share of verdicts that change when asked again", "low", 0, 0.001),
        Rule("D03", "clock and network", "verdicts that change with date or network", "low", 0, 0, tier=2),
        Rule("D04", "episodes are independent", "verdicts or tasks that an episode before them changes", "low", 0, 0),
        Rule("D05", "one question, one answer", "questions asked twice whose other answer is refused", "low", 0, 0),
        Rule(
            "D06",
            "generator repeats by itself",
            "share of tasks that are the same where nothing is held still",
            "high",
            1,
            0,
        ),
        Rule("U01", "unique tasks", "share of 1,000 draws that differ", "high", 0.98, 0.95, 0.8),
        Rule("U02", "size of the space", "estimated cores over planned draws", "high", 100, 10, otherwise=_BRONZE),
        Rule("U03", "splits apart", "tasks that lie in both splits", "low", 0, 0),
        Rule(
            "U04",
            "spread of answers",
            "share of the most frequent answer, above the declared floor",
            "low",
            0.05,
            0.2,
            otherwise=_SILVER,
        ),
        Rule(
            "U05",
            "near-duplicates",
            "share of test prompts with a near-duplicate among train",
            "low",
            0.005,
            0.02,
            otherwise=_SILVER,
        ),
        Rule(
            "Q01",
            "levels get harder",
            "pairs of levels out of order less those in order, of those told apart",
            "low",
            -0.9,
            -0.7,
            otherwise=_BRONZE,
        ),
        Rule("R01", "speed", "95th percentile of a judgement over the declared limit", "low", 1, 2, otherwise=_BRONZE),
        Rule(
            "R02",
            "nothing left behind",
            "growth of memory over 1,000 episodes, or things left",
            "low",
            0.05,
            0.15,
            otherwise=_BRONZE,
            tier=2,
        ),
        Rule(
            "R03",
            "reward noise",
            "standard deviation of the reward of one fixed submission",
            "low",
            0.01,
            0.03,
            otherwise=_BRONZE,
        ),
    )
}
# fmt: on
