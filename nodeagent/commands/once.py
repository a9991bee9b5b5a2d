"""`--once`: what the agent sees of this node's GPUs at this moment, as JSON. Writes nothing.

The members stay what they are while `schema` is 1; more may come. Units stand in their names, and
what a board does not tell is null.
"""

from dataclasses import asdict
from datetime import UTC, datetime

from nodeagent.config import Config
from nodeagent.devices.details import Details
from nodeagent.devices.errors import DevicesError
from nodeagent.devices.events import Vitals
from nodeagent.devices.model import Device, Inventory, Reading
from nodeagent.fields import Json, JsonObject
from nodeagent.gpus import gpus_to_watch
from nodeagent.health.assess import Evidence, Policy, assess
from nodeagent.health.incidents import Memory
from nodeagent.health.report import DeviceHealth, HealthReport

SCHEMA = 1


def once(config: Config, *, now: datetime | None = None) -> JsonObject:
    """Discover, read once and judge; without a driver the member `absence` says why."""
    at = now or datetime.now(UTC)
    gpus = gpus_to_watch(config)
    absence: str | None = None
    readings: tuple[Reading, ...] = ()
    details: tuple[Details, ...] = ()
    vitals: tuple[Vitals, ...] = ()
    inventory = Inventory((), gpus.source)
    try:
        inventory = Inventory.of(gpus.discover(), source=gpus.source)
        readings = gpus.read()
        details = gpus.details()
        vitals = gpus.vitals()
    except DevicesError as error:
        absence = str(error)
    finally:
        gpus.close()
    policy = Policy(
        driver=config.driver,
        fatal_effect=config.fatal_effect,
        application_xids=config.application_xids,
    )
    known = {one.gpu_uuid: one for one in vitals}
    evidence = Evidence(vitals=known, memory=Memory(), at=at, absence=absence)
    health = assess(inventory, evidence, policy=policy, before=HealthReport())
    return {
        "schema": SCHEMA,
        "at": at.isoformat(timespec="seconds"),
        "node": config.node_name,
        "driver": config.driver,
        "source": inventory.source.value,
        "absence": absence,
        "devices": [_device(device) for device in inventory.devices],
        "readings": [_plain(asdict(reading)) for reading in readings],
        "details": [_details(one) for one in details],
        "vitals": [_plain(asdict(one)) for one in vitals],
        "health": [_health(one) for one in health],
    }


def _device(device: Device) -> JsonObject:
    gpu, partition = device.gpu, device.partition
    if partition is not None:
        return {
            "name": device.name,
            "uuid": device.uuid,
            "gpu": gpu.name,
            "profile": partition.profile.name,
            "start": partition.start,
            "memory_mebibytes": partition.profile.memory_mebibytes,
        }
    facts = asdict(gpu)
    # Its partitions are devices of their own, and the serial names one board for ever.
    del facts["partitions"], facts["serial"]
    return {"name": device.name, **_plain(facts)}


def _details(one: Details) -> JsonObject:
    told = asdict(one)
    # Whose processes they are is looked up by an agent that goes on.
    del told["processes"], told["process_count"]
    return _plain(told)


def _health(one: DeviceHealth) -> JsonObject:
    return {
        "device": one.device,
        "status": one.status.value,
        "message": one.message,
        "taints": [
            {"key": taint.key, "value": taint.value, "effect": taint.effect.value}
            for taint in one.taints
        ],
    }


def _plain(facts: dict[str, object]) -> JsonObject:
    return {name: _json(value) for name, value in facts.items()}


def _json(value: object) -> Json:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        # Words of enumerations as well.
        return str(value)
    if isinstance(value, dict):
        return {str(name): _json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_json(one) for one in value]
    raise TypeError(f"{type(value).__name__} has no JSON")
