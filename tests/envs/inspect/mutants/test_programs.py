"""Python, shell, Makefiles and SQL made wrong, every expected text worked out by hand."""

import pytest

from polyathlon.inspect.mutants.makefile import is_makefile, makefile_mutants
from polyathlon.inspect.mutants.picking import Picker
from polyathlon.inspect.mutants.python_code import python_mutants
from polyathlon.inspect.mutants.shell import shell_mutants, tokens_of
from polyathlon.inspect.mutants.sql import sql_mutants

PICK = Picker("test")

PYTHON = [
    ("return a < b", "relation: boundary", "return a <= b"),
    ("return a < b", "relation: turned round", "return a > b"),
    ("return a == b", "relation: boundary", "return a != b"),
    ("x and y", "and for or", "x or y"),
    ("if x:\n    y = 1", "condition negated", "if not x:\n    y = 1"),
    ("a if c else b", "arm always taken", "a"),
    ("[k for k in v if k]", "filter dropped", "[k for k in v]"),
    ("a + b", "arithmetic swapped", "a - b"),
    ("a // b", "arithmetic swapped", "a % b"),
    ("a - b", "operands swapped", "b - a"),
    ("a - b", "operand dropped", "a"),
    ("-a", "sign or not dropped", "a"),
    ("v[:3]", "limit removed", "v[:]"),
    ("min(x, k)", "limit removed", "x"),
    ("n = 7", "constant +1", "n = 8"),
    ("n = 7", "constant -1", "n = 6"),
    ("n = True", "flag flipped", "n = False"),
    ("n = 'ab'", "text cut", "n = 'a'"),
    ("max(v)", "other function", "min(v)"),
    ("sorted(v, reverse=True)", "argument reverse dropped", "sorted(v)"),
    ("range(n)", "range one shorter", "range(n - 1)"),
    ("range(2, n)", "range one longer", "range(2, n + 1)"),
    ("range(n)", "range from one later", "range(1, n)"),
    ("divide(a, b)", "arguments swapped", "divide(b, a)"),
    ("a, b = (b, a)", "assigned one after the other", "a, b = (a, b)"),
    ("for k in v:\n    continue", "break for continue", "for k in v:\n    break"),
    ("raise ValueError('low')", "exception swallowed", "pass"),
    ("raise ValueError('low')", "another exception", "raise KeyError()"),
    ("if x:\n    y = 1\nelse:\n    y = 2", "else dropped", "if x:\n    y = 1"),
    ("def f(a):\n    return a", "default returned", "def f(a):\n    return 0"),
    ("def f(a):\n    return a", "nothing returned", "def f(a):\n    return None"),
    ("def f(a):\n    return a", "other type returned", "def f(a):\n    return str(a)"),
    ("def f(a, b):\n    return a", "parameter ignored", "def f(a, b):\n    b = 0\n    return a"),
    ("def f(a):\n    b = a\n    return b", "argument returned", "def f(a):\n    return a"),
    (
        "def f(a):\n    raise ValueError(a)",
        "any exception swallowed",
        "def f(a):\n    try:\n        raise ValueError(a)\n    except Exception:\n        return 0",
    ),
]


@pytest.mark.parametrize(("source", "operator", "mutant"), PYTHON)
def test_an_edit_of_python(source: str, operator: str, mutant: str) -> None:
    assert dict(python_mutants(source, PICK))[operator] == mutant


def test_a_dropped_statement_leaves_a_body() -> None:
    found = dict(python_mutants("for k in v:\n    total += k", PICK))
    assert found["statement dropped"] in ("for k in v:\n    pass", "")


def test_indented_statements_are_read_and_what_does_not_parse_has_no_mutants() -> None:
    assert dict(python_mutants("    n = 7\n    m = n", PICK))["constant +1"] == "n = 8\nm = n"
    assert list(python_mutants("def (:", PICK)) == []


def test_every_mutant_of_a_function_parses_and_differs() -> None:
    source = (
        "def f(v, n):\n    if not v:\n        raise ValueError('empty')\n    return [x * 2 for x in v[:n] if x > 3]"
    )
    found = list(python_mutants(source, PICK))
    assert len(found) == len(dict(found)) >= 15
    assert all(text != source for _, text in found)
    for _, text in found:
        compile(text, "<mutant>", "exec")


SHELL = [
    ("find src -type f|wc -l", "stage after | dropped", "find src -type f"),
    ("make a && make b", "stage after && dropped", "make a "),
    ("make a && make b", "|| for &&", "make a || make b"),
    ("ls -d x", "flag dropped", "ls x"),
    ("head -n 5 f", "flag and value dropped", "head f"),
    ("find . -type f", "flag swapped", "find . -type d"),
    ("find . ! -name x", "negation dropped", "find . -name x"),
    ("sort a > b", "redirection dropped", "sort a "),
    ("sort a > b", "appended", "sort a >> b"),
    ("chmod 0644 notes.txt", "other mode", None),
    ("cat logs/app/today", "other path", "cat logs/app"),
    ("find . -size +10c", "sign turned", "find . -size -10c"),
    ("find . -size +10c", "number last digit +1", None),
    ("echo 17", "number x10", "echo 170"),
    ("true 2024-03-05", "number last digit +1", "true 2024-03-06"),
    ("a\nb", "line dropped", None),
    ("a\nb", "lines swapped", "b\na"),
    ("anything", "constant output", "echo 1"),
]


@pytest.mark.parametrize(("command", "operator", "mutant"), [row for row in SHELL if row[2] is not None])
def test_an_edit_of_a_command(command: str, operator: str, mutant: str) -> None:
    assert dict(shell_mutants(command, PICK))[operator] == mutant


def test_other_modes_change_one_bit_or_the_special_ones() -> None:
    mode = dict(shell_mutants("chmod 2755 d", PICK))["other mode"]
    assert mode in ("chmod 2754 d", "chmod 2775 d", "chmod 0755 d")


def test_quotes_and_substitutions_stay_whole() -> None:
    words = [token.text for token in tokens_of('for f in $(ls -rv "$d"*); do echo \'a | b\' "${f%/*}" {} \\;; done')]
    assert words == [
        "for",
        "f",
        "in",
        '$(ls -rv "$d"*)',
        ";",
        "do",
        "echo",
        "'a | b'",
        '"${f%/*}"',
        "{}",
        "\\;",
        ";",
        "done",
    ]


MAKEFILE = ".PHONY: all clean\n\nall: a.txt b.txt\n\na.txt: a.src lib.src | build\n\tsort $< | uniq > $@\n"
RULE = "a.txt: a.src lib.src | build"


@pytest.mark.parametrize(
    ("operator", "old", "new"),
    [
        ("recipe line dropped", "\tsort $< | uniq > $@\n", ""),
        ("recipe without a tab", "\tsort", "    sort"),
        ("recipe does nothing", "sort $< | uniq > $@", "true"),
        ("appended, not written", "> $@", ">> $@"),
        ("written elsewhere", "> $@", "> $@.new"),
        ("stage dropped", "sort $< |", "cat $< |"),
        ("last stage dropped", "| uniq ", ""),
        ("$^ for $<", "$<", "$^"),
        ("$< for $@", "$@", "$<"),
        ("phony target dropped", ".PHONY: all clean\n", ".PHONY: clean\n\n"),
        ("directory is a full prerequisite", RULE, "a.txt: a.src lib.src build"),
    ],
)
def test_an_edit_of_a_makefile(operator: str, old: str, new: str) -> None:
    mutants = {}
    for k in range(40):  # an operator may strike several lines; one draw hits this one
        mutants.update({text: name for name, text in makefile_mutants(MAKEFILE, Picker(k)) if name == operator})
    assert mutants.get(MAKEFILE.replace(old, new)) == operator, mutants


def test_a_makefile_is_told_by_a_rule_with_a_recipe() -> None:
    assert is_makefile(MAKEFILE)
    assert not is_makefile("key: value\n  - item\n")


SQL = [
    ("SELECT a FROM t WHERE b > 3 ORDER BY a", "WHERE dropped", "SELECT a FROM t ORDER BY a"),
    ("SELECT a FROM t WHERE b > 3", "relation: boundary", "SELECT a FROM t WHERE b >= 3"),
    ("SELECT a FROM t WHERE b > 3", "relation: turned round", "SELECT a FROM t WHERE b < 3"),
    ("SELECT a FROM t WHERE b > 3", "number +1", "SELECT a FROM t WHERE b > 4"),
    ("SELECT a FROM t WHERE b = 'xy'", "other text", "SELECT a FROM t WHERE b = 'x'"),
    ("SELECT a FROM t JOIN u ON t.k = u.k", "LEFT JOIN for JOIN", "SELECT a FROM t LEFT JOIN u ON t.k = u.k"),
    ("SELECT a FROM t LEFT JOIN u ON t.k = u.k", "JOIN for LEFT JOIN", "SELECT a FROM t JOIN u ON t.k = u.k"),
    ("SELECT DISTINCT a FROM t", "DISTINCT dropped", "SELECT  a FROM t"),
    ("SELECT a FROM t", "DISTINCT added", "SELECT DISTINCT a FROM t"),
    ("SELECT a, b FROM t GROUP BY a, b", "GROUP key dropped", "SELECT a, b FROM t GROUP BY a"),
    ("SELECT a FROM t GROUP BY a", "GROUP BY dropped", "SELECT a FROM t "),
    (
        "SELECT COUNT(*) FROM t v WHERE v.b > 3",
        "COUNT(column) for COUNT(*)",
        "SELECT COUNT(v.b) FROM t v WHERE v.b > 3",
    ),
    ("SELECT COUNT(v.b) FROM t v", "COUNT(*) for COUNT(column)", "SELECT COUNT(*) FROM t v"),
    ("SELECT a FROM t ORDER BY a", "ORDER direction", "SELECT a FROM t ORDER BY a DESC"),
    ("SELECT a FROM t ORDER BY a DESC", "ORDER direction", "SELECT a FROM t ORDER BY a ASC"),
    ("SELECT a FROM t ORDER BY a", "ORDER BY dropped", "SELECT a FROM t "),
    ("SELECT a FROM t LIMIT 5", "LIMIT +1", "SELECT a FROM t LIMIT 6"),
    ("SELECT a FROM t LIMIT 5", "LIMIT -1", "SELECT a FROM t LIMIT 4"),
    ("SELECT AVG(a) FROM t", "SUM for AVG", "SELECT SUM(a) FROM t"),
    ("SELECT AVG(a) FROM t", "COUNT for AVG", "SELECT COUNT(a) FROM t"),
    ("SELECT COALESCE(a, 0) FROM t", "NULL handling dropped", "SELECT COALESCE(a) FROM t"),
    ("SELECT a FROM t WHERE a IS NOT 'x'", "NULL handling: <> for IS NOT", "SELECT a FROM t WHERE a <> 'x'"),
    ("SELECT a FROM t WHERE a AND b", "OR for AND", "SELECT a FROM t WHERE a OR b"),
    ("SELECT a FROM t WHERE a AND b", "last part of a condition dropped", "SELECT a FROM t WHERE a "),
    ("SELECT a FROM t WHERE NOT EXISTS (SELECT 1)", "NOT dropped", "SELECT a FROM t WHERE  EXISTS (SELECT 1)"),
    ("SELECT a FROM t UNION ALL SELECT b FROM u", "UNION for UNION ALL", "SELECT a FROM t UNION SELECT b FROM u"),
    (
        "SELECT RANK() OVER (PARTITION BY a ORDER BY b) FROM t",
        "PARTITION dropped",
        "SELECT RANK() OVER (ORDER BY b) FROM t",
    ),
    (
        "SELECT RANK() OVER (PARTITION BY a ORDER BY b) FROM t",
        "window ORDER BY dropped",
        "SELECT RANK() OVER (PARTITION BY a ) FROM t",
    ),
    ("SELECT a FROM t", "constant query", "SELECT 4"),
]


@pytest.mark.parametrize(("query", "operator", "mutant"), SQL)
def test_an_edit_of_a_query(query: str, operator: str, mutant: str) -> None:
    assert dict(sql_mutants(query, PICK))[operator] == mutant


def test_a_condition_ends_with_its_brackets() -> None:
    query = "SELECT a FROM (SELECT b FROM t WHERE c > 1) x"
    assert dict(sql_mutants(query, PICK))["WHERE dropped"] == "SELECT a FROM (SELECT b FROM t ) x"


def test_words_in_texts_and_comments_are_no_keywords() -> None:
    assert "WHERE dropped" not in dict(sql_mutants("SELECT 'WHERE' -- WHERE\nFROM t", PICK))
