"""The report is one safe file, whatever the run did and whatever the model wrote."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from polyathlon.drawing import TaskKey
from polyathlon_trainer.episode import Episode, Group
from polyathlon_trainer.observe.lines import METRICS, RecordError
from polyathlon_trainer.observe.recorder import Recorder
from polyathlon_trainer.observe.records import DomainStep, NoteRecord, StepRecord
from polyathlon_trainer.observe.report import write_report
from polyathlon_trainer.observe.samples import choose_samples, readable

from .conftest import Shape, WriteRun

VOID = {"meta", "link", "br", "line", "circle", "rect", "polyline"}


class Page(HTMLParser):
    """Collects the tags of a page, and fails on one that is closed out of order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            assert name not in ("src", "srcset", "action"), (tag, name)
            assert name != "href" or value == "data:,"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("p", "li", "dt", "dd", "div") or self.open[-1] == tag:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def page_of(folder: Path) -> tuple[str, Page]:
    path = write_report(folder)
    assert path == folder / "report.html"
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert not {"script", "iframe", "object", "embed", "img"} & set(page.tags)
    assert not re.search(r"url\(|@import", text)
    assert not re.search(r"\b(nan|inf|None)\b", re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL))
    return text, page


def test_a_finished_run_shows_every_part(finished_run: Path) -> None:
    text, page = page_of(finished_run)
    for title in ("What changed", "Domain by domain", "Shares declared", "The learner", "Episodes lost", "Episodes to"):
        assert f"<h2>{title}" in text
    assert re.search(r"<h1>RL raised the mean held-out reward from [^ ]+ to [^ ]+ over 5 domains: [^ ]+\.</h1>", text)
    assert page.tags.count("article") == 6 + 8
    assert text.count('class="episode"') == 6 * 3
    assert "has not finished" not in text
    first_card = text[text.index("<article") : text.index("</article>")]
    assert first_card.count('<circle class="held"') == 4  # after SFT, and at RL steps 10, 20 and 30
    assert [path.name for path in finished_run.glob("*.tmp")] == []


def test_a_killed_run_is_reported_as_far_as_it_is(tmp_path: Path, write_run: WriteRun) -> None:
    folder = write_run(tmp_path, Shape(killed=True, rl_steps=12))
    with (folder / METRICS).open("ab") as file:
        file.write(b'{"kind":"step","stage":"rl","st')
    (folder / "episodes" / "part-000009.parquet.tmp").write_bytes(b"PAR1half")
    text, _ = page_of(folder)
    assert "The run has not finished: its last record is step 12 of 24 of rl." in text


def test_a_run_without_rl_says_so(tmp_path: Path, write_run: WriteRun) -> None:
    text, _ = page_of(write_run(tmp_path, Shape(rl_steps=0)))
    assert "<h1>This run has no RL steps: there is no gain to report.</h1>" in text
    assert "Loss in SFT" in text


def test_a_run_that_wrote_only_a_note_has_a_report(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        recorder.write(NoteRecord(text="<b>no</b> domain could be started", time_s=0.0))
    text, _ = page_of(tmp_path)
    assert "&lt;b&gt;no&lt;/b&gt; domain could be started" in text


def test_one_domain_is_enough(tmp_path: Path, write_run: WriteRun) -> None:
    text, page = page_of(write_run(tmp_path, Shape(num_domains=1)))
    assert page.tags.count("article") == 1 + 8
    assert "a domain alone has no share to keep" in text


def test_three_hundred_domains_stay_a_page_that_a_phone_opens(tmp_path: Path, write_run: WriteRun) -> None:
    text, page = page_of(write_run(tmp_path, Shape(num_domains=300, rl_steps=10, num_prompts=8)))
    assert page.tags.count("article") == 300 + 8
    assert "276 more domains" in text
    assert len(text) < 4_000_000


@pytest.mark.parametrize("width", ["initial-scale=1", "prefers-color-scheme: dark", "default-src 'none'"])
def test_the_page_fits_a_phone_and_the_dark_and_loads_nothing(finished_run: Path, width: str) -> None:
    assert width in page_of(finished_run)[0]


def test_a_run_whose_numbers_broke_still_draws(tmp_path: Path) -> None:
    broken = DomainStep(1.0, 4, 2, 10, 0.1, 0.1, math.nan, 0.4, math.inf, 0.1)
    with Recorder(tmp_path) as recorder:
        for number in range(1, 4):
            recorder.write(
                StepRecord(
                    stage="rl",
                    step=number,
                    time_s=1.0,
                    loss=math.nan,
                    grad_norm=math.inf,
                    learn_s=0.0,
                    wait_s=0.0,
                    learning_rate=0.1,
                    entropy=math.nan,
                    kl=-math.inf,
                    domains={"polyathlon/a.b-v1": broken},
                )
            )
    path = write_report(tmp_path)
    drawings = re.findall(r"<svg.*?</svg>", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(drawings) == 3 + 1 + 8
    assert not [svg for svg in drawings if re.search(r"nan|inf", svg)]
    assert any("nothing yet" in svg for svg in drawings)


def test_hostile_model_text_is_text(tmp_path: Path, write_run: WriteRun) -> None:
    text, page = page_of(write_run(tmp_path, Shape(hostile=True)))
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in text
    assert "{{ 7 * 7 }}" in text
    shown = "".join(page.text)
    assert "lone \\ud800 surrogate" in shown
    assert "bell \u2407 null \u2400 escape \u241b[31mred" in shown
    assert "\\u202egnirts" in shown
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_a_megabyte_of_text_is_cut_in_its_middle(tmp_path: Path) -> None:
    key = TaskKey("polyathlon/a.b-v1", 0, 1)
    long = Episode(key, (1,), (), 0.0, False, prompt="p", texts=("A" + "x" * 1_000_000 + "Z",), reason="r" * 1_000_000)
    many = Episode(key, (1,), (), 1.0, True, prompt="p", texts=tuple(f"message {place}" for place in range(500)))
    with Recorder(tmp_path) as recorder:
        recorder.write(NoteRecord(text="n", time_s=0.0))
        recorder.write_group(Group("g", key, (long, many)), stage="rl", step=1)
    text, _ = page_of(tmp_path)
    assert len(text) < 60_000
    assert "[... 997002 characters cut ...]" in text
    assert "488 messages in the middle are left out" in text


def test_samples_are_the_best_the_worst_and_another(tmp_path: Path) -> None:
    key = TaskKey("polyathlon/a.b-v1", 0, 1)
    rewards = (0.25, 0.0, 1.0, 0.5, 0.0, 1.0)
    episodes = tuple(Episode(key, (1,), (), one, one == 1.0, prompt=str(at)) for at, one in enumerate(rewards))
    with Recorder(tmp_path) as recorder:
        recorder.write_group(Group("g", key, episodes), stage="rl", step=1)
    best, other, worst = choose_samples(tmp_path)["polyathlon/a.b-v1"]
    assert (best.why, best.prompt, best.reward) == ("best", "5", 1.0)
    assert (worst.why, worst.prompt, worst.reward) == ("worst", "1", 0.0)
    assert other.why == "random"
    assert other.prompt in {"0", "2", "3", "4"}
    assert choose_samples(tmp_path) == choose_samples(tmp_path)


def test_a_domain_with_one_episode_shows_it_once(tmp_path: Path) -> None:
    key = TaskKey("polyathlon/a.b-v1", 0, 1)
    with Recorder(tmp_path) as recorder:
        recorder.write_group(Group("g", key, (Episode(key, (1,), (), 0.5, False),)), stage="rl", step=1)
    assert [sample.why for sample in choose_samples(tmp_path)["polyathlon/a.b-v1"]] == ["best"]


def test_readable_keeps_lines_and_tabs_and_other_scripts() -> None:
    assert readable("a\tb\nç 漢 🙂") == "a\tb\nç 漢 🙂"
    assert readable("\r\x85\u2028") == "\u240d\\x85\\u2028"


def test_a_folder_without_a_run_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"no metrics\.jsonl here"):
        write_report(tmp_path)
    assert list(tmp_path.iterdir()) == []
