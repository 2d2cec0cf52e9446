"""What a certificate is bound to: everything that its grade depends on, and nothing else, the same everywhere."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from polyathlon.catalog import Row
from polyathlon.errors import RegistryError
from polyathlon.inspect.binding import Binding, bind, inspector_hash
from polyathlon.inspect.closure import Sources, reached
from polyathlon.plugins import Entry

ROOT = Path(__file__).parents[3]
PARTS = """
import json, sys
import polyathlon
from polyathlon.inspect.binding import bind
from polyathlon.inspect.closure import Sources
sources = Sources()
found = {e.id.partition("/")[2]: dict(bind(e, (), sources).parts) for e in polyathlon.registry().entries.values()}
assert not [name for name in sys.modules if name.startswith("polyathlon_domains")]
print(json.dumps(found))
"""


def parts_in(checkout: Path, hash_seed: str = "0") -> dict[str, dict[str, str]]:
    """Return the parts of every built-in domain, as a process in `checkout` finds them; it has loaded none."""
    path = os.pathsep.join(str(checkout / name) for name in ("envs", "domains"))
    env = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hash_seed, "POLYATHLON_CATALOGS": ""}
    done = subprocess.run([sys.executable, "-c", PARTS], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("envs", "domains"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "registry.yaml", folder)
    return folder


def changed_by(checkout: Path, path: str, edit: Callable[[bytes], bytes]) -> dict[str, set[str]]:
    """Return {domain: parts that differ} after an edit of one file, which is then taken back."""
    before, file = parts_in(checkout), checkout / path
    kept = file.read_bytes() if file.exists() else None
    try:
        file.write_bytes(edit(kept or b""))
        after = parts_in(checkout)
    finally:
        file.unlink() if kept is None else file.write_bytes(kept)
    found = {name: {part for part in parts if parts[part] != before[name][part]} for name, parts in after.items()}
    return {name: parts for name, parts in found.items() if parts}


def commented(data: bytes) -> bytes:
    return data + b"# another line\n"


def test_the_hash_is_the_same_in_another_folder_and_under_another_hash_seed(checkout: Path) -> None:
    here = parts_in(ROOT, "1")
    assert len(here) == 20
    assert parts_in(checkout, "2") == here


def test_an_edit_of_a_helper_changes_those_that_import_it_and_no_other(checkout: Path) -> None:
    changed = changed_by(checkout, "envs/polyathlon/verify/geometry.py", commented)
    assert changed == {"cad.mesh-repair-v1": {"gym"}, "cad.text-to-csg-v1": {"gym"}}


def test_an_edit_of_a_domain_changes_it_and_not_its_neighbours(checkout: Path) -> None:
    changed = changed_by(checkout, "domains/polyathlon_domains/finance/_events.py", commented)
    assert changed == {"finance.event-report-items-v1": {"source"}}


def test_an_edit_of_what_plays_every_episode_changes_all(checkout: Path) -> None:
    changed = changed_by(checkout, "envs/polyathlon/env.py", commented)
    assert len(changed) == 20
    assert set(map(frozenset, changed.values())) == {frozenset({"gym"})}


def test_an_edit_of_the_sandbox_changes_those_that_need_one(checkout: Path) -> None:
    changed = changed_by(checkout, "envs/polyathlon/sandbox/choose.py", commented)
    assert "terminal.one-liner-v1" in changed
    assert "math.arithmetic-expression-v1" not in changed


def test_an_edit_of_a_check_changes_the_inspectors_part_of_all(checkout: Path) -> None:
    changed = changed_by(checkout, "envs/polyathlon/inspect/blind.py", commented)
    assert len(changed) == 20
    assert set(map(frozenset, changed.values())) == {frozenset({"inspector"})}


@pytest.mark.parametrize("path", ["envs/polyathlon/cli/listing.py", "envs/polyathlon/inspect/certifying.py"])
def test_an_edit_of_what_only_shows_or_keeps_changes_nothing(checkout: Path, path: str) -> None:
    assert changed_by(checkout, path, commented) == {}


def test_a_file_of_data_beside_a_domain_is_part_of_it(checkout: Path) -> None:
    changed = changed_by(checkout, "domains/polyathlon_domains/logic/names.txt", lambda data: b"Ann")
    assert changed == {"logic.kinship-v1": {"data"}}


def test_line_ends_and_generated_files_do_not_count(checkout: Path) -> None:
    path = "domains/polyathlon_domains/logic/kinship.py"
    assert changed_by(checkout, path, lambda data: data.replace(b"\n", b"\r\n")) == {}
    assert changed_by(checkout, "domains/polyathlon_domains/logic/certificates.json", lambda data: b"{}") == {}


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        (b"floor: 0.03", b"floor: 0.02", {"row"}),
        (b"kind: game", b"kind: question", {"row"}),
        (b"weight: 1.0", b"weight: 2.0", set()),
    ],
)
def test_what_a_row_declares_counts_but_for_its_weight(checkout: Path, old: bytes, new: bytes, parts: set[str]) -> None:
    changed = changed_by(checkout, "registry.yaml", lambda data: data.replace(old, new))
    assert set(map(frozenset, changed.values())) == ({frozenset(parts)} if parts else set())


def package(folder: Path, monkeypatch: pytest.MonkeyPatch, **modules: str) -> Sources:
    """Write modules, "a__b" being a/b.py, into `folder`, and have them found."""
    for name, text in modules.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        for parent in path.relative_to(folder).parents[:-1]:
            (folder / parent / "__init__.py").touch()
        path.write_text(text)
    monkeypatch.syspath_prepend(folder)
    return Sources()


def names(found: dict[str, object]) -> list[str]:
    return list(found)


def test_imports_of_every_form_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
import acme_forms.a
import acme_forms.sub.b as other
from acme_forms import c, CONSTANT
from . import d
from .sub import e
from .f import thing
def late():
    if True:
        from acme_forms.g import *
try:
    from acme_forms import nowhere
except ImportError:
    with open("x") as file:
        import acme_forms.h
match 1:
    case 1:
        import acme_forms.i
"""
    modules = {f"acme_forms__{name}": "" for name in "acdfghij"}
    modules |= {"acme_forms__sub__b": "", "acme_forms__sub__e": "from ..j import x", "acme_forms__main": text}
    sources = package(tmp_path, monkeypatch, **modules)
    found = reached(["acme_forms.main"], sources, follow=lambda name: name.startswith("acme_forms"))
    short = [name.removeprefix("acme_forms").removeprefix(".") for name in found]
    assert short == ["", "a", "c", "d", "f", "g", "h", "i", "j", "main", "sub", "sub.b", "sub.e"]


def test_modules_that_import_each_other_are_reached_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = package(tmp_path, monkeypatch, acme_ring__a="from . import b", acme_ring__b="from . import a")
    assert names(dict(reached(["acme_ring.a"], sources, follow=lambda name: name.startswith("acme_ring")))) == [
        "acme_ring",
        "acme_ring.a",
        "acme_ring.b",
    ]


def entry(tmp_path: Path, load: str) -> Entry:
    row = Row(id="a.b-v1", load=load, kind="question", levels=1, max_turns=1)
    return Entry("acme/a.b-v1", row, "acme", tmp_path / "registry.yaml")


def test_a_module_without_a_package_takes_its_neighbours_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(tmp_path, monkeypatch, acme_single="import acme_beside, json", acme_beside="", acme_stranger="")
    before = bind(entry(tmp_path, "acme_single:DOMAIN"), (), Sources())
    (tmp_path / "acme_stranger.py").write_text("x = 1")
    assert bind(entry(tmp_path, "acme_single:DOMAIN"), (), Sources()) == before
    (tmp_path / "acme_beside.py").write_text("x = 1")
    assert bind(entry(tmp_path, "acme_single:DOMAIN"), (), Sources()).changed_since(before.parts) == ("source",)


@pytest.mark.parametrize(("load", "words"), [("acme_gone:D", "no source of acme_gone"), ("acme_bad:D", "acme_bad.py")])
def test_a_module_that_is_not_there_or_no_python_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load: str, words: str
) -> None:
    package(tmp_path, monkeypatch, acme_bad="def (:")
    with pytest.raises(RegistryError, match=words):
        bind(entry(tmp_path, load), (), Sources())


def test_a_binding_names_the_parts_that_changed() -> None:
    now = Binding({"source": "a", "row": "b"})
    assert now.changed_since({"source": "a", "row": "b"}) == ()
    assert now.changed_since({"source": "x", "row": "b", "data": "c"}) == ("data", "source")
    assert now.sha256 != Binding({"source": "b", "row": "a"}).sha256


def test_the_inspectors_hash_is_made_of_the_checks_and_what_they_grade_by() -> None:
    sources = Sources()
    found = reached(["polyathlon.inspect.checks"], sources, follow=lambda name: name.startswith("polyathlon.inspect"))
    short = {name.rpartition(".")[2] for name in found}
    assert {"rewards", "blindness", "protocol", "rule", "finding", "grade", "play", "hostile", "lint"} <= short
    assert not {"certificate", "kept", "standing", "side_by_side", "written"} & short
    assert len(inspector_hash(sources)) == 64
