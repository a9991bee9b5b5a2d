"""What can be known of a CEL expression by looking at its tokens alone.

The top-level clauses of `a && b && c`, so that an explanation can name the one that failed;
whether a typographic quote was pasted where a plain one belongs; and how to spell for the
engine what it would take for something else.

Whenever the tokens do not tell, the answer is the cautious one: the expression is one clause.
"""

import re
from typing import Final, NamedTuple

TOKEN: Final = re.compile(
    r"""
      (?P<space>\s+|//[^\n]*)
    | (?P<raw>[bB]?[rR][bB]?(?:'{3}.*?'{3}|"{3}.*?"{3}|'[^'\n]*'|"[^"\n]*"))
    | (?P<text>[bB]?(?:'{3}(?:[^\\]|\\.)*?'{3}|"{3}(?:[^\\]|\\.)*?"{3}
              |'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))
    | (?P<quoted>`[^`\n]*`)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>[0-9][0-9A-Za-z.]*)
    | (?P<sign>&&|\|\||[=!<>]=|\.\?|\[\?|.)
    """,
    re.VERBOSE | re.DOTALL,
)
TYPOGRAPHIC_QUOTES: Final = "\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u00ab\u00bb\u00b4"
OPENING: Final = frozenset({"(", "[", "[?", "{"})
CLOSING: Final = frozenset({")", "]", "}"})


class Token(NamedTuple):
    """A token and where it starts."""

    kind: str
    text: str
    offset: int


class Position(NamedTuple):
    """Line and column, both from 1, as CEL's own messages count."""

    line: int
    column: int


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


def with_engine_macros(expression: str) -> str:
    """Rename the macros that the engine knows by another name; nothing moves.

    `exists_one` with two variables is `existsOne` to the engine.
    """
    if TWO_VARIABLES_UPSTREAM not in expression:
        return expression
    found = tokens(expression)
    for index, token in enumerate(found):
        if token.text == TWO_VARIABLES_UPSTREAM and _arguments(found, index + 1) == 3:  # noqa: PLR2004  two and a condition
            end = token.offset + len(token.text)
            name = TWO_VARIABLES_ENGINE.ljust(len(token.text))
            expression = expression[: token.offset] + name + expression[end:]
    return expression


def with_fewer_parentheses(expression: str) -> str:
    """Blank parentheses directly within parentheses, of which the engine takes 32 only."""
    found = tokens(expression)
    partners = _partners(found)
    kept = [*expression]
    for start, end in partners.items():
        if (
            found[start].text == "(" == _text(found, start + 1)
            and partners.get(start + 1) == end - 1
        ):
            for index in (start + 1, end - 1):
                kept[found[index].offset] = " "
    return "".join(kept)


TWO_VARIABLES_UPSTREAM: Final = "exists_one"
TWO_VARIABLES_ENGINE: Final = "existsOne"


def _partners(found: tuple[Token, ...]) -> dict[int, int]:
    """Pair the opening brackets with the closing ones, by index."""
    opened: list[int] = []
    pairs = {}
    for index, token in enumerate(found):
        if token.text in OPENING:
            opened.append(index)
        elif token.text in CLOSING and opened:
            pairs[opened.pop()] = index
    return pairs


def _arguments(found: tuple[Token, ...], start: int) -> int:
    """Count the arguments between a parenthesis and its partner."""
    depth = commas = 0
    for token in found[start:]:
        depth += (token.text in OPENING) - (token.text in CLOSING)
        commas += depth == 1 and token.text == ","
        if depth == 0:
            return commas + 1
    return 0


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
