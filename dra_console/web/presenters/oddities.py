"""What is odd about one object, by the rules of the newest API that this console knows.

An API server checks what it stores, so little is found in what it sends: objects that were
stored under older rules, fields of a newer API, servers that check less. Computed when an
object is looked at, since nobody decides on it: what keeps an object from being used is noted
by whoever stumbled over it (`mirror.models.ObjectProblem`).
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from dra_console.allocator.errors import AllocatorError
from dra_console.allocator.model import JsonObject
from dra_console.allocator.validation.refusals import refuse_claim, refuse_template
from dra_console.allocator.validation.validate import (
    FieldError,
    validate_claim,
    validate_claim_status,
    validate_slice,
    validate_template,
)
from dra_console.kube.kinds import RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS, RESOURCE_SLICES

ODDITIES_SHOWN: Final = 20

Check: TypeAlias = Callable[[JsonObject], Iterable[FieldError]]


def _of_claim(claim: JsonObject) -> list[FieldError]:
    return [
        *validate_claim(claim),
        *validate_claim_status(claim, stored=claim),
        *refuse_claim(claim),
    ]


def _of_template(template: JsonObject) -> list[FieldError]:
    return [*validate_template(template), *refuse_template(template)]


CHECKS: Final[Mapping[str, Check]] = MappingProxyType(
    {
        RESOURCE_CLAIMS.plural: _of_claim,
        RESOURCE_CLAIM_TEMPLATES.plural: _of_template,
        RESOURCE_SLICES.plural: validate_slice,
    }
)


def oddities_of(plural: str, raw: JsonObject) -> tuple[str, ...]:
    """Say what is odd, each with the field's path; at most `ODDITIES_SHOWN` and their number."""
    try:
        found = list(dict.fromkeys(str(error) for error in CHECKS[plural](raw)))
    except AllocatorError as error:
        found = [str(error)]
    more = len(found) - ODDITIES_SHOWN
    return (*found[:ODDITIES_SHOWN], *((f"and {more} more",) if more > 0 else ()))
