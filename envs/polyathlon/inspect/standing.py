"""How domains stand: the grade that their certificates give them here and now, and what to say about it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from polyathlon.errors import RegistryError
from polyathlon.inspect.binding import OUTSIDE, Binding, bind
from polyathlon.inspect.certificate import Certificate, read_certificate
from polyathlon.inspect.closure import Sources
from polyathlon.inspect.grade import TRAINABLE, Grade
from polyathlon.inspect.kept import domain_folder
from polyathlon.inspect.waivers import expired_text, waiver_text, waivers_of
from polyathlon.plugins import BUILTIN, Entry

CERTIFICATES = "certificates.json"
RECORD = "here.json"
MAX_BYTES = 10_000_000
REMEDY = "It counts as none; `polyathlon check --certify` writes it anew."


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of one domain. `grade` is None where there is no certificate.

    `claimed` marks a plugin's own certificate, of an inspection that was not run here. `changed` are the parts of the
    sources that are not what the certificate speaks of. `notes` are what a reader should be told.
    """

    domain_id: str
    grade: Grade | None = None
    levels: tuple[Grade, ...] = ()
    claimed: bool = False
    changed: tuple[str, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def stale(self) -> bool:
        return bool(self.changed)

    @property
    def word(self) -> str:
        """The grade as `polyathlon list` shows it: "silver", "claimed: silver", or nothing."""
        if self.grade is None:
            return ""
        return f"claimed: {self.grade.word}" if self.claimed else self.grade.word

    @property
    def num_trainable_levels(self) -> int:
        """How many levels a default mixture takes, from the easiest: those before the first that is below silver.

        None of a domain whose grade is only claimed, or was earned by other sources; that the inspector has changed
        since does not undo what it saw.
        """
        if self.grade is None or self.claimed or set(self.changed) - set(OUTSIDE):
            return 0
        below = (level for level, grade in enumerate(self.levels) if grade < TRAINABLE)
        return next(below, len(self.levels))

    @property
    def why_not(self) -> str:
        """Why a default mixture does not take all of it; an empty string when it does."""
        short = self.domain_id.removeprefix(f"{BUILTIN}/")
        run_it = f"`polyathlon check {short} --tier 2` inspects it here"
        if self.problem:
            return self.problem.rstrip(".")
        if self.grade is None:
            return f"it has no certificate; {run_it}"
        if self.claimed:
            return f"its grade, {self.grade.word}, is only claimed; {run_it}"
        if changed := set(self.changed) - set(OUTSIDE):
            return f"its {' and '.join(sorted(changed))} changed since it was certified; {run_it}"
        if self.num_trainable_levels < len(self.levels):
            levels = [str(level) for level, grade in enumerate(self.levels) if grade < TRAINABLE]
            which = "every level" if len(levels) == len(self.levels) else f"level {', '.join(levels)}"
            return f"{which} of it is below {TRAINABLE.word}; `polyathlon check {short}` says why"
        return ""


class NotBelieved(ValueError):
    """A certificate, or a file of them, that is not as it was written."""


@dataclass(slots=True)
class CertificateFiles:
    """Reads files of certificates, each once."""

    _read: dict[Path, Mapping[str, object] | NotBelieved] = field(default_factory=dict)

    def written(self, entry: Entry, sources: Sources) -> Certificate | None:
        """Return the certificate of `entry`; None when it has none.

        Raises:
            NotBelieved: there is one, and it or its file was edited, or is something else.

        """
        path = certificates_path(entry, sources)
        return None if path is None else self._certificate(path, entry.id)

    def recorded(self, cache: Path, domain_id: str) -> Certificate | None:
        """Return what an inspection that was run here has shown of a domain, as the folder `cache` has it.

        Raises:
            NotBelieved: there is a record, and it is not as it was written.

        """
        return self._certificate(domain_folder(cache, domain_id) / RECORD, domain_id)

    def _certificate(self, path: Path, domain_id: str) -> Certificate | None:
        if path not in self._read:
            self._read[path] = _load(path)
        records = self._read[path]
        if isinstance(records, NotBelieved):
            raise records
        if domain_id not in records:
            return None
        try:
            return read_certificate(records[domain_id])
        except ValueError as error:
            raise NotBelieved(f"{path}: {domain_id}: {error}. {REMEDY}") from error


def _load(path: Path) -> Mapping[str, object] | NotBelieved:
    try:
        if path.stat().st_size > MAX_BYTES:
            return NotBelieved(f"{path}: is larger than {MAX_BYTES:,} bytes. {REMEDY}")
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        return NotBelieved(f"{path}: cannot be read as certificates ({error}). {REMEDY}")
    if not isinstance(data, dict):
        return NotBelieved(f"{path}: is no object with a domain's id a key. {REMEDY}")
    return data


def certificates_path(entry: Entry, sources: Sources) -> Path | None:
    """Return where the certificate of `entry` lies: in its family's folder; a plugin's beside its registry.yaml.

    None when the built-in domain's module is not there.
    """
    if entry.owner != BUILTIN:
        return entry.path.with_name(CERTIFICATES)
    source = sources.find(entry.row.load.partition(":")[0])
    return None if source is None else source.path.with_name(CERTIFICATES)


def standings(
    entries: Iterable[Entry], *, cache: Path | None, today: datetime.date | None = None
) -> dict[str, Standing]:
    """Return {id: standing} of `entries`. Reads sources and certificates, runs nothing.

    An inspection that was run here, as the folder `cache` has it, counts before the certificate, where it saw the
    sources that are here now. Without a folder only certificates count.
    """
    sources, files = Sources(), CertificateFiles()
    day = today or datetime.date.today()
    found = {}
    for entry in entries:
        try:
            found[entry.id] = _standing(entry, sources, files, cache=cache, today=day)
        except (NotBelieved, RegistryError, OSError) as error:
            found[entry.id] = Standing(entry.id, problem=str(error))
    return found


def _standing(
    entry: Entry, sources: Sources, files: CertificateFiles, *, cache: Path | None, today: datetime.date
) -> Standing:
    waivers = waivers_of(entry)
    expired = tuple(expired_text(waiver) for waiver in waivers if not waiver.in_force(today))
    here = None if cache is None else _recorded(files, cache, entry)
    binding: Binding | None = None
    if here is not None:
        binding = bind(entry, waivers, sources)
        if here.sha256 == binding.sha256:
            standing = _stands(entry, here, binding, today)
            return replace(standing, notes=(*expired, *standing.notes))
    written = files.written(entry, sources)
    if written is None:
        return Standing(entry.id, notes=expired)
    standing = _stands(entry, written, binding or bind(entry, waivers, sources), today)
    return replace(standing, claimed=entry.owner != BUILTIN, notes=(*expired, *standing.notes))


def _recorded(files: CertificateFiles, cache: Path, entry: Entry) -> Certificate | None:
    try:
        return files.recorded(cache, entry.id)
    except NotBelieved:  # what is kept may go at any time; the certificate still counts
        return None


def _stands(entry: Entry, certificate: Certificate, binding: Binding, today: datetime.date) -> Standing:
    grade, levels = certificate.graded(today)
    in_force = [waiver for waiver in certificate.waivers if waiver.in_force(today)]
    notes = tuple(f"{entry.id}: {waiver_text(waiver)}" for waiver in in_force)
    return Standing(entry.id, grade, levels, changed=binding.changed_since(certificate.parts), notes=notes)
