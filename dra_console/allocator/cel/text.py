"""What can be known of a CEL expression by looking at its tokens alone.

The engine compiles and evaluates; this module answers what it cannot: which attributes an
expression reads (so that devices which agree on them share one evaluation), which of the
top-level clauses of `a && b && c` it has (so that an explanation can name the one that
failed), and whether a typographic quote was pasted where a plain one belongs.

Whenever the tokens do not tell, the answer is the cautious one: the whole device is read,
the expression is one clause.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

TOKEN: Final = re.compile(
    r"""
      (?P<space>\s+|//[^\n]*)
    | (?P<text>[rRbB]{0,2}(?:'{3}(?:[^\\]|\\.)*?'{3}|"{3}(?:[^\\]|\\.)*?"{3}
              |'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>[0-9][0-9A-Za-z.]*)
    | (?P<sign>&&|\|\||[=!<>]=|\.\?|\[\?|.)
    """,
    re.VERBOSE | re.DOTALL,
)
TYPOGRAPHIC_QUOTES: Final = "\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u00ab\u00bb\u00b4"
OPENING: Final = frozenset({"(", "[", "[?", "{"})
CLOSING: Final = frozenset({")", "]", "}"})
GROUPS: Final = frozenset({"attributes", "capacity"})
DEVICE_FIELDS: Final = GROUPS | {"driver", "allowMultipleAllocations"}


class Token(NamedTuple):
    """A token and where it starts."""

    kind: str
    text: str
    offset: int


class Position(NamedTuple):
    """Line and column, both from 1, as CEL's own messages count."""

    line: int
    column: int


class Read(NamedTuple):
    """An attribute or capacity that an expression names; without `name`, the whole domain."""

    group: str
    domain: str
    name: str | None


@dataclass(frozen=True, slots=True)
class Reads:
    """What of a device an expression depends on, beside driver and allowMultipleAllocations."""

    names: frozenset[Read] = frozenset()
    is_whole_device: bool = False


def tokens(expression: str) -> tuple[Token, ...]:
    """Split into tokens without spaces and comments; never fails."""
    return tuple(
        Token(found.lastgroup, found.group(), found.start())
        for found in TOKEN.finditer(expression)
        if found.lastgroup is not None and found.lastgroup != "space"
    )


def position(expression: str, offset: int) -> Position:
    """Turn an offset into line and column."""
    before = expression[:offset]
    return Position(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def typographic_quote(expression: str) -> tuple[str, Position] | None:
    """Find the first typographic quote that stands outside a string."""
    for token in tokens(expression):
        if token.kind == "sign" and token.text in TYPOGRAPHIC_QUOTES:
            return token.text, position(expression, token.offset)
    return None


def unknown_device_field(expression: str) -> tuple[str, Position] | None:
    """Find the first `device.something` that devices do not have."""
    found = tokens(expression)
    for index, field in _device_selections(found):
        if field.text not in DEVICE_FIELDS:
            return field.text, position(expression, found[index + 1].offset)
    return None


def clauses(expression: str) -> tuple[str, ...]:
    """Split at the `&&` that join the whole expression; one clause if anything binds weaker."""
    found = _without_outer_parentheses(tokens(expression))
    depth = 0
    cuts = []
    for token in found:
        if token.text in OPENING:
            depth += 1
        elif token.text in CLOSING:
            depth -= 1
        elif depth == 0 and token.text in {"||", "?"}:
            return (expression.strip(),)
        elif depth == 0 and token.text == "&&":
            cuts.append(token.offset)
    if not cuts:
        return (expression.strip(),)
    starts = [found[0].offset, *(cut + len("&&") for cut in cuts)]
    ends = [*cuts, found[-1].offset + len(found[-1].text)]
    return tuple(expression[start:end].strip() for start, end in zip(starts, ends, strict=True))


def reads(expression: str) -> Reads:
    """List the attributes and capacities that the expression can look at."""
    found = tokens(expression)
    names = set()
    for index, token in enumerate(found):
        if token.text != "device" or _text(found, index - 1) in {".", ".?"}:
            continue
        if _text(found, index + 1) != ".":
            return Reads(is_whole_device=True)
        if _text(found, index + 2) not in GROUPS:
            continue
        read = _read(found, index + 2)
        if read is None:
            return Reads(is_whole_device=True)
        names.add(read)
    return Reads(frozenset(names))


def texts(expression: str) -> frozenset[str]:
    """List the plain string literals, among which are the domains that it names."""
    literals = (_literal(token) for token in tokens(expression) if token.kind == "text")
    return frozenset(literal for literal in literals if literal is not None)


def with_real_domains(expression: str) -> str:
    """Point membership tests and iterations at the domains that a device really has.

    Kubernetes lets every domain look like an empty map when it is indexed, yet tells the
    truth to `in` and to macros. The environment has two variables for the two.
    """
    found = tokens(expression)
    marks = [
        group.offset
        for index, group in _device_selections(found)
        if group.text in GROUPS
        and (
            (_text(found, index - 1) == "in" and _text(found, index + 3) not in {"[", "[?", "."})
            or (_text(found, index + 3) == "." and _text(found, index + 5) == "(")
        )
    ]
    for offset in reversed(marks):
        expression = f"{expression[:offset]}{REAL_DOMAINS_PREFIX}{expression[offset:]}"
    return expression


REAL_DOMAINS_PREFIX: Final = "published_"


def _device_selections(found: tuple[Token, ...]) -> Iterator[tuple[int, Token]]:
    """Walk `device.field`: the index of `device` and the field."""
    for index, token in enumerate(found[:-2]):
        is_variable = token.text == "device" and _text(found, index - 1) not in {".", ".?"}
        if is_variable and found[index + 1].text == "." and found[index + 2].kind == "name":
            yield index, found[index + 2]


def _read(found: tuple[Token, ...], index: int) -> Read | None:
    domain, after = _key(found, index + 1)
    if domain is None:
        return None
    name, _ = _key(found, after)
    return Read(found[index].text, domain, name)


def _key(found: tuple[Token, ...], index: int) -> tuple[str | None, int]:
    """Read `.name`, `.?name`, `["name"]` or `[?"name"]`; also where the next token is."""
    sign = _text(found, index)
    if sign in {".", ".?"} and _text(found, index + 2) != "(":
        return _text(found, index + 1), index + 2
    if sign in {"[", "[?"} and _text(found, index + 2) == "]":
        token = found[index + 1]
        return (_literal(token) if token.kind == "text" else None), index + 3
    return None, index


def _literal(token: Token) -> str | None:
    """Return the content of a string that needs no unescaping."""
    quote = token.text[0]
    if quote not in "'\"" or "\\" in token.text or token.text.startswith(quote * 3):
        return None
    return token.text[1:-1]


def _text(found: tuple[Token, ...], index: int) -> str:
    return found[index].text if 0 <= index < len(found) else ""


def _without_outer_parentheses(found: tuple[Token, ...]) -> tuple[Token, ...]:
    while found and found[0].text == "(" and _closing(found) == len(found) - 1:
        found = found[1:-1]
    return found


def _closing(found: tuple[Token, ...]) -> int:
    """Find the parenthesis that closes the first one."""
    depth = 0
    for index, token in enumerate(found):
        depth += (token.text in OPENING) - (token.text in CLOSING)
        if depth == 0:
            return index
    return -1
