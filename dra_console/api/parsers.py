"""Read a request's body: JSON, bounded in size and depth before anything looks at it."""

import io
from collections.abc import Mapping
from http import HTTPStatus
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from dra_console.api.problems import Problem

BODY_LIMIT_BYTES = 1_500_000
"""As large as an object may be in etcd."""

DEPTH_LIMIT = 100
"""Far deeper than any object of Kubernetes, far from what recursion can walk."""

NESTED_TOO_DEEPLY = f"JSON parse error - nested more than {DEPTH_LIMIT} deep"


class ObjectParser(JSONParser):
    """Refuses what is too large (413) or nested too deeply to be read (400)."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        body = stream.read(BODY_LIMIT_BYTES + 1)
        if len(body) > BODY_LIMIT_BYTES:
            raise Problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                "too-large",
                f"An object may have {BODY_LIMIT_BYTES} bytes.",
            )
        try:
            parsed = super().parse(io.BytesIO(body), media_type, parser_context)
        except RecursionError as error:
            raise ParseError(NESTED_TOO_DEEPLY) from error
        if _is_deeper_than(DEPTH_LIMIT, parsed):
            raise ParseError(NESTED_TOO_DEEPLY)
        return parsed


def _is_deeper_than(limit: int, body: object) -> bool:
    level = [body]
    for _ in range(limit):
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return False
    return True
