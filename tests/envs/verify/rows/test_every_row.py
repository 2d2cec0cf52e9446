"""Every row of the log of faults is either a test of ours with its right value, or said here not to be our helpers'."""

import re
from collections import Counter
from pathlib import Path

# fmt: off
ROWS = (
    "L01 L02 L04 L05 L07 L08 L10 L11 L13 L14 L16 L17 L19 L20 L22 L23 L25 L26 L28 L29 L31 L32 L34 L35 L37 L38 L40 L41 "
    "L43 L44 L46 L47 L49 L50 L52 L53 L55 L56 L58 L59 L61 L62 L64 L65 L67 L68 L70 L71 L73 L74 L76 L77 L79 L80 L82 L83 "
    "L85 L86 L88 L89 L91 L92 L94 L95 L97 L98 L100 L101 L103 L104 L106 L107 L109 L110 L112 L113 L115 L116 L118 L119 "
    "L121 L122 L124 L125 L127 L128 L130 L131 L133 L134 L136 L137 L139 L140"
).split()
# fmt: on

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


def tested() -> list[str]:
    folder = Path(__file__).parent
    found = [
        re.findall(r"^def test_l(\d+)_", path.read_text(encoding="utf-8"), re.MULTILINE)
        for path in sorted(folder.glob("test_*.py"))
    ]
    return [f"L{number}" for names in found for number in names]


def test_every_row_is_there_exactly_once() -> None:
    assert Counter([*tested(), *NOT_OURS]) == Counter(ROWS)


def test_what_is_not_ours_says_why() -> None:
    assert [row for row, reason in NOT_OURS.items() if len(reason) < 30] == []
