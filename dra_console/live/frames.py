"""The browsers' wire: what they may ask for and what they are told, as JSON text."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from dra_console.telemetry.messages import FrameError
from dra_console.telemetry.readings import STALE_AFTER_SECONDS
from dra_console.telemetry.states import NodeState

ALIVE = '{"alive":true}'
"""Says nothing but that the line is alive, where no topic has anything to say."""

_STALE_AFTER = timedelta(seconds=STALE_AFTER_SECONDS)

Topics: TypeAlias = Annotated[
    tuple[Annotated[str, Meta(max_length=400)], ...], Meta(max_length=1000)
]


class BrowserRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Topics that a page wants from now on, and topics that it no longer wants."""

    subscribe: Topics = ()
    unsubscribe: Topics = ()


_decoder = msgspec.json.Decoder(BrowserRequest)


def decode_request(text: str) -> BrowserRequest:
    """Read what a page asks for.

    Raises:
        FrameError: it is not such a request.

    """
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise FrameError("", f"expected a request for topics: {error}") from error


def changed_frame(topic: str) -> str:
    """Tell that something under the topic changed; the page reads again with its own rights."""
    return _encode({"topic": topic, "changed": True})


def subscribed_frame(
    *,
    subscribed: Iterable[str],
    refused: Iterable[str],
    changed_seconds_ago: Mapping[str, float | None],
) -> str:
    """Answer a request for topics, with the age of their last changes as far as it is known.

    A page that was asked for before a change and subscribed after it can tell that it missed it.
    """
    return _encode(
        {
            "subscribed": sorted(subscribed),
            "refused": sorted(refused),
            "changed_seconds_ago": changed_seconds_ago,
        }
    )


def telemetry_frame(topic: str, state: NodeState, *, seq: int, now: datetime) -> str:
    """Tell everything that is known of a node's devices: whole values, never differences.

    A silent agent's last values stay in it, marked stale; a reading that was not reported is
    null, and a node that never had an agent has no devices.
    """
    latest = state.latest
    return _encode(
        {
            "topic": topic,
            "seq": seq,
            "driver": latest.driver if latest else None,
            "pool": latest.pool if latest else None,
            "source": state.agent.source if state.agent else None,
            "agent_seen_seconds_ago": _seconds_ago(state.last_seen_at, now=now),
            "sample_seconds_ago": _seconds_ago(latest.received_at if latest else None, now=now),
            "devices": {
                device.device: {
                    "utilisation_percent": device.utilisation_percent,
                    "memory_used_bytes": device.memory_used_bytes,
                    "memory_total_bytes": device.memory_total_bytes,
                    "power_milliwatts": device.power_milliwatts,
                    "temperature_celsius": device.temperature_celsius,
                    "sm_clock_megahertz": device.sm_clock_megahertz,
                    "health": device.health,
                    "stale": now - latest.received_at > _STALE_AFTER,
                }
                for device in latest.devices
            }
            if latest
            else {},
        }
    )


def _encode(message: dict[str, object]) -> str:
    return msgspec.json.encode(message).decode()


def _seconds_ago(at: datetime | None, *, now: datetime) -> float | None:
    # Processes' clocks differ a little: the future is now.
    return None if at is None else round(max(0.0, (now - at).total_seconds()), 1)
