"""How an entry stands in the checkpoint.

Members that this version does not know are kept, at a device as at an entry: the agent that wrote
them may come back and need them to undo its work (node-agent.md 2.6).
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from nodeagent.claims.entry import Entry, PlannedDevice, State
from nodeagent.claims.sharing import sharing_from_json, sharing_to_json
from nodeagent.fields import FieldError, Fields, Json, JsonObject

_ENTRY_MEMBERS: Final = frozenset(
    {
        "uid", "namespace", "name", "state", "resourceVersion", "changedAt", "devices", "error",
    }
)  # fmt: skip
_DEVICE_MEMBERS: Final = frozenset(
    {
        "requests", "pool", "device", "cdiName", "parentUUID", "uuid", "pciBusID", "migProfileID",
        "migStart", "migSize", "gpuInstanceID", "computeInstanceID", "makesPartition", "migMode",
        "sharing", "shareID", "consumed", "adminAccess",
    }
)  # fmt: skip


def entry_to_json(entry: Entry) -> JsonObject:
    """Write an entry down, with what a newer agent had added to it."""
    devices: list[Json] = [_device_to_json(device) for device in entry.devices]
    written: JsonObject = {
        **entry.unknown,
        "uid": entry.uid,
        "namespace": entry.namespace,
        "name": entry.name,
        "state": entry.state.value,
        "resourceVersion": entry.resource_version,
        "changedAt": entry.changed_at.isoformat(),
        "devices": devices,
    }
    if entry.error is not None:
        written["error"] = entry.error
    return written


def entry_from_json(fields: Fields) -> Entry:
    """Read an entry.

    Raises:
        FieldError: a member is missing, of the wrong kind, or a state is not known.

    """
    state = fields.text("state")
    if state not in tuple(State):
        raise FieldError(f"{fields.path}.state: {state!r} is no known state")
    return Entry(
        uid=fields.text("uid"),
        namespace=fields.text("namespace"),
        name=fields.text("name"),
        state=State(state),
        resource_version=fields.text("resourceVersion"),
        changed_at=_moment(fields, "changedAt"),
        devices=tuple(_device_from_json(device) for device in fields.objects("devices")),
        error=fields.optional_text("error"),
        unknown=_others(fields, known=_ENTRY_MEMBERS),
    )


def entry_salvaged(claim_uid: str, written: Json) -> Entry:
    """Make of an entry that cannot be read what is needed to keep its devices, and to undo it."""
    fields = Fields(written if isinstance(written, dict) else {}, claim_uid)
    listed = fields.value.get("devices")
    return Entry(
        uid=claim_uid,
        namespace="",
        name="",
        state=State.COMPLETED,
        resource_version="",
        changed_at=datetime.now(UTC),
        devices=tuple(_devices_salvaged(listed if isinstance(listed, list) else [])),
    )


def _devices_salvaged(listed: list[Json]) -> Iterator[PlannedDevice]:
    for device in listed:
        try:
            yield _device_from_json(Fields.of(device, "device"))
        except FieldError:
            # Without a name and a place there is nothing to undo.
            continue


def _moment(fields: Fields, name: str) -> datetime:
    written = fields.text(name)
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        raise FieldError(f"{fields.path}.{name}: {written!r} is no time") from None
    if moment.tzinfo is None:
        raise FieldError(f"{fields.path}.{name}: {written!r} has no time zone")
    return moment


def _device_to_json(device: PlannedDevice) -> JsonObject:
    requests: list[Json] = list(device.requests)
    consumed: JsonObject = dict(device.consumed)
    written: JsonObject = {
        **device.unknown,
        "requests": requests,
        "pool": device.pool,
        "device": device.device,
        "cdiName": device.cdi_name,
        "parentUUID": device.parent_uuid,
        "uuid": device.uuid,
        "pciBusID": device.pci_bus_id,
        "migProfileID": device.mig_profile_id,
        "migStart": device.mig_start,
        "migSize": device.mig_size,
        "gpuInstanceID": device.gpu_instance_id,
        "computeInstanceID": device.compute_instance_id,
        "makesPartition": device.makes_partition or None,
        "migMode": device.mig_mode,
        "shareID": device.share_id,
        "consumed": consumed or None,
        "adminAccess": device.admin_access or None,
    }
    if device.sharing is not None:
        written["sharing"] = sharing_to_json(device.sharing)
    return {name: value for name, value in written.items() if value is not None}


def _device_from_json(fields: Fields) -> PlannedDevice:
    consumed = fields.optional_object("consumed")
    sharing = sharing_from_json(fields.value.get("sharing"))
    # A way of sharing that only another version knows is its to undo: it must not get lost.
    known = _DEVICE_MEMBERS if sharing is not None else _DEVICE_MEMBERS - {"sharing"}
    return PlannedDevice(
        requests=fields.texts("requests"),
        pool=fields.text("pool"),
        device=fields.text("device"),
        cdi_name=fields.text("cdiName"),
        parent_uuid=fields.optional_text("parentUUID"),
        uuid=fields.optional_text("uuid"),
        pci_bus_id=fields.optional_text("pciBusID"),
        mig_profile_id=fields.optional_integer("migProfileID"),
        mig_start=fields.optional_integer("migStart"),
        mig_size=fields.optional_integer("migSize"),
        gpu_instance_id=fields.optional_integer("gpuInstanceID"),
        compute_instance_id=fields.optional_integer("computeInstanceID"),
        makes_partition=fields.flag("makesPartition"),
        mig_mode=fields.flag("migMode") if "migMode" in fields.value else None,
        sharing=sharing,
        share_id=fields.optional_text("shareID"),
        consumed=_amounts(consumed) if consumed else MappingProxyType({}),
        admin_access=fields.flag("adminAccess"),
        unknown=_others(fields, known=known),
    )


def _amounts(consumed: Fields) -> MappingProxyType[str, str]:
    return MappingProxyType({name: consumed.text(name) for name in consumed.value})


def _others(fields: Fields, *, known: frozenset[str]) -> MappingProxyType[str, Json]:
    return MappingProxyType(
        {name: value for name, value in fields.value.items() if name not in known}
    )
