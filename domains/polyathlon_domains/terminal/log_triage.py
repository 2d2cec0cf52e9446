"""Rotated logs of several services hide one causal chain: name the root, its first failure, and how far it reached."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Json, Task, Tree, Verdict
from polyathlon.canonical import expect_map, parse_json
from polyathlon.sandbox.protocol import Room
from polyathlon.toolcall import write_call, write_fenced
from polyathlon.verify.key import map_part
from polyathlon.workspaces.terminal import open_terminal
from polyathlon_domains.terminal._guesses import triage_shortcuts
from polyathlon_domains.terminal._incident import LEVELS, Incident, draw_incident
from polyathlon_domains.terminal._logs import clock, write_logs
from polyathlon_domains.terminal._triage import ANSWER_FILE, solve

MAX_ANSWER_BYTES = 10_000
OPENINGS = (
    "Customers saw requests fail. The logs of that day are in /workspace/logs, a folder a service.",
    "An incident needs a root cause. /workspace/logs holds the logs, one folder for each service.",
    "Before the review: /workspace/logs has what every service logged, a folder each.",
)
BODY = """The gateway takes every request and hands it down a chain of services; each line about a request holds its \
id. Older parts of a log are rotated (.1, .2.gz, ...). Most requests that the gateway answered with status 5xx failed \
for one and the same reason, in one service: the root. Services above it only report an upstream error. Errors that a \
second try cured, and errors of background work, failed no request.
Write /workspace/answer.json, an object with these keys:
"root_service": the name of the root service
"first_failure": when the root logged its first ERROR about a request that the gateway answered with 5xx, as \
YYYY-MM-DDTHH:MM:SS.mmmZ{clock}
"request_id": the id of that request
"affected": the number of requests that the gateway answered with 5xx because of an error in the root
Leave out a key that you do not know: a wrong value costs more than a missing one, and without the right root service \
nothing else counts. Submit when done."""
CLOCK_NOTE = ", in true UTC: clocks.txt says how far each service's clock is off"
WEIGHTS = {"first_failure": 0.35, "request_id": 0.35, "affected": 0.3}
WRONG_COST = 0.15
SUBMIT = write_call("submit", {})


@dataclass(frozen=True, slots=True)
class TriageTasks:
    """A planted incident, told as logs; see `_incident.LEVELS` for what each level adds."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return {"incident": draw_incident(rng, level).to_json()}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        incident = Incident.from_json(core["incident"])
        weather = next(each for each in LEVELS if each.num_services == len(incident.services))
        body = BODY.replace("{clock}", CLOCK_NOTE if weather.skewed else "")
        prompt = f"{OPENINGS[int(rng.integers(len(OPENINGS)))]} {body}"
        answer: dict[str, Json] = {
            "root_service": incident.root,
            "first_failure": clock(incident.first_ms),
            "request_id": incident.request_id,
            "affected": incident.affected,
        }
        hidden = {"answer": answer, "incident": core["incident"]}
        return Brief(prompt, hidden=hidden, public={"files": write_logs(incident, weather, rng)})


@dataclass(frozen=True, slots=True)
class TriageVerifier:
    """Passed: answer.json is the incident's record. Else, with the right root, weights of right fields less a cost.

    The root's name alone earns nothing: it is one of a few.
    """

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        found, fault = read_answer(evidence.tree)
        if fault:
            return Verdict.failing(fault)
        wanted = map_part(task.hidden, "answer")
        right = [key for key, value in wanted.items() if _same(found.get(key), value)]
        if len(right) == len(wanted):
            return Verdict.passing()
        progress = self.progress(task, evidence)
        return Verdict.failing(f"{len(right)} of {len(wanted)} fields are right", progress=progress)

    def progress(self, task: Task, evidence: Evidence) -> float:
        found, fault = read_answer(evidence.tree)
        wanted = map_part(task.hidden, "answer")
        if fault or not _same(found.get("root_service"), wanted["root_service"]):
            return 0.0
        score = 0.0
        for key, weight in WEIGHTS.items():
            if found.get(key) is not None:
                score += weight if _same(found[key], wanted[key]) else -WRONG_COST
        return score if score > 0 else 0.0


def read_answer(tree: Tree) -> tuple[Mapping[str, Json], str]:
    """Return the fields of answer.json, and what is wrong with it: "" when it is an object with known keys."""
    entry = tree.get(ANSWER_FILE)
    if entry is None or entry.kind != "file" or len(entry.data) > MAX_ANSWER_BYTES:
        return {}, "there is no answer.json, or it is no file of at most 10,000 bytes"
    try:
        value = parse_json(entry.data.decode("utf-8"))
    except ValueError as error:
        return {}, f"answer.json: {error}"
    if not isinstance(value, Mapping) or not set(value) <= {"root_service", *WEIGHTS}:
        return {}, "answer.json is no object, or has other keys"
    return value, ""


def _same(found: Json, wanted: Json) -> bool:
    if isinstance(found, str) and isinstance(wanted, str):
        return found.strip().replace("+00:00", "Z") == wanted
    return type(found) is type(wanted) and found == wanted


def _attempt(name: str, text: str) -> Attempt:
    return Attempt(name, (write_call("write_file", {"path": ANSWER_FILE, "text": text}), SUBMIT))


def alternatives(task: Task) -> Sequence[Attempt]:
    text = json.dumps(task.hidden["answer"])
    return (
        Attempt("written from the shell", (write_fenced(f"cat > {ANSWER_FILE} <<'END'\n{text}\nEND"), SUBMIT)),
        Attempt("written in another directory", (write_fenced(f"cd logs && echo '{text}' > ../{ANSWER_FILE}"), SUBMIT)),
    )


def equivalents(task: Task) -> Sequence[Attempt]:
    answer = expect_map(task.hidden["answer"])
    offset = {**answer, "first_failure": str(answer["first_failure"]).replace("Z", "+00:00")}
    return (
        _attempt("pretty", json.dumps(answer, indent=4) + "\n\n"),
        _attempt("keys in another order", json.dumps(dict(reversed([*answer.items()])))),
        _attempt("UTC as an offset", json.dumps(offset)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    answer = expect_map(task.hidden["answer"])
    incident = Incident.from_json(task.hidden["incident"])
    others = [name for name in incident.services if name != incident.root]
    skew = incident.skew_ms.get(incident.root, 0)
    changes: dict[str, dict[str, Json]] = {
        "another service": {"root_service": others[0]},
        "one request too many": {"affected": incident.affected + 1},
        "the number as text": {"affected": str(incident.affected)},
        "a caller's later time": {"first_failure": clock(incident.first_ms + 163)},
        "another request": {"request_id": f"{int(incident.request_id, 16) ^ 1:010x}"},
        **({"the local clock": {"first_failure": clock(incident.first_ms + skew)}} if skew else {}),
    }
    return tuple(_attempt(name, json.dumps({**answer, **change})) for name, change in changes.items())


def exploits(task: Task) -> Sequence[Attempt]:
    incident = Incident.from_json(task.hidden["incident"])
    answer = expect_map(task.hidden["answer"])
    popular = {"root_service": incident.services[0], "first_failure": clock(incident.start_ms), "affected": 10}
    names = json.dumps([*incident.services])
    text = json.dumps(answer)
    return (
        _attempt("popular values", json.dumps({**popular, "request_id": "0" * 10})),
        _attempt("the root alone", json.dumps({"root_service": incident.root})),
        _attempt("every service", f'{{"root_service": {names}}}'),
        _attempt("two answers under one key", f'{{"root_service": "x", {text[1:]}'),
        _attempt("no number", '{"affected": NaN, "root_service": null}'),
        _attempt("two objects", f"{text}\n{text}"),
        Attempt("a link to itself", (write_fenced(f"ln -s {ANSWER_FILE} {ANSWER_FILE}"), SUBMIT)),
        Attempt("the answer said, not written", (write_call("submit", {"answer": text}),)),
    )


DOMAIN = Domain(
    tasks=TriageTasks(),
    open_workspace=open_terminal,
    verifier=TriageVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    shortcuts=triage_shortcuts,
)
