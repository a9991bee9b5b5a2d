"""Which devices to show: the filter row above the board, and the same fields in an address."""

from collections.abc import Callable, Collection, Iterable
from enum import StrEnum
from typing import Final

from django import forms
from django.http import QueryDict

from dra_console.mirror.inventory import DeviceState, State
from dra_console.telemetry.readings import DeviceKey
from dra_console.web.presenters.live_state import LiveState
from dra_console.web.presenters.reader import Reader
from dra_console.web.presenters.tiles import Look, look_of
from dra_console.web.wording import model_in_words

OFFERED: Final = 200
"""Nodes that can be chosen from; the name of one of more is typed."""


class StateChoice(StrEnum):
    """What the state filter offers."""

    FREE = "free"
    HELD = "held"
    MINE = "mine"
    TAINTED = "tainted"
    UNAVAILABLE = "unavailable"
    UNKNOWN = "unknown"


STATE_LABELS = {
    StateChoice.FREE: "free",
    StateChoice.HELD: "held",
    StateChoice.MINE: "held by your teams",
    StateChoice.TAINTED: "tainted",
    StateChoice.UNAVAILABLE: "unavailable",
    StateChoice.UNKNOWN: "held, reading unknown",
}


class DeviceFilterForm(forms.Form):
    """One choice a field; a value that is not on offer is an error of that field."""

    def __init__(
        self, query: QueryDict, *, states: Collection[DeviceState], class_names: Iterable[str]
    ) -> None:
        """Offer what the cluster has."""
        super().__init__(query)
        products = sorted({state.device.product_name for state in states} - {""})
        nodes = sorted({state.node_name for state in states} - {""})
        self.fields = {
            "model": _choice("Model", ((name, model_in_words(name, None)) for name in products)),
            "device_class": _choice("Class", ((name, name) for name in class_names)),
            "node": _choice("Node", ((name, name) for name in nodes))
            if len(nodes) <= OFFERED
            else TypedNodeField(frozenset(nodes)),
            "state": _choice("State", ((one.value, STATE_LABELS[one]) for one in StateChoice)),
        }

    @property
    def is_narrowing(self) -> bool:
        """Tell whether any field is set."""
        return self.is_valid() and any(self.cleaned_data.values())


class TypedNodeField(forms.CharField):
    """The node of a fleet: so many names to choose from would be most of the page."""

    def __init__(self, names: frozenset[str]) -> None:
        """Take the names that there are."""
        attributes = {"class": "input", "placeholder": "name", "autocomplete": "off"}
        super().__init__(
            required=False, label="Node", widget=forms.TextInput(attrs={**attributes, "size": 14})
        )
        self._names = names

    def validate(self, value: str) -> None:
        """Refuse a name that no device is at."""
        super().validate(value)
        if value and value not in self._names:
            raise forms.ValidationError(f"there is no device on a node {value}")


def _choice(label: str, choices: Iterable[tuple[str, str]]) -> forms.ChoiceField:
    return forms.ChoiceField(required=False, label=label, choices=[("", "any"), *choices])


def device_matcher(
    form: DeviceFilterForm,
    *,
    class_keys: Collection[DeviceKey] | None,
    reader: Reader,
    live: LiveState,
) -> Callable[[DeviceState], bool]:
    """Turn a filled form into the question whether to show a device.

    `class_keys` are the devices that the chosen class selects; None: no class is chosen. A
    field in error narrows nothing.
    """
    form.is_valid()
    chosen = form.cleaned_data
    state_choice = chosen.get("state") or None

    def matches(state: DeviceState) -> bool:
        return (
            chosen.get("model", "") in {"", state.device.product_name}
            and chosen.get("node", "") in {"", state.node_name}
            and (class_keys is None or DeviceKey(*state.key) in class_keys)
            and (
                state_choice is None
                or _has_state(state, StateChoice(state_choice), reader=reader, live=live)
            )
        )

    return matches


def _has_state(state: DeviceState, choice: StateChoice, *, reader: Reader, live: LiveState) -> bool:
    match choice:
        case StateChoice.MINE:
            return look_of(state, reader=reader) is Look.MINE
        case StateChoice.UNKNOWN:
            return state.state is State.HELD and live.is_unknown(state)
        case _:
            return state.state == State(choice.value)
