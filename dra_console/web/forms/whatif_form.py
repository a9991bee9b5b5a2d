"""The edits that the what-if page's forms add: fields of a query, as the scenario's own JSON."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject, without_unset
from dra_console.allocator.errors import DecodeError
from dra_console.scheduling.whatif.decoding import decode_scenario
from dra_console.scheduling.whatif.scenario import Scenario

Sent = Mapping[str, str]
SEPARATOR: Final = " "
"""Between the kind and the names of a pod's source; no name holds a space."""


def with_form(scenario: Scenario, sent: Sent) -> Scenario:
    """Return the scenario with what a form asks for; `act` says which form it was.

    Raises:
        DecodeError: a field cannot be read; the path is that of the new edit.

    """
    act = sent.get("act", "")
    raw = scenario.to_json()
    edits = raw["edits"]
    assert isinstance(edits, list)  # noqa: S101 - written by to_json
    if act == "pod":
        source = sent.get("pod", "")
        if not source:
            return replace(scenario, pod=None)
        raw["pod"] = _pod(source)
    elif act in FORMS:
        edits.append(FORMS[act](sent))
    else:
        raise DecodeError("act", f"expected one of pod, {', '.join(FORMS)}, got {act!r}")
    return decode_scenario(raw)


def without_edit(scenario: Scenario, number: int) -> Scenario:
    """Take one edit out."""
    edits = [edit for at, edit in enumerate(scenario.edits) if at != number]
    return replace(scenario, edits=tuple(edits))


def pod_value(kind: str, namespace: str, name: str) -> str:
    """Name a template or claim in a form field."""
    return SEPARATOR.join((kind, namespace, name))


def _pod(value: str) -> JsonObject:
    kind, _, rest = value.partition(SEPARATOR)
    namespace, _, name = rest.partition(SEPARATOR)
    if kind not in {"template", "claim"}:
        raise DecodeError("pod", f"expected a template or a claim, got {value!r}")
    return {"claims": [{kind: {"namespace": namespace, "name": name}}]}


def _count(sent: Sent) -> Json:
    text = sent.get("count", "").strip()
    if not text.isdecimal() or len(text) > 9:  # noqa: PLR2004 - far beyond every bound
        raise DecodeError("count", f"expected a number, got {text!r}")
    return int(text)


def _devices(sent: Sent) -> JsonObject:
    return without_unset(
        {part: sent.get(part, "").strip() for part in ("node", "driver", "pool", "device")}
    )


def _add_nodes(sent: Sent) -> JsonObject:
    return {"like": sent.get("node", "").strip(), "count": _count(sent)}


def _node(sent: Sent) -> JsonObject:
    return {"node": sent.get("node", "").strip()}


def _taint(sent: Sent) -> JsonObject:
    return {
        "devices": _devices(sent),
        "key": sent.get("key", "").strip(),
        "value": sent.get("value", "").strip(),
        "effect": sent.get("effect", ""),
    }


def _untaint(sent: Sent) -> JsonObject:
    return {"devices": _devices(sent), "key": sent.get("key", "").strip()}


def _free_claim(sent: Sent) -> JsonObject:
    namespace, _, name = sent.get("claim", "").strip().partition("/")
    return {"namespace": namespace, "name": name}


def _add_pods(sent: Sent) -> JsonObject:
    return {"pod": _pod(sent.get("pod", "")), "count": _count(sent)}


def _set_class_selectors(sent: Sent) -> JsonObject:
    text = sent.get("selector", "").replace("\r\n", "\n").strip()
    selectors: list[Json] = [text] if text else []
    return {"deviceClass": sent.get("device_class", ""), "selectors": selectors}


def _typed(kind: str, read: Callable[[Sent], JsonObject]) -> Callable[[Sent], JsonObject]:
    return lambda sent: {"type": kind, **read(sent)}


FORMS: Final[Mapping[str, Callable[[Sent], JsonObject]]] = MappingProxyType(
    {
        kind: _typed(kind, read)
        for kind, read in (
            ("addNodes", _add_nodes),
            ("drainNode", _node),
            ("removeNode", _node),
            ("taint", _taint),
            ("untaint", _untaint),
            ("freeClaim", _free_claim),
            ("addPods", _add_pods),
            ("setClassSelectors", _set_class_selectors),
        )
    }
)
