"""Claims as rows: state, devices, node, consumers, class, age; and their CSV."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from django.urls import reverse

from dra_console.mirror.models import ClaimState, DeviceAssignment, ResourceClaim
from dra_console.sync.reading import name_in, text_in
from dra_console.web.presenters.device_table import Column, csv_cell

CSV_COLUMNS: Final = (
    "namespace",
    "name",
    "state",
    "devices",
    "node",
    "consumers",
    "classes",
    "template",
    "created_at",
    "reason",
)

CONSUMERS_SHOWN: Final = 4

TONES: Final[Mapping[str, str]] = {
    ClaimState.PENDING: "warn",
    ClaimState.ALLOCATED: "held",
    ClaimState.RESERVED: "ok",
    ClaimState.DELETING: "plain",
}
ICONS: Final[Mapping[str, str]] = {
    ClaimState.PENDING: "clock",
    ClaimState.ALLOCATED: "circle-check",
    ClaimState.RESERVED: "circle-check",
    ClaimState.DELETING: "hourglass",
}


class Order(StrEnum):
    """What the table can be sorted by; `-` before it turns the order round."""

    NAME = "name"
    STATE = "state"
    NODE = "node"
    AGE = "age"


COLUMNS: Final = (
    (Order.NAME, "Claim"),
    (Order.STATE, "State"),
    (Order.NODE, "Node"),
    (Order.AGE, "Age"),
)

SORTED_BY: Final[Mapping[Order, tuple[str, ...]]] = {
    Order.NAME: ("namespace", "name"),
    Order.STATE: ("state", "namespace", "name"),
    Order.NODE: ("node_name", "namespace", "name"),
    Order.AGE: ("-created_at", "namespace", "name"),
}
"""Model fields of each order; an age grows while its creation lies further back."""

BY_PARAMETER: Final = {str(order): fields for order, fields in SORTED_BY.items()}


@dataclass(frozen=True, slots=True)
class StateSign:
    """A claim's state as a pill shows it."""

    label: str
    tone: str
    icon: str


@dataclass(frozen=True, slots=True)
class DeviceLink:
    """A device that a claim holds."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """One claim in a list."""

    namespace: str
    name: str
    address: str
    sign: StateSign
    devices: tuple[DeviceLink, ...]
    node_name: str
    consumers: tuple[str, ...]
    """Names of the pods that have it reserved."""

    class_names: tuple[str, ...]
    template_name: str
    created_at: datetime
    reason: str
    """Why it is not allocated, as the newest attempt says; empty if it is or none was made."""

    @property
    def first_consumers(self) -> tuple[str, ...]:
        """Name as many as a table has room for; up to 256 pods may share a claim."""
        return self.consumers[:CONSUMERS_SHOWN]

    @property
    def more_consumers(self) -> int:
        """Count the others."""
        return len(self.consumers[CONSUMERS_SHOWN:])


def sign_of(claim: ResourceClaim) -> StateSign:
    """Say a claim's state in one word, tone and icon."""
    label = "In use" if claim.state == ClaimState.RESERVED else ClaimState(claim.state).label
    return StateSign(label=label, tone=TONES[claim.state], icon=ICONS[claim.state])


def claim_rows(
    claims: Iterable[ResourceClaim],
    *,
    assignments: Iterable[DeviceAssignment],
    reasons: Mapping[str, str],
) -> tuple[ClaimRow, ...]:
    """List claims in the order given; `reasons` are by claim UID."""
    held: dict[str, list[DeviceLink]] = {}
    for one in assignments:
        link = DeviceLink(
            name=one.device,
            address=reverse("web:device", args=(one.driver, one.pool, one.device)),
        )
        held.setdefault(one.claim_uid, []).append(link)
    return tuple(
        ClaimRow(
            namespace=claim.namespace,
            name=claim.name,
            address=reverse("web:claim", args=(claim.namespace, claim.name)),
            sign=sign_of(claim),
            devices=tuple(held.get(claim.uid, ())),
            node_name=claim.node_name,
            consumers=pods_reserved_for(claim),
            class_names=tuple(claim.class_names),
            template_name=claim.template_name,
            created_at=claim.created_at,
            reason=reasons.get(claim.uid, "") if claim.state == ClaimState.PENDING else "",
        )
        for claim in claims
    )


def pods_reserved_for(claim: ResourceClaim) -> tuple[str, ...]:
    """Name the pods that a claim is reserved for, each once."""
    names = [
        name_in(entry, "name")
        for entry in claim.reserved_for
        if text_in(entry, "resource") == "pods"
    ]
    return tuple(name for name in dict.fromkeys(names) if name)


def columns(sort: str) -> dict[str, Column]:
    """Draw the heads of the columns that sort, by what they sort by."""
    return {
        str(order): Column(
            label=label,
            sort=f"-{order}" if sort == order else str(order),
            direction={str(order): "ascending", f"-{order}": "descending"}.get(sort, "none"),
            is_number=False,
        )
        for order, label in COLUMNS
    }


def ordering(sort: str) -> tuple[str, ...]:
    """Turn a sort parameter into model fields; an unknown one sorts by name."""
    fields = BY_PARAMETER.get(sort.removeprefix("-"), SORTED_BY[Order.NAME])
    if not sort.startswith("-"):
        return fields
    return tuple(field[1:] if field.startswith("-") else f"-{field}" for field in fields)


def claim_csv(rows: Iterable[ClaimRow]) -> str:
    """Write rows as CSV."""
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(CSV_COLUMNS)
    for row in rows:
        table.writerow(
            csv_cell(value)
            for value in (
                row.namespace,
                row.name,
                row.sign.label,
                " ".join(device.name for device in row.devices),
                row.node_name,
                " ".join(row.consumers),
                " ".join(row.class_names),
                row.template_name,
                row.created_at.isoformat(),
                row.reason,
            )
        )
    return written.getvalue()
