"""Ways to act on what a prompt names first, leaving the rest of it unread."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polyathlon import Attempt, Task
from polyathlon.toolcall import write_call, write_fenced

_PLACE = re.compile(r"\b(?:under|in) ([\w.]+)")
_GENERAL = re.compile(r"^\d+\. every (directory|file): (\S+)$", re.MULTILINE)
_SUBMIT = write_call("submit", {})
_MOST_ERRORS = """for d in logs/*/; do s=$(basename $d); [ $s = gateway ] && continue
  echo "$(zcat -f $d* | grep -ciE 'error| E ') $s"; done | sort -rn | head -1 | cut -d' ' -f2 > /tmp/root
n=$(zcat -f logs/gateway/* | grep -c ' status=5')
"""


def one_liner_shortcuts(task: Task) -> Sequence[Attempt]:
    """All files of the place that is named, listed or counted."""
    place = (_PLACE.search(task.prompt) or ["", "."])[1].rstrip(".") or "."
    ways = {
        "the files of the place": f"find {place} -type f",
        "the files of the place, counted": f"find {place} -type f -printf x | wc -c",
        "the files of the place, ended by NUL": f"find {place} -type f -print0",
        "the lines of the place": f"cat {place}/* | wc -l",
    }
    return tuple(Attempt(name, (command,)) for name, command in ways.items())


def permission_shortcuts(task: Task) -> Sequence[Attempt]:
    """The two most general rules alone, and every exception forgotten."""
    modes = {kind: mode for kind, mode in _GENERAL.findall(task.prompt)}
    folders, files = _octal(modes.get("directory", "0755")), _octal(modes.get("file", "0644"))
    script = (
        f"chmod -R u+rwX .\nfind . -mindepth 1 -type d -exec chmod {folders:05o} {{}} +\n"
        f"find . -type f -exec chmod {files:04o} {{}} +"
    )
    return (Attempt("the general rules alone", (write_fenced(script), _SUBMIT)),)


def triage_shortcuts(_: Task) -> Sequence[Attempt]:
    """The service with the most errors as the root; with it the gateway's failures, all of them, as its own."""
    alone = _MOST_ERRORS + """printf '{"root_service": "%s"}' $(cat /tmp/root) > answer.json"""
    counted = _MOST_ERRORS + """printf '{"root_service": "%s", "affected": %d}' $(cat /tmp/root) $n > answer.json"""
    return (
        Attempt("the loudest service", (write_fenced(alone), _SUBMIT)),
        Attempt("the loudest service and all failures", (write_fenced(counted), _SUBMIT)),
    )


def makefile_shortcuts(_: Task) -> Sequence[Attempt]:
    """What can be mended in a Makefile unread: spaces for tabs, folders that are missing, everything made again."""
    tabs = "sed -i 's/^ \\{4,8\\}/\\t/' Makefile"
    folders = f"{tabs}; sed -i 's/^\\t/\\t@mkdir -p gen build dist; /' Makefile"
    forced = "s/^\\.PHONY:.*/& FORCE/; s/^\\(build\\|dist\\|gen\\)\\([^:]*\\): /&FORCE /"
    always = f"{folders}; sed -i '{forced}' Makefile; echo 'FORCE:' >> Makefile"
    ways = {"tabs for spaces": tabs, "folders made everywhere": folders, "everything made again": always}
    return tuple(Attempt(name, (write_fenced(script), _SUBMIT)) for name, script in ways.items())


def _octal(text: str) -> int:
    """Return the mode that "0750" or "rwxr-s---" says."""
    if text.isdigit():
        return int(text, 8)
    letters = text[-9:]
    bits = sum((letter in "rwxst") << (8 - place) for place, letter in enumerate(letters))
    special = sum(bit for place, bit in ((2, 0o4000), (5, 0o2000), (8, 0o1000)) if letters[place] in "sStT")
    return bits | special
