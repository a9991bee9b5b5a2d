"""Templates as rows, with what became of the claims made from them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, QuerySet
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
    templates: Iterable[ResourceClaimTemplate], *, claims: QuerySet[ResourceClaim]
) -> tuple[TemplateRow, ...]:
    """List templates in the order given; `claims` are counted in one query."""
    templates = list(templates)
    of_templates = claims.filter(
        namespace__in={template.namespace for template in templates},
        template_name__in={template.name for template in templates},
    )
    made: Counter[tuple[str, str]] = Counter()
    waiting: Counter[tuple[str, str]] = Counter()
    for namespace, name, state, count in (
        of_templates.order_by()
        .values("namespace", "template_name", "state")
        .annotate(count=Count("pk"))
        .values_list("namespace", "template_name", "state", "count")
    ):
        made[(namespace, name)] += count
        if state == ClaimState.PENDING:
            waiting[(namespace, name)] += count
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
