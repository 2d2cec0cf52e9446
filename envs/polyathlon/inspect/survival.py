"""C03: no text may break the domain, hang it, or pay."""

from __future__ import annotations

from polyathlon.inspect.blind import FINISHERS, call_of
from polyathlon.inspect.finding import CheckResult, Finding
from polyathlon.inspect.hostile import hostile_texts
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.inspect.rewards import tallies
from polyathlon.inspect.wording import fault_of, verdict_text
from polyathlon.verify.text import plain

HOSTILE_CPU_S = 0.5  # CPU time of this process: the machine's load is not the domain's fault
HOSTILE_WALL_S = 60.0
NUM_HOSTILE_SEEDS = 1


def check_hostile(stage: Stage) -> CheckResult:
    """C03: on a task of every second level (of a domain in a sandbox: on one), bare and through the finishing tool."""
    subject, floor = stage.subject, stage.subject.entry.row.floor
    faults: list[Finding] = []
    broke: list[tuple[int, bool]] = []
    slowest_s = 0.0
    keys = subject.task_keys(NUM_HOSTILE_SEEDS)
    keys = keys[:1] if subject.costly else keys[::2]
    for key in keys:
        tools = [tool for tool in stage.tools(key) if tool.name in FINISHERS]
        right = {plain(text) for a in subject.domain.alternatives(stage.task(key)) for text in a.actions}
        for name, text in hostile_texts():
            if plain(text[:1000]) in right:
                continue
            for actions in [(text,), *[(call_of(tool, text),) for tool in tools]]:
                played = stage.play(key, actions)
                slowest_s = max(slowest_s, played.cpu_s)
                problem = _problem(played, floor)
                broke.append((key.level, bool(problem)))
                if problem:
                    message = f"hostile text {name!r} {problem}. Read it with verify.* and canonical.parse_json."
                    faults.append(fault_of(subject, played, message))
    levels = sorted({key.level for key in keys})
    return CheckResult("C03", tallies("C03", broke, levels), tuple(faults), {"slowest_cpu_s": slowest_s})


def _problem(played: Playthrough, floor: float) -> str:
    if not played.verdict.valid:
        return f"breaks the episode: {played.verdict.reason}"
    if played.reward > floor:
        return f"earns {verdict_text(played)}, floor {floor}"
    if played.cpu_s > HOSTILE_CPU_S:
        return f"takes {played.cpu_s:.1f} s of CPU, at most {HOSTILE_CPU_S} s"
    if played.wall_s > HOSTILE_WALL_S:
        return f"hangs for {played.wall_s:.0f} s, at most {HOSTILE_WALL_S:.0f} s"
    return ""
