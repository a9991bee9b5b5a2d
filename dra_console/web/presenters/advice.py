"""Changes that would make claims fit, as a reader may see them, with where to try each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dra_console.allocator.explanation.unfolding import HIDDEN_NAMESPACE
from dra_console.scheduling.whatif.rights import Rights
from dra_console.scheduling.whatif.scenario import Scenario
from dra_console.scheduling.whatif.suggested import pod_of_claims, suggested_scenario
from dra_console.web.presenters.reader import Reader
from dra_console.web.presenters.whatif_edits import address_of


@dataclass(frozen=True, slots=True)
class Advice:
    """One change that was tried on this state and makes it fit."""

    text: str
    detail: str
    holder: str
    """Claim to wait for, or `another namespace`; empty where the change is another one."""

    address: str
    """Of the what-if page, where it can be tried; empty where it can not."""


def advice_of(
    suggestion: Mapping[str, Any],
    holders: Mapping[str, Any],
    *,
    reader: Reader,
    claims: Sequence[tuple[str, str]],
) -> Advice:
    """Draw a stored suggestion; `claims` are those that it is for, by namespace and name."""
    holder = suggestion["holder"]
    label = ""
    if holder is not None:
        is_seen = reader.sees(holder["namespace"])
        label = f"{holder['namespace']}/{holder['name']}" if is_seen else HIDDEN_NAMESPACE
    scenario = None
    if claims:
        scenario = suggested_scenario(
            suggestion,
            Scenario(pod=pod_of_claims(claims)),
            keys=["/".join(key) for key in claims],
            holders=holders,
            rights=Rights(claims=reader.namespaces, templates=frozenset()),
        )
    return Advice(
        text=suggestion["text"],
        detail=suggestion["detail"],
        holder=label,
        address="" if scenario is None else address_of(scenario),
    )
