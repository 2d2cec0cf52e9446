"""Certificates: what may be written, what is believed, and how domains stand by them."""

import datetime
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.envs.inspect.command import ROOT, environment, polyathlon, records, write_catalog

from polyathlon.inspect.certificate import Certificate, certificate_record, certify, read_certificate, sealed
from polyathlon.inspect.finding import WHOLE, CheckResult, Inspection, measured
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.standing import Standing
from polyathlon.inspect.waivers import Waiver

DAY = datetime.date(2030, 6, 1)


def inspection(**changes: Any) -> Inspection:
    """A bronze inspection of two levels: gold, and bronze by the lint."""
    results = (
        CheckResult("S01", tuple(measured(RULES["S01"], level, 1.0, 200) for level in range(2))),
        CheckResult("C05", (measured(RULES["C05"], WHOLE, 1, 1),)),
    )
    fields = {"num_levels": 2, "num_seeds": 64, "tier": 2, "results": results, "parts": {"source": "aa", "row": "bb"}}
    return Inspection("acme/a.b-v1", **(fields | changes))  # type: ignore[arg-type]  # by name


def waiver(expires: datetime.date) -> Waiver:
    return Waiver(check="C05", domain="a.b-v1", reason="it is sound: see the note", owner="ann", expires=expires)


def test_a_certificate_comes_back_from_its_json() -> None:
    written = certify(inspection(), golden=[["aaaa"], ["bbbb"]])
    record = json.loads(json.dumps(certificate_record(written)))
    assert read_certificate(record) == written
    assert record["grade"] == "bronze"
    assert record["reasons"] == [
        "bronze: C05 verifier lint: expressions known to pay wrong answers is 1 of 1 cases; gold <= 0, silver <= 0"
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_seeds": 63}, "63 tasks a level at tier 2 are no proof"),
        ({"tier": 1}, "64 tasks a level at tier 1 are no proof"),
        ({"broken": "no module"}, "could not be inspected"),
    ],
)
def test_too_little_is_not_certified(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        certify(inspection(**changes))


def test_a_waiver_lifts_to_silver_until_it_expires() -> None:
    written = certify(inspection(waived=("C05",)), waivers=[waiver(DAY)])
    assert written.grade == "silver"
    assert written.graded(DAY) == (Grade.SILVER, (Grade.SILVER, Grade.SILVER))
    assert written.graded(DAY + datetime.timedelta(days=1)) == (Grade.BRONZE, (Grade.BRONZE, Grade.BRONZE))


EDITS: dict[str, Any] = {
    "another grade": {"grade": "gold"},
    "another level": {"levels": ["gold", "gold"]},
    "another hash": {"sha256": "0" * 64},
    "a grade that is none": {"grade": "platinum"},
    "a number for a grade": {"grade": 4},
    "a key more": {"signed": True},
    "seeds in words": {"seeds": "many"},
    "no seal": {"seal": ""},
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_certificate_is_none(edit: str) -> None:
    record = {**certificate_record(certify(inspection())), **EDITS[edit]}
    with pytest.raises(ValueError, match=r"seal|no certificate|No grade"):
        read_certificate(record)


@pytest.mark.parametrize("record", [None, 3, "gold", [], {}])
def test_what_is_no_certificate_at_all_is_none(record: object) -> None:
    with pytest.raises(ValueError, match="no certificate"):
        read_certificate(record)


def test_a_seal_that_fits_does_not_make_a_grade_or_a_hash_of_its_own() -> None:
    written = certify(inspection())
    for change in ({"grade": "platinum"}, {"sha256": "0" * 64}):
        forged: Certificate = sealed(msgspec.structs.replace(written, **change))
        with pytest.raises(ValueError, match=r"No grade|sha256 is not that of its parts"):
            read_certificate(certificate_record(forged))


# --- how domains stand ---------------------------------------------------------------------------------------------


GOLD, SILVER, BRONZE = Grade.GOLD, Grade.SILVER, Grade.BRONZE


@pytest.mark.parametrize(
    ("standing", "levels", "why"),
    [
        (Standing("a", GOLD, (GOLD, SILVER)), 2, ""),
        (Standing("a", BRONZE, (GOLD, SILVER, BRONZE, GOLD)), 2, "level 2 of it is below silver"),
        (Standing("a", BRONZE, (BRONZE, GOLD)), 0, "level 0 of it is below silver"),
        (Standing("a", BRONZE, (BRONZE, BRONZE)), 0, "every level of it is below silver"),
        (Standing("a"), 0, "it has no certificate"),
        (Standing("a", GOLD, (GOLD,), claimed=True), 0, "its grade, gold, is only claimed"),
        (Standing("a", GOLD, (GOLD,), changed=("inspector",)), 1, ""),
        (Standing("a", GOLD, (GOLD,), changed=("gym", "inspector")), 0, "its gym changed since it was certified"),
        (Standing("a", problem="x.json: is edited."), 0, "x.json: is edited"),
    ],
)
def test_a_default_mixture_takes_silver_and_gold_that_were_seen_here(standing: Standing, levels: int, why: str) -> None:
    assert standing.num_trainable_levels == levels
    assert standing.why_not.partition(";")[0] == why


# --- by the command line -------------------------------------------------------------------------------------------

ID = "planted/test.sound-v1"
SOURCE = """
\"\"\"A sound plugin.\"\"\"

from dataclasses import dataclass, replace
import planted
SPARE = 1
DOMAIN = planted.SOUND
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plugin with one sound domain, certified by the command line into its folder."""
    folder = tmp_path_factory.mktemp("plugin")
    write_catalog(folder, sound="acme_sound:DOMAIN")
    (folder / "acme_sound.py").write_text(SOURCE)
    done = polyathlon(author(folder), "check", ID, "--certify")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Written: {folder / 'certificates.json'}" in done.stderr
    return folder


def author(folder: Path) -> dict[str, str]:
    """The environment of whoever wrote the plugin, with the cache of the inspection."""
    return environment(folder / "registry.yaml", folder, POLYATHLON_CACHE=str(folder / "cache"))


def user(folder: Path, cache: Path) -> dict[str, str]:
    """The environment of someone else who has the plugin, and has inspected nothing."""
    return environment(folder / "registry.yaml", folder, POLYATHLON_CACHE=str(cache))


@pytest.fixture
def copied(plugin: Path, tmp_path: Path) -> Path:
    """A copy of the plugin in another folder, without its cache."""
    for name in ("registry.yaml", "acme_sound.py", "certificates.json"):
        (tmp_path / name).write_bytes((plugin / name).read_bytes())
    return tmp_path


def row(env: dict[str, str]) -> dict[str, Any]:
    return records(env, "list", "planted/")[ID]


def test_a_certificate_says_what_was_shown_and_of_what(plugin: Path) -> None:
    record = json.loads((plugin / "certificates.json").read_text())[ID]
    assert (record["grade"], record["levels"], record["seeds"], record["tier"]) == ("gold", ["gold"], 64, 2)
    assert "reasons" not in record
    assert {"source", "data", "row", "gym", "inspector", "waivers"} <= set(record["parts"])
    assert [len(level) for level in record["golden"]] == [2]
    assert str(plugin) not in (plugin / "certificates.json").read_text()


def test_writing_it_again_writes_the_same(plugin: Path) -> None:
    before = (plugin / "certificates.json").read_bytes()
    assert polyathlon(author(plugin), "check", ID, "--certify").returncode == 0
    assert (plugin / "certificates.json").read_bytes() == before


def test_a_plugins_grade_is_a_claim_until_it_was_run_here(copied: Path, plugin: Path) -> None:
    other = user(copied, copied / "cache")
    assert (row(other)["grade"], row(other)["stale"]) == ("claimed: gold", False)
    done = polyathlon(other, "check", ID, "--tier", "2")
    assert done.returncode == 0, done.stdout
    assert row(other)["grade"] == "gold"
    assert row(author(plugin))["grade"] == "gold"


def test_an_edit_makes_it_stale_and_stale_is_what_is_inspected_anew(copied: Path) -> None:
    with (copied / "acme_sound.py").open("a") as file:
        file.write("SPARE = 2\n")
    other = user(copied, copied / "cache")
    assert (row(other)["grade"], row(other)["stale"]) == ("claimed: gold", True)
    done = polyathlon(other, "check", "--stale", "--certify", ID)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{ID} is inspected anew" in done.stderr
    assert (row(other)["grade"], row(other)["stale"]) == ("gold", False)


def test_a_domain_of_the_house_whose_certificate_fits_is_only_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The house's own certificates are no claims: the commands of one family in a copy of the house."""
    house = tmp_path / "house"
    copy_house(house, "math")
    env = {
        **environment(tmp_path / "none.yaml"),
        "POLYATHLON_CATALOGS": "",
        "PYTHONPATH": f"{house}/envs:{house}/domains",
    }
    env["POLYATHLON_CACHE"] = str(tmp_path / "cache")
    name = "polyathlon/math.arithmetic-expression-v1"
    certified = house / "domains" / "polyathlon_domains" / "math" / "certificates.json"
    assert polyathlon(env, "check", name, "--certify").returncode == 0
    assert list(json.loads(certified.read_text())) == [name]
    env["POLYATHLON_CACHE"] = str(tmp_path / "another")
    verified = records(env, "check", "--stale")
    assert verified == {
        name: {
            "id": name,
            "grade": "gold",
            "passed": True,
            "levels": ["gold"] * 5,
            "verified": True,
        }
    }
    record = json.loads(certified.read_text())
    forged = read_certificate(record[name])
    other = sealed(msgspec.structs.replace(forged, golden=(("0" * 16,) * 2,) * 5))
    certified.write_text(json.dumps({name: certificate_record(other)}))
    done = polyathlon(env, "check", "--stale", "--smoke", "--tier", "0")
    assert "draws other tasks here than where it was certified" in done.stderr


def copy_house(house: Path, family: str) -> None:
    for name in ("envs", "domains"):
        shutil.copytree(ROOT / name, house / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (house / "domains").rglob("certificates.json"):
        path.unlink()
    text = (ROOT / "registry.yaml").read_text()
    head, *rows = text.split("  - id: ")
    kept = [row for row in rows if row.startswith(f"{family}.")]
    (house / "registry.yaml").write_text(head + "".join(f"  - id: {row}" for row in kept))


HOSTILE = {
    "broken": b'{"planted/test.sound-v1": {',
    "a list": b"[1, 2]",
    "not text": b"\xff\xfe\x00",
    "nested": b'{"a":' * 100_000,
    "a word": b'{"planted/test.sound-v1": "gold"}',
    "an object": b'{"planted/test.sound-v1": {"grade": "gold"}}',
}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_file_that_is_no_certificates_is_told_and_counts_as_none(copied: Path, text: str) -> None:
    (copied / "certificates.json").write_bytes(HOSTILE[text])
    found = row(user(copied, copied / "cache"))
    assert found["grade"] is None
    assert found["notes"][0].startswith(str(copied / "certificates.json"))
    assert "It counts as none" in found["notes"][0]


def test_an_edited_grade_is_told_and_counts_as_none(copied: Path) -> None:
    path = copied / "certificates.json"
    path.write_text(path.read_text().replace('"grade": "gold"', '"grade": "silver"'))
    found = row(user(copied, copied / "cache"))
    assert found["grade"] is None
    assert "it was edited after it was written" in found["notes"][0]


@pytest.mark.parametrize("words", [("--smoke",), ("--seeds", "63"), ("--tier", "1")])
def test_certifying_from_too_little_is_refused_before_anything_runs(copied: Path, words: tuple[str, ...]) -> None:
    (copied / "certificates.json").unlink()
    done = polyathlon(user(copied, copied / "cache"), "check", ID, "--certify", *words)
    assert done.returncode == 1
    assert "prove nothing" in done.stderr
    assert done.stdout == ""
    assert not (copied / "certificates.json").exists()


def test_an_inspection_too_small_to_prove_does_not_turn_a_claim_into_a_grade(copied: Path) -> None:
    other = user(copied, copied / "cache")
    assert polyathlon(other, "check", ID, "--tier", "2", "--smoke").returncode == 0
    assert polyathlon(other, "check", ID).returncode == 0
    assert row(other)["grade"] == "claimed: gold"
