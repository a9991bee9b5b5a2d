"""Devices as rows: the table twin of the board, and its CSV."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from operator import itemgetter
from typing import Final

from dra_console.mirror.inventory import DeviceState, State
from dra_console.telemetry.readings import Reading
from dra_console.web.presenters.live_state import LiveState
from dra_console.web.presenters.reader import Reader
from dra_console.web.presenters.sum_bar import LABELS
from dra_console.web.presenters.tiles import (
    Look,
    ShownHolder,
    device_address,
    look_of,
    model_of,
    shown_holders,
)

CSV_COLUMNS: Final = (
    "driver",
    "pool",
    "device",
    "node",
    "product",
    "memory_bytes",
    "state",
    "reason",
    "held_by",
    "held_since",
    "utilisation_percent",
    "memory_used_bytes",
    "reading_taken_at",
    "reading_is_stale",
    "taints",
)

STARTS_OF_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet would run a cell that starts so; device and claim names come from others."""


class Order(StrEnum):
    """What a table can be sorted by; `-` before it turns the order round."""

    DEVICE = "device"
    MODEL = "model"
    NODE = "node"
    STATE = "state"
    HELD_SINCE = "held-since"
    UTILISATION = "utilisation"


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """One device in a table."""

    key: str
    driver: str
    pool: str
    name: str
    node_name: str
    product_name: str
    model: str
    memory_bytes: int | None
    state: State
    look: Look
    state_label: str
    reason: str
    holders: tuple[ShownHolder, ...]
    """Without those that only watch."""

    held_since: datetime | None
    reading: Reading | None
    is_stale: bool
    taints: tuple[str, ...]

    @property
    def address(self) -> str:
        """Give the address of the device's page."""
        return device_address(self.key)


def device_rows(
    states: Iterable[DeviceState], *, reader: Reader, live: LiveState
) -> tuple[DeviceRow, ...]:
    """List devices in the order given."""
    return tuple(_row(state, reader=reader, live=live) for state in states)


@dataclass(frozen=True, slots=True)
class Column:
    """Head of a column that the table can be sorted by."""

    label: str
    sort: str
    """What a click sorts by, as the address spells it."""

    direction: str
    """`ascending` or `descending` while the table is sorted by it, else `none`."""

    is_number: bool


COLUMNS: Final = (
    (Order.DEVICE, "Device", False),
    (Order.NODE, "Node", False),
    (Order.MODEL, "Model", False),
    (Order.STATE, "State", False),
    (Order.HELD_SINCE, "Held by", False),
    (Order.UTILISATION, "Utilisation", True),
)


def columns(sort: str) -> tuple[Column, ...]:
    """Draw the heads of a table that is sorted so."""
    return tuple(
        Column(
            label=label,
            sort=f"-{order}" if sort == order else str(order),
            direction={order: "ascending", f"-{order}": "descending"}.get(sort, "none"),
            is_number=is_number,
        )
        for order, label, is_number in COLUMNS
    )


def in_order(
    states: Iterable[DeviceState], order: Order, *, descending: bool, live: LiveState
) -> list[DeviceState]:
    """Sort devices as their rows would be, which are made of one page alone.

    What is not known comes last either way.
    """
    known, unknown = [], []
    for state in states:
        value = _sort_value(state, order, live)
        if value is None:
            unknown.append(state)
        else:
            known.append((value, state))
    known.sort(key=itemgetter(0), reverse=descending)
    return [state for _, state in known] + unknown


def _sort_value(
    state: DeviceState, order: Order, live: LiveState
) -> tuple[str | float, ...] | None:
    device = state.device
    match order:
        case Order.DEVICE:
            return (device.pool, device.name)
        case Order.MODEL:
            return (model_of(device), device.memory_bytes or 0)
        case Order.NODE:
            return (device.node_name,)
        case Order.STATE:
            return (state.state,)
        case Order.HELD_SINCE:
            since = [each.assigned_at for each in state.holders if not each.admin_access]
            return (min(since).timestamp(),) if since else None
        case Order.UTILISATION:
            reading = live.reading(state)
            percent = None if reading is None else reading.utilisation_percent
            return None if percent is None else (percent,)


def device_csv(rows: Iterable[DeviceRow]) -> str:
    """Write rows as CSV; what is not known is an empty cell."""
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(CSV_COLUMNS)
    for row in rows:
        reading = row.reading
        table.writerow(
            csv_cell(value)
            for value in (
                row.driver,
                row.pool,
                row.name,
                row.node_name,
                row.product_name,
                row.memory_bytes,
                row.state,
                row.reason,
                " ".join(holder.label for holder in row.holders),
                row.held_since and row.held_since.isoformat(),
                reading and reading.utilisation_percent,
                reading and reading.memory_used_bytes,
                reading and reading.taken_at.isoformat(),
                reading and str(row.is_stale).lower(),
                " ".join(row.taints),
            )
        )
    return written.getvalue()


def _row(state: DeviceState, *, reader: Reader, live: LiveState) -> DeviceRow:
    device = state.device
    look = look_of(state, reader=reader)
    reading = live.reading(state)
    holders = shown_holders(state.holders, reader=reader)
    holding = tuple(holder for holder in holders if not holder.watches_only)
    return DeviceRow(
        key="/".join(state.key),
        driver=device.driver,
        pool=device.pool,
        name=device.name,
        node_name=device.node_name,
        product_name=device.product_name,
        model=model_of(device),
        memory_bytes=device.memory_bytes,
        state=state.state,
        look=look,
        state_label=LABELS[look],
        reason=state.reason,
        holders=holding,
        held_since=min((holder.assigned_at for holder in holding), default=None),
        reading=reading,
        is_stale=reading is None or reading.is_stale(live.now),
        taints=tuple(str(taint) for taint in state.taints),
    )


def csv_cell(value: object) -> str:
    """Write one cell; a text that a spreadsheet would run as a formula is quoted."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(STARTS_OF_FORMULAS) else text
