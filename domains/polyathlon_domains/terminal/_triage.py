"""How an engineer triages the logs with grep: what is asked of the shell, and what is read off its output."""

from __future__ import annotations

import calendar
import json
import re
import time

from polyathlon import Script, Task
from polyathlon.toolcall import write_call, write_fenced
from polyathlon_domains.terminal._logs import clock

ANSWER_FILE = "answer.json"

LOOK = "ls -l --full-time logs/*; cat clocks.txt 2>/dev/null"
FIND_ROOT = """zcat -f logs/gateway/* | grep ' status=5' | grep -oE 'rid=[0-9a-f]+' | cut -d= -f2 \\
  | sort -u > /tmp/failed
wc -l < /tmp/failed
for d in logs/*/; do s=$(basename "$d"); [ "$s" = gateway ] && continue
  for f in $(ls -rv "$d"*); do zcat -f "$f"; done | grep -F -f /tmp/failed | grep -E 'ERROR|level=error|^[0-9.]+ E ' \\
    | grep -v ' upstream \\|"upstream ' > "/tmp/own.$s"
  echo "$s own_errors=$(wc -l < "/tmp/own.$s") requests=$(grep -oFf /tmp/failed "/tmp/own.$s" | sort -u | wc -l)"
done"""


def solve(task: Task) -> Script:
    """Join the gateway's 5xx with each service's own errors; the root has the most; its first line says the rest."""
    looked = yield write_fenced(LOOK)
    counted = yield write_fenced(FIND_ROOT)
    rows = re.findall(r"^(\w+) own_errors=\d+ requests=(\d+)$", counted.text, re.MULTILINE)
    root, affected = max(rows, key=lambda row: int(row[1]))
    shown = yield write_fenced(f"head -1 /tmp/own.{root}")
    first = shown.text.splitlines()[1]
    skew = re.search(rf"^{root} host-\d+ ([+-]\d+)$", looked.text, re.MULTILINE)
    answer = {
        "root_service": root,
        "first_failure": clock(_read_time_ms(first) - (int(skew[1]) if skew else 0)),
        "request_id": re.findall(r"\b[0-9a-f]{10}\b", re.sub(r"^[0-9.]+ ", "", first))[0],
        "affected": int(affected),
    }
    yield write_call("write_file", {"path": ANSWER_FILE, "text": json.dumps(answer, indent=1) + "\n"})
    yield write_call("submit", {})


def _read_time_ms(line: str) -> int:
    if match := re.match(r"(\d{9,})\.(\d{3}) ", line):
        return int(match[1]) * 1000 + int(match[2])
    match = re.search(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[.,](\d{3})", line)
    if match is None:
        raise ValueError(f"no time in {line[:80]!r}")
    return calendar.timegm(time.strptime(f"{match[1]} {match[2]}", "%Y-%m-%d %H:%M:%S")) * 1000 + int(match[3])
