"""Scorecards: what the record holds, what the page shows, and that nothing a domain or a policy wrote runs in it."""

import json
import math
from html.parser import HTMLParser
from pathlib import Path

import pytest

from polyathlon import registry
from polyathlon.inspect.finding import WHOLE, CheckResult, Finding, Inspection, Measure, measured
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.hostile import hostile_texts
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.replay import replay_command
from polyathlon.inspect.reward_plot import described, reward_plot
from polyathlon.inspect.scorecard import read_card, record_of, scorecard, write_card
from polyathlon.inspect.scorecard_files import read_scorecards, write_scorecards
from polyathlon.inspect.scorecard_page import best_exploit, index_page, scorecard_page

ID = "polyathlon/math.arithmetic-expression-v1"
EVIL = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7*7 }}"


class Page(HTMLParser):
    """What a browser would make of a page: its tags in order, its text, and the content of each `pre`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.pres: list[str] = []
        self.words: list[str] = []
        self._in_pre = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "pre":
            self._in_pre = True
            self.pres.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_pre = self._in_pre and tag != "pre"

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self._in_pre:
            self.pres[-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def counts(**places: int) -> tuple[int, ...]:
    """22 counts; `at_20=3` puts three at full reward."""
    return tuple({int(name[3:]): count for name, count in places.items()}.get(place, 0) for place in range(22))


def at(rule: str, level: int, value: float, num_cases: int = 100) -> Measure:
    return measured(RULES[rule], level, value, num_cases)


def faulty(*texts: str, check: str = "V02") -> Inspection:
    faults = tuple(
        Finding(1, place, f"mutant {place} earns 1.000", replay_command(ID, 1, place, (text,)), (text,), 1.0)
        for place, text in enumerate(texts)
    )
    results = (
        CheckResult("S01", (at("S01", 0, 1.0), at("S01", 1, 1.0)), numbers={"episode_ms": 1.5}),
        CheckResult("N05", not_applicable="the domain names no shortcuts"),
        CheckResult(check, (at(check, 0, 0.0), at(check, 1, 0.5)), faults),
    )
    rewards = {"reference": counts(at_20=128), "mutant": counts(at_0=150, at_20=50), "attack": counts(at_0=9)}
    return Inspection(ID, num_levels=2, num_seeds=64, tier=1, results=results, rewards=rewards, wall_s=2.0, cpu_s=1.0)


def page_of(inspection: Inspection) -> Page:
    return Page(scorecard_page(scorecard(inspection, registry().entries.get(ID)), json_name="x.json"))


# --- the record ----------------------------------------------------------------------------------------------------


def test_the_record_has_grade_reason_thresholds_and_measures() -> None:
    record = json.loads(json.dumps(record_of(scorecard(faulty("42"), registry().entry(ID)))))
    assert (record["grade"], record["passed"], record["levels"]) == ("quarantine", False, ["gold", "quarantine"])
    assert (record["family"], record["kind"], record["floor"]) == ("math", "question", 0.0)
    assert record["reason"].startswith("quarantine: V02 mutants of answers, level 1: ")
    check = record["results"][2]
    assert (check["gold"], check["silver"], check["bronze"], check["otherwise"]) == (0.005, 0.02, None, "quarantine")
    assert check["worst"] == {
        "level": 1, "value": 0.5, "low": None, "high": None, "num_cases": 100, "grade": "quarantine"
    }  # fmt: skip
    assert check["faults"][0]["actions"] == ["42"]
    assert check["faults"][0]["reward"] == 1.0


def test_a_record_is_read_back_as_it_was_written_whatever_it_holds() -> None:
    card = scorecard(faulty(*(text for _, text in hostile_texts() if len(text) < 100_000)))
    assert read_card(write_card(card)) == card


def test_a_measure_of_the_domain_has_no_level_and_nan_no_value() -> None:
    result = CheckResult("Q01", (Measure(WHOLE, math.nan, 5, Grade.BRONZE),))
    measure = scorecard(Inspection(ID, 1, results=(result,))).results[0].measures[0]
    assert (measure.level, measure.value) == (None, None)


def test_what_is_no_scorecard_is_refused_with_what_to_do() -> None:
    with pytest.raises(ValueError, match="Run polyathlon check --report again"):
        read_card('{"schema": "polyathlon.scorecard/0"}')
    with pytest.raises(ValueError, match="lacks what it should hold"):
        read_card('{"schema": "polyathlon.scorecard/1", "id": 3}')


# --- the page ------------------------------------------------------------------------------------------------------


def test_the_page_shows_grade_reason_checks_thresholds_faults_and_replay() -> None:
    page = page_of(faulty("42"))
    assert "quarantine: V02 mutants of answers, level 1:" in page.text
    assert "\u2264 0.005" in page.text
    assert "not applicable: the domain names no shortcuts" in page.text
    assert page.pres == ["42", f"polyathlon play {ID} --level 1 --seed 0 --actions '[\"42\"]'"]
    assert "episode_ms" in page.text
    assert "None that pays: the best of 9 attacks earned 0.00 to 0.05" in page.text


def test_hostile_text_is_shown_and_adds_nothing_to_the_page() -> None:
    plain, hostile = page_of(faulty("x")), page_of(faulty(EVIL))
    assert hostile.tags == plain.tags
    assert hostile.pres[0] == EVIL
    assert [name for name, _ in hostile.attributes if name.startswith("on")] == []


def test_hostile_messages_names_and_causes_add_nothing_either() -> None:
    fault = Finding(0, 0, EVIL, EVIL, (), math.nan)
    results = (
        CheckResult("V02", (at("V02", 0, 0.5),), (fault,), {EVIL: 1.0}),
        CheckResult("N05", not_applicable=EVIL),
    )
    page = page_of(Inspection(ID, 1, results=results, rewards={EVIL: counts(at_0=1)}))
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert "script" not in page_of(Inspection(ID, broken=EVIL)).tags


def test_every_hostile_text_of_the_inspection_gives_a_page_that_can_be_written_and_is_small() -> None:
    text = scorecard_page(scorecard(faulty(*(text for _, text in hostile_texts()))), json_name="x.json")
    assert len(text.encode("utf-8")) < 400_000
    assert "\x00" not in text
    assert "\u202e" not in text


def test_long_text_is_cut_with_a_mark_and_short_text_is_whole() -> None:
    page = page_of(faulty("x" * 10_000_000, "def f():\n    return 1\n"))
    assert "message 1 of 1, 10,000,000 characters" in page.text
    assert "characters cut ...]" in page.pres[0]
    assert len(page.pres[0]) < 9_000
    assert page.pres[2] == "def f():\n    return 1\n"


def test_lone_surrogates_and_controls_become_visible() -> None:
    assert page_of(faulty("\ud800 7\x00\x1b[2J\u202e")).pres[0] == "\\ud800 7\u2400\u241b[2J\\u202e"


def test_more_faults_than_a_page_bears_are_counted_and_left_to_the_record() -> None:
    page = page_of(faulty(*map(str, range(40))))
    assert len(page.pres) == 24
    assert "28 more are in x.json" in page.text


def test_refused_right_answers_stand_apart_from_paid_wrong_ones() -> None:
    assert "Right answers that were refused" in page_of(faulty("4", check="V06")).text
    assert "Right answers that were refused" not in page_of(faulty("4", check="V02")).text


def test_the_best_exploit_is_the_one_that_earned_most() -> None:
    faults = (
        Finding(0, 1, "exploit 'a' earns 0.300.", "", ("a",), 0.3),
        Finding(0, 2, "exploit 'b' earns 1.000.", "", ("b",), 1.0),
        Finding(0, 3, "exploit 'c' breaks the episode.", "", ("c",), math.nan),
    )
    result = CheckResult("X01", (at("X01", 0, 3.0),), faults)
    assert "exploit 'b'" in best_exploit(scorecard(Inspection(ID, 1, results=(result,))))
    assert "no proof" in best_exploit(scorecard(Inspection(ID, 1)))


def test_the_plot_says_in_words_what_it_shows_and_hatches_what_is_out_of_place() -> None:
    rewards = {"reference": counts(at_20=5), "blind": counts(at_0=90, at_10=10), "attack": counts(at_21=2)}
    plot = reward_plot(rewards, floor=0.03)
    assert plot.count('class="wrong"') == 1
    assert plot.count('class="due"') == 2
    assert plot.count('class="lost"') == 1
    assert described(rewards).startswith("reference: of 5 episodes 0 earned under 0.05, 0 something between, 5 full")
    assert 'role="img"' in plot


# --- the files -----------------------------------------------------------------------------------------------------


def test_a_folder_has_a_page_and_a_record_a_domain_and_an_index_of_all_runs(tmp_path: Path) -> None:
    other = Inspection("acme/docs.claims-v1", broken="no such module")
    write_scorecards([faulty("42")], tmp_path, entries=registry().entries)
    index = write_scorecards([other], tmp_path, entries={})
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert names == [
        "acme/docs.claims-v1.html",
        "acme/docs.claims-v1.json",
        "index.html",
        "polyathlon/math.arithmetic-expression-v1.html",
        "polyathlon/math.arithmetic-expression-v1.json",
    ]
    page = Page(index.read_text(encoding="utf-8"))
    assert "0 of 2 domains are fit to train on" in page.text
    assert ("href", "acme/docs.claims-v1.html") in page.attributes
    assert page.tags.count("script") == 1


def test_messages_too_long_to_type_are_replayed_from_a_file_that_holds_them_whole(tmp_path: Path) -> None:
    long = "\ud800" + "7" * 300_000
    write_scorecards([faulty("42", long)], tmp_path, entries={})
    faults = read_scorecards(tmp_path)[0].results[2].faults
    path = tmp_path / f"{ID}.replay" / "V02-2.json"
    assert faults[0].replay.endswith("--actions '[\"42\"]'")
    assert faults[1].replay == f"polyathlon play {ID} --level 1 --seed 1 --actions @{path}"
    assert json.loads(path.read_text()) == [long]
    assert len(faults[1].actions[0]) < 101_000
    write_scorecards([faulty("42")], tmp_path, entries={})
    assert not path.exists()


def test_files_that_are_no_scorecards_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "notes.json").write_text("[1]")
    (tmp_path / "acme" / "broken.json").write_text("{")
    (tmp_path / "acme" / "moved.json").write_text(write_card(scorecard(faulty("42"))))
    assert read_scorecards(tmp_path) == []


def test_an_id_that_would_leave_the_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no id of a domain"):
        write_scorecards([Inspection("../../etc/x-v1")], tmp_path, entries={})
    assert list(tmp_path.iterdir()) == []


def test_an_index_of_nothing_says_so() -> None:
    assert "No domain was inspected." in Page(index_page([])).text
