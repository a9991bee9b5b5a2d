"""Edits of a scenario in words, and the addresses that scenarios have."""

from dataclasses import dataclass

from django.urls import reverse

from dra_console.scheduling.whatif.edits import (
    AddNodes,
    AddPods,
    DrainNode,
    Edit,
    FreeClaim,
    RemoveNode,
    SetClassSelectors,
    TaintDevices,
    UntaintDevices,
)
from dra_console.scheduling.whatif.scenario import Scenario, token_of
from dra_console.web.forms.whatif_form import without_edit
from dra_console.web.wording import counted


@dataclass(frozen=True, slots=True)
class ShownEdit:
    """One edit of the scenario, and the address without it."""

    text: str
    without: str


def address_of(scenario: Scenario) -> str:
    """Give the page's address for a scenario."""
    base = reverse("web:what-if")
    return f"{base}?scenario={token_of(scenario)}" if scenario != Scenario() else base


def shown_edits(scenario: Scenario) -> tuple[ShownEdit, ...]:
    """List the edits with the way to take each out."""
    return tuple(
        ShownEdit(edit_in_words(edit), address_of(without_edit(scenario, number)))
        for number, edit in enumerate(scenario.edits)
    )


def edit_in_words(edit: Edit) -> str:  # noqa: PLR0911 - one answer for each kind of edit
    """Say what an edit changes."""
    match edit:
        case AddNodes(like, count):
            return f"Add {counted(count, 'node')} like {like}"
        case RemoveNode(node):
            return f"Remove node {node}"
        case DrainNode(node):
            return f"Drain node {node}"
        case TaintDevices():
            value = f"={edit.value}" if edit.value else ""
            return f"Taint {edit.devices} with {edit.key}{value}:{edit.effect}"
        case UntaintDevices():
            return f"Take taint {edit.key} off {edit.devices}"
        case FreeClaim():
            if edit.holding is not None:
                return f"End the claim that holds {edit.holding}"
            return f"End claim {edit.namespace}/{edit.name}"
        case AddPods():
            return f"Add {counted(edit.count, 'pod')} of {edit.pod}"
        case SetClassSelectors():
            return f"Let class {edit.device_class} select {' and '.join(edit.selectors) or 'all'}"
