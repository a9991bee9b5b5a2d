"""Regular expressions, with the RE2 that the engine contains.

Python's `re` would do for most, but backtracks: a selector could stop a worker for ever.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from typing import Final

from cel_expr_python import cel

from dra_console.allocator.cel.operators import Function
from dra_console.allocator.cel.strings import text, whole
from dra_console.allocator.cel.values import EvaluationError, Value

CONFIG: Final = "name: patterns\nextensions:\n- name: optional\n- name: regex\n"
ANSWERS_KEPT: Final = 4_096
GROUP: Final = re.compile(
    r"(?P<kept>\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]|\(\?(?!P?<)|[^(])"
    r"|(?P<capturing>\((?:\?P?<[A-Za-z_]\w*>)?)",
    re.DOTALL,
)
LOCK: Final = Lock()
"""The engine is not safe for use by several threads."""


def _program(expression: str) -> cel.Expression:
    environment = cel.NewEnv(
        config=cel.NewEnvConfigFromYaml(CONFIG),
        variables={"subject": cel.Type.STRING, "pattern": cel.Type.STRING},
    )
    return environment.compile(expression)


MATCHES: Final = _program("subject.matches(pattern)")
FIRST: Final = _program("regex.extract(subject, pattern).orValue('')")
ALL: Final = _program("regex.extractAll(subject, pattern)")


def without_groups(pattern: str) -> str:
    """Make capturing groups plain ones: the engine would return the group, not the match."""
    return GROUP.sub(lambda found: found["kept"] or "(?:", pattern)


@lru_cache(maxsize=ANSWERS_KEPT)
def _asked(program: cel.Expression, subject: str, pattern: str) -> object:
    try:
        with LOCK:
            answer = program.eval(data={"subject": subject, "pattern": pattern})
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
    found = _asked(ALL, text(values[0]), without_groups(text(values[1])))
    limit = whole(values[2]) if len(values) > 2 else -1  # noqa: PLR2004  a limit
    every = [str(each) for each in found] if isinstance(found, list) else []
    return [*(every if limit < 0 else every[:limit])]


FUNCTIONS: Final[dict[str, Function]] = {
    "matches": _matches,
    "find": _find,
    "findAll": _find_all,
}
