"""Regular expressions, with the RE2 that the engine contains.

Python's `re` would do for most, but backtracks: a selector could stop a worker for ever.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Final

from cel_expr_python import cel

from dra_console.allocator.cel.environment import LOCK
from dra_console.allocator.cel.operators import Function
from dra_console.allocator.cel.strings import text, whole
from dra_console.allocator.cel.values import EvaluationError, Value

CONFIG: Final = "name: patterns\nextensions:\n- name: optional\n- name: regex\n"
ANSWERS_KEPT: Final = 4_096
CHARACTERS_LIMIT: Final = 128
"""Of texts that are searched place by place; a device's texts have 64 characters."""
LOOKS_AROUND: Final = re.compile(r"(?<!\[)\^|\\[AbB]")
"""What a pattern can say of the place where it matches."""
GROUP: Final = re.compile(
    r"(?P<kept>\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]|\(\?(?!P?<)|[^(])"
    r"|(?P<capturing>\((?:\?P?<[A-Za-z_]\w*>)?)",
    re.DOTALL,
)


@cache
def _program(expression: str) -> cel.Expression:
    environment = cel.NewEnv(
        config=cel.NewEnvConfigFromYaml(CONFIG),
        variables={"subject": cel.Type.STRING, "pattern": cel.Type.STRING},
    )
    return environment.compile(expression)


MATCHES: Final = "subject.matches(pattern)"
EVERY: Final = "regex.extractAll(subject, pattern)"
FIRST: Final = "regex.extract(subject, pattern).orValue('')"


def without_groups(pattern: str) -> str:
    """Make capturing groups plain ones: the engine would return the group, not the match."""
    return GROUP.sub(lambda found: found["kept"] or "(?:", pattern)


@lru_cache(maxsize=ANSWERS_KEPT)
def _asked(question: str, subject: str, pattern: str) -> object:
    try:
        with LOCK:
            answer = _program(question).eval(data={"subject": subject, "pattern": pattern})
            kind, value = answer.type().name(), answer.plain_value()
    except RuntimeError as error:
        raise EvaluationError(str(error)) from error
    if kind == "ERROR":
        raise EvaluationError(str(value).partition(" [")[0].removeprefix("INVALID_ARGUMENT: "))
    return value


def fault(pattern: str) -> str | None:
    """Tell what is wrong with a pattern."""
    try:
        _asked(MATCHES, "", pattern)
    except EvaluationError as error:
        return str(error)
    return None


def _matches(values: Sequence[Value]) -> bool:
    return bool(_asked(MATCHES, text(values[0]), text(values[1])))


def _find(values: Sequence[Value]) -> str:
    return str(_asked(FIRST, text(values[0]), without_groups(text(values[1]))))


def _find_all(values: Sequence[Value]) -> list[Value]:
    limit = whole(values[2]) if len(values) > 2 else -1  # noqa: PLR2004  a limit
    subject, pattern = text(values[0]), without_groups(text(values[1]))
    if LOOKS_AROUND.search(pattern) or _asked(MATCHES, "", pattern):
        every = _all(subject, pattern)
    else:
        found = _asked(EVERY, subject, pattern)
        every = map(str, found) if isinstance(found, list) else iter(())
    return [*(every if limit < 0 else islice(every, limit))]


def _all(subject: str, pattern: str) -> Iterator[str]:
    """Walk the matches as Go does: none is empty right behind another one.

    The engine itself goes on behind a match as if the text began there, and gets no further at
    empty ones.
    """
    if len(subject) > CHARACTERS_LIMIT:
        raise EvaluationError(f"findAll looks at {CHARACTERS_LIMIT} characters with this pattern")
    at, last_end = 0, -1
    while at <= len(subject):
        found = _from(subject, pattern, at)
        if found is None:
            return
        start, match = found
        end = start + len(match)
        if end == at:
            at += 1
        else:
            at = end
        if match or start != last_end:
            yield match
        last_end = end


def _from(subject: str, pattern: str, at: int) -> tuple[int, str] | None:
    """Find the first match from a place on, and where it starts.

    What is before the match is asked for, so that the pattern sees where the text begins.
    """
    if not _asked(MATCHES, subject, rf"\A(?s:.{{{at},}}?)(?:{pattern})"):
        return None
    before = str(_asked(FIRST, subject, rf"\A((?s:.{{{at},}}?))(?:{pattern})"))
    match = str(_asked(FIRST, subject, rf"\A(?s:.{{{len(before)}}})((?:{pattern}))"))
    return len(before), match


FUNCTIONS: Final[dict[str, Function]] = {
    "matches": _matches,
    "find": _find,
    "findAll": _find_all,
}
