"""Devices that have to be prepared before a pod may be bound (binding conditions, KEP-5007).

An allocated device may name conditions in `status.allocation.devices.results[]`; drivers report
them in `status.devices[].conditions`. The claim alone says how far it is, so nobody has to
stay waiting for it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.model import Json, JsonObject
from dra_console.scheduling.writing.claim_status import allocation_of, name_of
from dra_console.scheduling.writing.times import moment_of

DEVICE_FIELDS: Final = ("driver", "pool", "device")


@dataclass(frozen=True, slots=True)
class Preparing:
    """Some device is not ready yet, and there is time until `until`."""

    reason: str
    until: datetime


@dataclass(frozen=True, slots=True)
class NotPrepared:
    """A device of `claim` will not become ready: it failed, or its time is over."""

    claim: JsonObject
    reason: str


def has_binding_conditions(allocation: JsonObject | None) -> bool:
    """Tell whether any allocated device has to be prepared."""
    return any(result.get("bindingConditions") for result in _results(allocation))


def preparation_of(
    claims: Iterable[JsonObject], *, now: datetime, timeout: timedelta
) -> Preparing | NotPrepared | None:
    """Say how far the devices of a pod's claims are; None: all are ready.

    A claim that does not say when it was allocated has its whole time before it.
    """
    waiting: list[Preparing] = []
    for claim in claims:
        allocation = allocation_of(claim)
        since = moment_of((allocation or {}).get("allocationTimestamp"))
        until = (since or now) + timeout
        for result in _results(allocation):
            wanted = _texts(result.get("bindingConditions"))
            if not wanted:
                continue
            conditions = _conditions(claim, result)
            if failure := _failure(claim, result, conditions):
                return NotPrepared(claim, failure)
            lacking = [each for each in wanted if _status(conditions, each) != "True"]
            if not lacking:
                continue
            device = f"{result.get('driver')}/{result.get('pool')}/{result.get('device')}"
            if now >= until:
                return NotPrepared(
                    claim,
                    f"device binding timeout: claim={name_of(claim)}, device {device} did not"
                    f" become {', '.join(lacking)} within {timeout.total_seconds():.0f} s",
                )
            reason = (
                f"waiting for binding conditions: claim={name_of(claim)}, device {device} is not"
                f" {', '.join(lacking)} yet"
            )
            waiting.append(Preparing(reason, until))
    return min(waiting, key=lambda each: each.until, default=None)


def _failure(claim: JsonObject, result: JsonObject, conditions: Iterable[JsonObject]) -> str | None:
    failures = _texts(result.get("bindingFailureConditions"))
    for condition in conditions:
        if condition.get("type") in failures and condition.get("status") == "True":
            return (
                f"device binding failed: claim={name_of(claim)},"
                f" reason={condition.get('reason', '')},"
                f' message="{condition.get("message", "")}"'
            )
    return None


def _conditions(claim: JsonObject, result: JsonObject) -> list[JsonObject]:
    for device in objects_of(object_of(claim.get("status")).get("devices")):
        if all(device.get(field) == result.get(field) for field in DEVICE_FIELDS):
            return objects_of(device.get("conditions"))
    return []


def _status(conditions: Iterable[JsonObject], name: str) -> Json:
    return next((each.get("status") for each in conditions if each.get("type") == name), None)


def _results(allocation: JsonObject | None) -> list[JsonObject]:
    return objects_of(object_of((allocation or {}).get("devices")).get("results"))


def _texts(values: Json) -> list[str]:
    return [each for each in values if isinstance(each, str)] if isinstance(values, list) else []
