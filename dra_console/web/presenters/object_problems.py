"""Objects with problems: which, what is wrong with each, and what does not happen for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from django.urls import NoReverseMatch, reverse

from dra_console.kube.kinds import NODES, PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from dra_console.mirror.models import FoundBy, ObjectProblem

PAGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        NODES.plural: "web:node",
        PODS.plural: "web:pod",
        RESOURCE_CLAIMS.plural: "web:claim",
        RESOURCE_CLAIM_TEMPLATES.plural: "web:template",
    }
)
"""Of the kinds that have one."""

CONSEQUENCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        FoundBy.MIRROR: "is not shown as the API server has it",
        FoundBy.ALLOCATOR: "is left out when devices are allocated",
    }
)


@dataclass(frozen=True, slots=True)
class ProblemLine:
    """One object with what is wrong with it."""

    plural: str
    name: str
    address: str
    """Empty: it has no page."""

    path: str
    message: str
    consequence: str
    since: datetime


def problem_lines(problems: Iterable[ObjectProblem]) -> tuple[ProblemLine, ...]:
    """Say what is wrong, in the order given."""
    return tuple(
        ProblemLine(
            plural=problem.plural,
            name="/".join(filter(None, (problem.namespace, problem.name))) or "without a name",
            address=_address_of(problem),
            path=problem.path,
            message=problem.message,
            consequence=CONSEQUENCES[problem.found_by],
            since=problem.seen_at,
        )
        for problem in problems
    )


def _address_of(problem: ObjectProblem) -> str:
    page = PAGES.get(problem.plural)
    names = [name for name in (problem.namespace, problem.name) if name]
    try:
        return reverse(page, args=names) if page else ""
    except NoReverseMatch:
        # What is wrong with it may be its name.
        return ""
