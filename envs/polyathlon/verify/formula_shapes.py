"""Formulas of a declared shape: expressions, equations, intervals and inequalities, sets, tuples and sequences."""

from __future__ import annotations

from polyathlon.verify.formula import Term, TooLarge, check_size, exact_value
from polyathlon.verify.formula_parse import FormulaForm, NoFormula, Reader
from polyathlon.verify.formula_text import tokens

OO = Term("constant", name="oo")
MINUS_OO = Term("neg", (OO,))
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def read_formula(text: str, form: FormulaForm) -> Term | None:
    """Return the tree of the one formula that `text` is, else None. Never raises; nothing is evaluated.

    At most 1,000 characters, 300 tokens, a nesting of 20, and numbers of 40,000 bits in any step.
    """
    found = tokens(
        text,
        letters=None if form.letters is None else frozenset(form.letters),
        constants=frozenset({*form.constants, "pi"}),
    )
    if found is None:
        return None
    try:
        term = _shaped(Reader(found, form))
        check_size(term)
    except (NoFormula, TooLarge):
        return None
    return term


def _shaped(reader: Reader) -> Term:
    read = {
        "expression": _expression,
        "equation": _equation,
        "interval": _union,
        "set": _set,
        "tuple": _tuple,
        "sequence": _sequence,
    }[reader.form.shape]
    found = read(reader)
    reader.end()
    return found


def _expression(reader: Reader) -> Term:
    found = reader.expression()
    form = reader.form
    if form.subject and reader.sees("=") and found == Term("symbol", name=form.subject):
        reader.take("=")
        found = reader.expression()
    return found


def _equation(reader: Reader) -> Term:
    left = reader.expression()
    reader.take("=")
    return Term("equation", (left, reader.expression()))


def _listed(reader: Reader, separators: tuple[str, ...]) -> tuple[Term, ...]:
    parts = [_item(reader)]
    while reader.sees(*separators):
        reader.take(*separators)
        parts.append(_item(reader))
    return tuple(parts)


def _item(reader: Reader) -> Term:
    if reader.sees("..."):
        reader.take("...")
        return Term("dots")
    return reader.expression()


def _set(reader: Reader) -> Term:
    if reader.sees("emptyset"):
        reader.take("emptyset")
        return Term("set")
    close = {"\x01": "\x02", "{": "}"}[reader.take("\x01", "{")] if reader.sees("\x01", "{") else ""
    if close and reader.sees(close):
        reader.take(close)
        return Term("set")
    found = _listed(reader, (",", ";", "and"))
    if close:
        reader.take(close)
    return Term("set", found)


def _tuple(reader: Reader) -> Term:
    reader.take("(")
    found = _listed(reader, (",", ";"))
    reader.take(")")
    if len(found) < 2:
        raise NoFormula("a tuple has two parts or more")
    return Term("tuple", found)


def _sequence(reader: Reader) -> Term:
    return Term("sequence", _listed(reader, (",", ";")))


def _union(reader: Reader) -> Term:
    """Return the union of intervals that brackets or inequalities write, its name the symbol that they are about."""
    if reader.sees("emptyset"):
        reader.take("emptyset")
        return Term("union")
    about = _membership(reader)
    pieces: list[Term] = []
    while True:
        if reader.sees("(", "["):
            pieces.append(_interval(reader))
        else:
            subject, found = _inequality(reader)
            if about and subject != about:
                raise NoFormula("inequalities of two symbols")
            about, pieces = subject, [*pieces, *found]
        if not reader.sees("U", "or"):
            return Term("union", tuple(pieces), name=about)
        reader.take("U", "or")


def _membership(reader: Reader) -> str:
    """Read "x in", where it stands there, and return the symbol."""
    name = reader.next
    following = reader.rest[min(reader.at + 1, len(reader.rest) - 1)]
    if name.kind != "name" or following.kind != "sign" or following.text != "in":
        return ""
    reader.at += 2
    return _about(name.text, reader.form)


def _interval(reader: Reader) -> Term:
    opening = reader.take("(", "[")
    low = reader.expression()
    reader.take(",", ";")
    high = reader.expression()
    closing = reader.take(")", "]")
    for end, bracket in ((low, opening), (high, closing)):
        if is_infinite(end) and bracket in ("[", "]"):
            raise NoFormula("infinity belongs to no interval")
    return Term("interval", (low, high), name=opening + closing)


def _inequality(reader: Reader) -> tuple[str, list[Term]]:
    """Return the symbol and the pieces of a < x, x != a, a <= x < b, x = a, or two half-lines joined by "and"."""
    sides = [reader.expression()]
    signs = []
    while reader.sees("<", "<=", ">", ">=", "!=", "="):
        signs.append(reader.take("<", "<=", ">", ">=", "!=", "="))
        sides.append(reader.expression())
    if len(sides) == 2 and sides[0].op != "symbol" and signs[0] not in ("=", "!="):
        sides, signs = sides[::-1], [_TURNED[signs[0]]]
    if len(sides) == 2 and sides[0].op == "symbol":
        subject = _about(sides[0].name, reader.form)
        if not reader.sees("and"):
            return subject, _half_lines(signs[0], sides[1])
        reader.take("and")
        other, found = _inequality(reader)
        if other != subject or len(found) != 1:
            raise NoFormula("more than two inequalities")
        return subject, [_both(_half_lines(signs[0], sides[1]), found)]
    if len(sides) != 3 or sides[1].op != "symbol" or len({sign[0] for sign in signs}) != 1 or signs[0][0] in ("=", "!"):
        raise NoFormula("no inequality of one symbol")
    if signs[0][0] == ">":
        sides, signs = sides[::-1], [_TURNED[sign] for sign in signs[::-1]]
    brackets = ("[" if signs[0] == "<=" else "(") + ("]" if signs[1] == "<=" else ")")
    return _about(sides[1].name, reader.form), [Term("interval", (sides[0], sides[2]), name=brackets)]


def _half_lines(sign: str, end: Term) -> list[Term]:
    below = Term("interval", (MINUS_OO, end), name="(]" if sign == "<=" else "()")
    over = Term("interval", (end, OO), name="[)" if sign == ">=" else "()")
    if is_infinite(end):
        raise NoFormula("an inequality with infinity")
    if sign == "=":
        return [Term("interval", (end, end), name="[]")]
    return [below, over] if sign == "!=" else [below] if sign[0] == "<" else [over]


def _both(first: list[Term], second: list[Term]) -> Term:
    """Return where x > a and x < b meet, as the interval from a to b."""
    if len(first) != 1 or len(second) != 1:
        raise NoFormula("only two half-lines can be joined by and")
    over, below = (first[0], second[0]) if first[0].parts[1] == OO else (second[0], first[0])
    if over.parts[1] != OO or below.parts[0] != MINUS_OO:
        raise NoFormula("two half-lines of one side")
    low, high = exact_value(over.parts[0]), exact_value(below.parts[1])
    if low is not None and high is not None and low >= high:
        raise NoFormula("the half-lines do not meet")
    return Term("interval", (over.parts[0], below.parts[1]), name=over.name[0] + below.name[1])


def _about(name: str, form: FormulaForm) -> str:
    if form.subject and name != form.subject:
        raise NoFormula(f"about {name}, not {form.subject}")
    return name


def is_infinite(end: Term) -> bool:
    """Return whether `end` is an infinity, and nothing that is made of one."""
    return end in (OO, MINUS_OO)
