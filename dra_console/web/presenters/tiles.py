"""A device as a tile: its state told by fill, border, sign and word together.

A tile never says more than its reader may know: a foreign claim is `other team`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from django.urls import reverse

from dra_console.mirror.inventory import DeviceState, Holder, State, Taint
from dra_console.mirror.models import Device
from dra_console.sync.reading import time_of
from dra_console.telemetry.readings import Reading
from dra_console.web.presenters.live_state import LiveState
from dra_console.web.presenters.reader import Reader
from dra_console.web.wording import age_in_words, model_in_words

WORDS_OF_AGENTS: Final = {
    "device-nodes-missing": "no device nodes",
    "driver-error": "driver error",
    "ecc": "memory errors",
    "gpu-lost": "GPU lost",
    "mig-mode-pending": "MIG mode pending",
    "reset-required": "reset needed",
    "row-remap": "memory worn out",
    "thermal": "too hot",
    "unmonitored": "not monitored",
}
"""By the last part of the keys that `docs/node-agent.md` lists."""

HIDDEN_HOLDER = "other team"


class Look(StrEnum):
    """What fills a tile, a part of the sum bar and a legend's mark."""

    MINE = "mine"
    HELD = "held"
    FREE = "free"
    WARN = "warn"
    """Tainted by a rule: somebody wants it out of use."""

    SICK = "sick"
    """Tainted by its own driver."""

    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class ShownHolder:
    """A claim that holds a device, as far as the reader may know."""

    namespace: str
    """Empty: hidden from this reader."""

    name: str
    request: str
    is_mine: bool
    watches_only: bool
    """True: admin access, which holds nothing."""

    assigned_at: datetime

    @property
    def label(self) -> str:
        """Name the claim, or say that it may not be named."""
        return f"{self.namespace}/{self.name}" if self.namespace else HIDDEN_HOLDER


@dataclass(frozen=True, slots=True)
class Tile:
    """One device on a board."""

    key: str
    """`driver/pool/device`, as scripts name it."""

    device_name: str
    look: Look
    mark: Look | None
    """Warning on a held device: a border and sign beside what fills it."""

    headline: str
    mark_words: str
    """What the mark means, as in `XID 79`; empty without one."""

    note: str
    """Second line where no reading stands."""

    description: str
    """Everything in one sentence, for hovering."""

    shows_reading: bool
    reading: Reading | None
    is_unknown: bool
    """True: hatched, with a question mark; the reading, if any, is the last one known."""

    @property
    def address(self) -> str:
        """Give the address of the device's page."""
        return device_address(self.key)


def device_address(key: str) -> str:
    """Give the address of a device's page, for `driver/pool/device`."""
    driver, _, pool_and_name = key.partition("/")
    pool, _, name = pool_and_name.rpartition("/")
    return reverse("web:device", args=(driver, pool, name))


def tile_of(state: DeviceState, *, reader: Reader, live: LiveState) -> Tile:
    """Draw one device."""
    device = state.device
    holders = shown_holders(state.holders, reader=reader)
    look = look_of(state, reader=reader)
    taint = keeping_off(state.taints)
    is_held = state.state is State.HELD
    return Tile(
        key="/".join(state.key),
        device_name=device.name,
        look=look,
        mark=look_of_taint(taint) if taint and is_held else None,
        headline=_headline(state, holders=holders, taint=taint),
        mark_words=taint_in_words(taint) if taint and is_held else "",
        note="" if is_held else _note(state, taint=taint, now=live.now),
        description=_description(state, holders=holders),
        shows_reading=is_held,
        reading=live.reading(state),
        is_unknown=is_held and live.is_unknown(state),
    )


def look_of(state: DeviceState, *, reader: Reader) -> Look:
    """Say what fills the tile of a device in this state."""
    match state.state:
        case State.FREE:
            return Look.FREE
        case State.UNAVAILABLE:
            return Look.UNAVAILABLE
        case State.TAINTED:
            taint = keeping_off(state.taints)
            return look_of_taint(taint) if taint else Look.WARN
        case State.HELD:
            is_mine = any(
                reader.owns(holder.claim_namespace)
                for holder in state.holders
                if not holder.admin_access
            )
            return Look.MINE if is_mine else Look.HELD


def model_of(device: Device) -> str:
    """Say what a device is, as in `H100 80 GB` and `A100 partition`."""
    if device.parent:
        return f"{model_in_words(device.product_name, None)} partition"
    return model_in_words(device.product_name, device.memory_bytes)


def look_of_taint(taint: Taint) -> Look:
    """Tell what its driver says of a device from what people want of it."""
    return Look.WARN if taint.rule else Look.SICK


def keeping_off(taints: Sequence[Taint]) -> Taint | None:
    """Pick the taint to show: the first that keeps claims off, the driver's own before rules."""
    effective = [taint for taint in taints if taint.keeps_off]
    return next((taint for taint in effective if not taint.rule), next(iter(effective), None))


def shown_holders(holders: Iterable[Holder], *, reader: Reader) -> tuple[ShownHolder, ...]:
    """Name the holders that the reader may see; the others stay, without a name."""
    return tuple(
        ShownHolder(
            namespace=holder.claim_namespace if reader.sees(holder.claim_namespace) else "",
            name=holder.claim_name if reader.sees(holder.claim_namespace) else "",
            request=holder.request if reader.sees(holder.claim_namespace) else "",
            is_mine=reader.owns(holder.claim_namespace),
            watches_only=holder.admin_access,
            assigned_at=holder.assigned_at,
        )
        for holder in holders
    )


def taint_in_words(taint: Taint) -> str:
    """Say a taint in a word or two: `XID 79` for `gpu.nvidia.com/xid=79`, else its key's name."""
    name = taint.key.rsplit("/", 1)[-1]
    if name == "xid" and taint.value:
        return f"XID {taint.value}"
    return name if taint.rule else WORDS_OF_AGENTS.get(name, name)


def taint_age_in_words(taint: Taint, *, now: datetime) -> str:
    """Say how long a taint has been there; empty if it does not say."""
    added_at = time_of(taint.time_added)
    return "" if added_at is None else age_in_words(now - added_at)


def _headline(state: DeviceState, *, holders: Sequence[ShownHolder], taint: Taint | None) -> str:
    match state.state:
        case State.FREE:
            return "free"
        case State.UNAVAILABLE:
            return "unavailable"
        case State.TAINTED:
            return taint_in_words(taint) if taint else "tainted"
        case State.HELD:
            holding = [holder for holder in holders if not holder.watches_only]
            names = {holder.namespace or HIDDEN_HOLDER for holder in holding}
            name = names.pop() if len(names) == 1 else f"{len(names)} teams"
            return f"{name} ×{len(holding)}" if len(holding) > 1 else name


def _note(state: DeviceState, *, taint: Taint | None, now: datetime) -> str:
    if state.state is State.TAINTED and taint:
        age = taint_age_in_words(taint, now=now)
        return f"for {age}" if age else "tainted"
    return state.reason if state.state is State.UNAVAILABLE else state.device.name


def _description(state: DeviceState, *, holders: Sequence[ShownHolder]) -> str:
    device = state.device
    words = [f"{device.name} on {device.node_name}" if device.node_name else device.name]
    words.append(model_of(device))
    match state.state:
        case State.HELD:
            holding = [holder.label for holder in holders if not holder.watches_only]
            words.append(f"held by {', '.join(holding)}")
            words.extend(f"taint {taint_in_words(taint)}" for taint in state.taints)
        case State.FREE:
            words.append("free")
        case State.TAINTED | State.UNAVAILABLE:
            words.append(f"{state.state}: {state.reason}")
    return " · ".join(words)
