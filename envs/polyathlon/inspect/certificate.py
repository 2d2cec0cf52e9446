"""Certificates: what was shown of a domain, and of which sources. Here is what decides; what writes is elsewhere."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from polyathlon.canonical import Json, content_hash
from polyathlon.inspect.binding import Binding
from polyathlon.inspect.depth import PROOF_SEEDS, Depth
from polyathlon.inspect.finding import Inspection
from polyathlon.inspect.grade import Grade, grade_of
from polyathlon.inspect.reasons import reasons_of
from polyathlon.inspect.waivers import Waiver

NUM_GOLDEN_SEEDS = 2
GOLDEN_CHARS = 16


class Graded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A grade and those of the levels, the easiest first, in words."""

    grade: str
    levels: tuple[str, ...]


class Certificate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one inspection showed, and the hash of what it looked at.

    `parts` are the hashes that `sha256` is made of. `golden` holds fingerprints of the first tasks of each level, which
    another `numpy` may draw otherwise. `without_waivers` is what the grade is when no waiver counts; absent when there
    is none. `seal` is the hash of all the rest: a certificate that was edited is none.
    """

    grade: str
    levels: tuple[str, ...]
    sha256: str
    parts: Mapping[str, str]
    seeds: int
    tier: int
    numpy: str
    reasons: tuple[str, ...] = ()
    golden: tuple[tuple[str, ...], ...] = ()
    waivers: tuple[Waiver, ...] = ()
    without_waivers: Graded | None = None
    seal: str = ""

    def graded(self, today: datetime.date) -> tuple[Grade, tuple[Grade, ...]]:
        """Return the grade and those of the levels; those without waivers when one of them has expired."""
        expired = any(not waiver.in_force(today) for waiver in self.waivers)
        graded = self.without_waivers if expired and self.without_waivers is not None else self
        return grade_of(graded.grade), tuple(map(grade_of, graded.levels))


def certify(
    inspection: Inspection, *, waivers: Sequence[Waiver] = (), golden: Sequence[Sequence[str]] = ()
) -> Certificate:
    """Return the certificate of `inspection`; `waivers` are those in force, `golden` fingerprints by level and seed.

    Raises:
        ValueError: the inspection looked at too little to prove anything, or could not look.

    """
    if problem := unfit(inspection):
        raise ValueError(f"{inspection.domain_id}: {problem}")
    bare = replace(inspection, waived=())
    return sealed(
        Certificate(
            grade=inspection.grade.word,
            levels=tuple(grade.word for grade in inspection.levels),
            sha256=Binding(inspection.parts).sha256,
            parts=dict(inspection.parts),
            seeds=inspection.num_seeds,
            tier=inspection.tier,
            reasons=reasons_of(inspection),
            golden=tuple(tuple(text[:GOLDEN_CHARS] for text in level) for level in golden),
            numpy=np.__version__,
            waivers=tuple(waivers),
            without_waivers=Graded(bare.grade.word, tuple(grade.word for grade in bare.levels)) if waivers else None,
        )
    )


def unfit(inspection: Inspection) -> str:
    """Return why `inspection` cannot be certified; an empty string when it can."""
    if inspection.broken:
        return f"it could not be inspected ({inspection.broken}), so there is nothing to certify."
    if not Depth(inspection.num_seeds, inspection.tier).proves:
        return (
            f"{inspection.num_seeds} tasks a level at tier {inspection.tier} are no proof. Certify from "
            f"{PROOF_SEEDS} or more at tier 2."
        )
    return ""


def sealed(certificate: Certificate) -> Certificate:
    """Return `certificate` with its seal."""
    return msgspec.structs.replace(certificate, seal=_seal(certificate))


def certificate_record(certificate: Certificate) -> dict[str, Json]:
    """Return a certificate as plain JSON; what is absent is left out."""
    record: dict[str, Json] = msgspec.to_builtins(certificate)
    return {key: value for key, value in record.items() if value not in (None, "", [], ())}


def read_certificate(record: object) -> Certificate:
    """Return the certificate that is written as `record`, plain JSON from a file that anyone may have edited.

    Raises:
        ValueError: a key or a value is wrong, or the seal does not fit.

    """
    try:
        certificate = msgspec.convert(record, Certificate)
    except msgspec.ValidationError as error:
        raise ValueError(f"it is no certificate: {error}") from error
    if certificate.seal != _seal(certificate):
        raise ValueError("its seal does not fit: it was edited after it was written")
    for word in (certificate.grade, *certificate.levels, *_bare(certificate)):
        grade_of(word)
    if content_hash(dict(certificate.parts)) != certificate.sha256:
        raise ValueError("its sha256 is not that of its parts")
    return certificate


def _bare(certificate: Certificate) -> tuple[str, ...]:
    bare = certificate.without_waivers
    return () if bare is None else (bare.grade, *bare.levels)


def _seal(certificate: Certificate) -> str:
    record = certificate_record(msgspec.structs.replace(certificate, seal=""))
    return content_hash(json.loads(json.dumps(record)))
