"""Label and field selectors as query parameters spell them.

Grammar and wording follow apimachinery's `labels` and `fields` packages. A field selector
knows only the fields that Kubernetes indexes for the kind; another one is refused, not ignored.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.errors import BadRequestError
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_SLICES,
    Kind,
)

COMMON_FIELDS: Final = ("metadata.name", "metadata.namespace")
FIELDS: Final[Mapping[Kind, tuple[str, ...]]] = MappingProxyType(
    {
        PODS: (
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ),
        NODES: ("spec.unschedulable",),
        NAMESPACES: ("status.phase",),
        RESOURCE_SLICES: ("spec.nodeName", "spec.driver", "spec.pool.name"),
        DEVICE_CLASSES: (),
        EVENTS: (
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ),
    }
)
"""Fields that a selector may name, beside name and namespace."""

LABEL_KEY: Final = re.compile(r"(?:[a-z0-9.-]+/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
LABEL_VALUE: Final = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?")
SET_TERM: Final = re.compile(r"(?P<key>\S+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)")
BINARY_TERM: Final = re.compile(r"(?P<key>[^=!<>\s]+)\s*(?P<operator>==|!=|=|<|>)\s*(?P<value>.*)")


class Operator(StrEnum):
    """How a label is compared."""

    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    ABSENT = "!"
    GREATER = ">"
    LESS = "<"


@dataclass(frozen=True, slots=True)
class LabelTerm:
    """One requirement of a label selector."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, Json]) -> bool:
        """Whether the labels meet the requirement; NOT_IN also where the key is absent."""
        value = labels.get(self.key)
        if self.operator is Operator.EXISTS:
            return self.key in labels
        if self.operator is Operator.ABSENT:
            return self.key not in labels
        if self.operator is Operator.IN:
            return value in self.values
        if self.operator is Operator.NOT_IN:
            return value not in self.values
        (bound,) = self.values
        if not isinstance(value, str) or not re.fullmatch(r"-?\d+", value):
            return False
        difference = int(value) - int(bound)
        return difference > 0 if self.operator is Operator.GREATER else difference < 0


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One requirement of a field selector."""

    path: str
    value: str
    is_equal: bool

    def holds(self, obj: JsonObject) -> bool:
        """Whether the object meets the requirement; an absent field counts as empty."""
        return (_field_text(obj, self.path) == self.value) is self.is_equal


@dataclass(frozen=True, slots=True)
class Selector:
    """Both selectors of a request."""

    labels: tuple[LabelTerm, ...] = ()
    fields: tuple[FieldTerm, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.labels and not self.fields

    def matches(self, obj: JsonObject) -> bool:
        """Whether the object meets every requirement."""
        if not all(term.holds(obj) for term in self.fields):
            return False
        if not self.labels:
            return True
        metadata = obj.get("metadata")
        labels = metadata.get("labels") if isinstance(metadata, dict) else None
        known = labels if isinstance(labels, dict) else {}
        return all(term.holds(known) for term in self.labels)


def parse_selector(kind: Kind, *, labels: str, fields: str) -> Selector:
    """Read `labelSelector` and `fieldSelector`.

    Raises:
        BadRequestError: a selector that cannot be read, or a field the kind does not index.

    """
    return Selector(parse_labels(labels), parse_fields(kind, fields))


def parse_labels(selector: str) -> tuple[LabelTerm, ...]:
    """Read a label selector, as in `app=web,tier in (a, b),!old,cpus>4`.

    Raises:
        BadRequestError: it is not in that form; the message quotes the requirement.

    """
    terms = re.split(r",(?![^(]*\))", selector) if selector.strip() else []
    return tuple(_label_term(term.strip()) for term in terms)


def parse_fields(kind: Kind, selector: str) -> tuple[FieldTerm, ...]:
    r"""Read a field selector, as in `spec.nodeName=a,status.phase!=Failed`; `\` escapes.

    Raises:
        BadRequestError: it is not in that form, or the kind does not index the field.

    """
    terms = re.split(r"(?<!\\),", selector) if selector.strip() else []
    return tuple(_field_term(kind, term) for term in terms if term)


def _label_term(term: str) -> LabelTerm:
    if match := SET_TERM.fullmatch(term):
        values = frozenset(value.strip() for value in match["values"].split(","))
        return _checked(LabelTerm(match["key"], Operator(match["operator"]), values), term)
    if match := BINARY_TERM.fullmatch(term):
        operator = {
            "!=": Operator.NOT_IN,
            ">": Operator.GREATER,
            "<": Operator.LESS,
        }.get(match["operator"], Operator.IN)
        return _checked(LabelTerm(match["key"], operator, frozenset({match["value"]})), term)
    if term.startswith("!"):
        return _checked(LabelTerm(term[1:].strip(), Operator.ABSENT), term)
    return _checked(LabelTerm(term, Operator.EXISTS), term)


def _checked(term: LabelTerm, spelled: str) -> LabelTerm:
    numeric = term.operator in {Operator.GREATER, Operator.LESS}
    well_formed: Callable[[str], object] = (
        re.compile(r"-?\d+").fullmatch if numeric else LABEL_VALUE.fullmatch
    )
    if not LABEL_KEY.fullmatch(term.key) or not all(map(well_formed, term.values)):
        raise BadRequestError(f'unable to parse requirement: "{spelled}" in labelSelector')
    return term


def _field_term(kind: Kind, term: str) -> FieldTerm:
    match = re.fullmatch(r"(?P<path>[^=!]+)(?P<operator>==|!=|=)(?P<value>.*)", term)
    if match is None:
        raise BadRequestError(f"invalid selector: '{term}'; can't understand '{term}'")
    path = match["path"].strip()
    if path not in (*COMMON_FIELDS, *FIELDS.get(kind, ())):
        raise BadRequestError(f"field label not supported: {path}")
    value = re.sub(r"\\([\\,=])", r"\1", match["value"])
    return FieldTerm(path, value, match["operator"] != "!=")


def _field_text(obj: JsonObject, path: str) -> str:
    value: Json = obj
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "false" if path == "spec.unschedulable" else ""
    if isinstance(value, dict):
        # `source` of an event means its component.
        component = value.get("component")
        return component if isinstance(component, str) else ""
    return str(value)
