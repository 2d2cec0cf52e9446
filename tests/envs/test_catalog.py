from pathlib import Path

import pytest

from polyathlon.catalog import builtin_path, read_catalog
from polyathlon.errors import RegistryError, UnknownDomain
from polyathlon.plugins import Fault, merge

BLOCK = """\
  - id: cad.gear-v1
    load: acme.gear:DOMAIN
    kind: mesh
    levels: 5
    max_turns: 3
"""


def write(folder: Path, text: str, name: str = "registry.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_row_has_its_defaults(tmp_path: Path) -> None:
    catalog = read_catalog(write(tmp_path, f"namespace: acme\ndomains:\n{BLOCK}"), owner="acme")
    row = catalog.rows[0]
    assert (row.weight, row.floor, row.needs, row.install, row.family) == (1.0, 0.0, (), "polyathlon", "cad")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("max_turns", "max_turn", r"row 1 \(cad.gear-v1\): unknown `max_turn`. Did you mean max_turns\?"),
        ("levels: 5", "levels: five", r"Expected `int`, got `str` - at `\$.levels`"),
        ("levels: 5", "levels: 0", "levels is 0"),
        ("kind: mesh", "kind: mash", r"Kinds: .*Did you mean mesh\?"),
        ("cad.gear-v1", "Gear", "write <family>.<name>-vN"),
        ("acme.gear:DOMAIN", "acme.gear", "write module:NAME"),
        ("    levels: 5\n", "", "missing required field `levels`"),
        ("levels: 5", "levels: 5\n    weight: -1", "weight is -1"),
        ("levels: 5", "levels: 5\n    weight: .nan", "weight is nan"),
        ("levels: 5", "levels: 5\n    floor: 0.9", "floor is 0.9"),
        ("domains:", "domain:", "namespace:` and `domains:"),
        ("namespace: acme", "namespace: Acme Inc", "lower-case"),
        ("    kind: mesh", "\tkind: [", "not valid YAML"),
    ],
)
def test_a_bad_row_is_refused_with_file_row_key_and_remedy(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    path = write(tmp_path, f"namespace: acme\ndomains:\n{BLOCK}".replace(old, new))
    with pytest.raises(RegistryError, match=complaint) as caught:
        read_catalog(path, owner="acme")
    assert str(path) in str(caught.value)


def test_an_id_listed_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="listed twice"):
        read_catalog(write(tmp_path, f"namespace: acme\ndomains:\n{BLOCK}{BLOCK}"), owner="acme")


def test_a_missing_file_and_a_binary_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="cannot be read"):
        read_catalog(tmp_path / "none.yaml", owner="acme")
    (tmp_path / "bin.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RegistryError, match="cannot be read"):
        read_catalog(tmp_path / "bin.yaml", owner="acme")


def test_a_namespace_has_one_owner_and_both_are_named(tmp_path: Path) -> None:
    text = f"namespace: acme\ndomains:\n{BLOCK}"
    first = read_catalog(write(tmp_path, text, "a.yaml"), owner="first")
    second = read_catalog(write(tmp_path, text, "b.yaml"), owner="second")
    merged = merge([first, second])
    assert list(merged.entries) == ["acme/cad.gear-v1"]
    assert merged.entries["acme/cad.gear-v1"].owner == "first"
    assert "acme/cad.gear-v1" in merged.faults[0].cause
    assert "first" in merged.faults[0].cause
    assert "second" in merged.faults[0].cause


def test_an_unknown_id_suggests_the_nearest_and_names_broken_plugins(tmp_path: Path) -> None:
    catalog = read_catalog(write(tmp_path, f"namespace: acme\ndomains:\n{BLOCK}"), owner="acme")
    registry = merge([catalog], [Fault("chem", "no registry.yaml.")])
    with pytest.raises(UnknownDomain, match=r"Did you mean acme/cad.gear-v1\? Plugin chem"):
        registry.entry("acme/cad.geer-v1")


def test_our_own_registry_is_sorted_and_has_the_twenty_domains() -> None:
    ids = [row.id for row in read_catalog(builtin_path(), owner="polyathlon").rows]
    assert ids == sorted(ids)
    assert len(ids) == 20
