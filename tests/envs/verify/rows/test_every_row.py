"""Every row of the log of faults is either a test of ours with its right value, or said here not to be our helpers'."""

import re
from collections import Counter
from pathlib import Path

# fmt: off
NUMBERS = (
    1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28, 29, 31, 32, 34, 35, 37, 38, 40, 41, 43, 44,
    46, 47, 49, 50, 52, 53, 55, 56, 58, 59, 61, 62, 64, 65, 67, 68, 70, 71, 73, 74, 76, 77, 79, 80, 82, 83, 85, 86,
    88, 89, 91, 92, 94, 95, 97, 98, 100, 101, 103, 104, 106, 107, 109, 110, 112, 113, 115, 116, 118, 119, 121, 122,
    124, 125, 127, 128, 130, 131, 133, 134, 136, 137, 139, 140,
)
# fmt: on
ROWS = [f"L{number:02d}" for number in NUMBERS]

NOT_OURS = {
    "L10": "a task source that draws twice: the check of repeated generation catches it, no verifier sees it",
    "L11": "a task source under another hash seed: the check of repeated generation catches it",
    "L62": "a chat turn without its type: actions here are text, there are no typed turns to lose",
    "L68": "a test's name over two lines of a log: cases here are numbers in a frame of our own, no log is read",
    "L70": "a task that doing nothing solves: the check on blind policies catches it",
    "L71": "a reference that fails: the check of the reference catches it",
    "L86": "a rule about wording with an unknown name: no helper judges rules of wording",
    "L88": "a rule about capitals: no helper judges rules of wording",
    "L89": "a rule about different words: no helper judges rules of wording",
    "L91": "a rule about spans of words: no helper judges rules of wording",
    "L95": "a reference that contradicts its prompt: a task source's fault, which an independent solution finds",
    "L112": "an agent that stalls at an unchanged state: the domain's verdict; the check on blind policies catches it",
    "L115": "a simulated user who contradicts the reference: no user is simulated in verify/",
    "L116": "a reference that contradicts an assertion of its own task: a task source's fault",
    "L119": "a reward that a policy wrote: no helper reads a reward, a Verdict is made in this process alone",
    "L122": "a state that shows the reference: the check on leaks catches it",
    "L124": "a bonus for a wrong guess taken for a win: the game domain's verdict",
    "L125": "splits by seed that meet again: splits here are by content, and the check on splits looks",
    "L127": "test levels that were trained on: as above",
    "L136": "a task whose own files fail its gate: the check of the reference catches it",
}


def ids_tested() -> list[str]:
    folder = Path(__file__).parent
    found = [
        re.findall(r"^def test_l(\d+)_", path.read_text(encoding="utf-8"), re.MULTILINE)
        for path in sorted(folder.glob("test_*.py"))
    ]
    return [f"L{number}" for names in found for number in names]


def test_every_row_is_there_exactly_once() -> None:
    assert Counter([*ids_tested(), *NOT_OURS]) == Counter(ROWS)


def test_what_is_not_ours_says_why() -> None:
    assert [row for row, reason in NOT_OURS.items() if len(reason) < 30] == []
