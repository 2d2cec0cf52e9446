"""Writing certificates, and looking at those that are there: the one place that changes a certificates.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from polyathlon.canonical import Json
from polyathlon.drawing import TaskKey, draw_task
from polyathlon.errors import RegistryError
from polyathlon.inspect.certificate import (
    GOLDEN_CHARS,
    NUM_GOLDEN_SEEDS,
    Certificate,
    certificate_record,
    certify,
    unfit,
)
from polyathlon.inspect.closure import Sources
from polyathlon.inspect.finding import Inspection
from polyathlon.inspect.fingerprint import fingerprint
from polyathlon.inspect.kept import write_whole
from polyathlon.inspect.standing import CertificateFiles, NotBelieved, certificates_path
from polyathlon.inspect.waivers import waivers_of
from polyathlon.plugins import Entry
from polyathlon.registration import load_domain, registry


def write_certificates(inspections: Sequence[Inspection]) -> tuple[list[Path], list[str]]:
    """Write the certificates of `inspections`; return the files written, and why some domains got none.

    The other certificates of a file stay as they are; those of domains that are no longer listed go.
    """
    files: dict[Path, dict[str, Certificate]] = {}
    problems: list[str] = []
    sources = Sources()
    for inspection in inspections:
        if problem := unfit(inspection):
            problems.append(f"{inspection.domain_id} gets no certificate: {problem}")
            continue
        entry = registry().entry(inspection.domain_id)
        path = certificates_path(entry, sources)
        if path is None:
            problems.append(f"{entry.id} gets no certificate: its module is not there.")
            continue
        in_force = [waiver for waiver in waivers_of(entry) if waiver.check in inspection.waived]
        files.setdefault(path, {})[entry.id] = certify(inspection, waivers=in_force, golden=golden(entry))
    for path, certificates in files.items():
        write_whole(path, _text({**_others(path), **certificates}))
    return sorted(files), problems


def golden(entry: Entry) -> tuple[tuple[str, ...], ...]:
    """Return the beginnings of the fingerprints of the first tasks of each level of `entry`, as they are drawn here."""
    source = load_domain(entry.id).tasks
    keys = [[TaskKey(entry.id, level, seed) for seed in range(NUM_GOLDEN_SEEDS)] for level in range(entry.row.levels)]
    return tuple(tuple(fingerprint(draw_task(source, key))[:GOLDEN_CHARS] for key in level) for level in keys)


def drawn_otherwise(entries: Sequence[Entry]) -> dict[str, str]:
    """Return {id: what is wrong} of those whose certificate tells of other first tasks than are drawn here."""
    sources, files = Sources(), CertificateFiles()
    found = {}
    for entry in entries:
        certificate = files.written(entry, sources)
        try:
            if certificate is not None and golden(entry) != certificate.golden:
                found[entry.id] = (
                    f"it draws other tasks here than where it was certified, under numpy {certificate.numpy}."
                )
        except Exception as error:  # whatever a domain does wrong is a finding about it
            found[entry.id] = f"its tasks cannot be drawn: {type(error).__name__}: {error}"
    return found


def _others(path: Path) -> Mapping[str, Certificate]:
    """Return the certificates at `path` of domains that are still listed, and that can be believed."""
    sources, files = Sources(), CertificateFiles()
    found = {}
    for entry in registry().entries.values():
        try:
            certificate = files.written(entry, sources) if certificates_path(entry, sources) == path else None
        except (NotBelieved, RegistryError):  # edited; or a module that cannot be read, which has no family's folder
            continue
        if certificate is not None:
            found[entry.id] = certificate
    return found


def _text(certificates: Mapping[str, Certificate]) -> str:
    records: dict[str, Json] = {name: certificate_record(found) for name, found in certificates.items()}
    return json.dumps(records, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
