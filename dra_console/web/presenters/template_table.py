"""Templates as rows, with what became of the claims made from them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from dra_console.mirror.models import ClaimState, ResourceClaim, ResourceClaimTemplate
from dra_console.sync.reading import object_in
from dra_console.web.presenters.wants import Wants, wants_of


@dataclass(frozen=True, slots=True)
class TemplateRow:
    """One template in a list."""

    namespace: str
    name: str
    address: str
    wants: Wants
    claims: int
    """Claims made from it that exist now."""

    waiting: int
    """Those of them that wait for devices."""

    created_at: datetime


def template_rows(
    templates: Iterable[ResourceClaimTemplate], *, claims: Iterable[ResourceClaim]
) -> tuple[TemplateRow, ...]:
    """List templates in the order given; `claims` are those of their namespaces."""
    made: Counter[tuple[str, str]] = Counter()
    waiting: Counter[tuple[str, str]] = Counter()
    for claim in claims:
        key = (claim.namespace, claim.template_name)
        made[key] += 1
        waiting[key] += claim.state == ClaimState.PENDING
    return tuple(
        TemplateRow(
            namespace=template.namespace,
            name=template.name,
            address=reverse("web:template", args=(template.namespace, template.name)),
            wants=wants_of(object_in(template.raw, "spec").get("spec")),
            claims=made[template.namespace, template.name],
            waiting=waiting[template.namespace, template.name],
            created_at=template.created_at,
        )
        for template in templates
    )
