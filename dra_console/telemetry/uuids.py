"""Samples of an agent that stands beside another vendor's driver, under that driver's names.

Such an agent publishes nothing and knows the hardware only: it calls a GPU by its minor number,
and the driver that published it may have called another one so. What both know is the UUID, which
drivers publish as the attribute `uuid`. A reading of a device that nobody published is left out;
its name could be another device's.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from dra_console.mirror.models import Device
from dra_console.telemetry.messages import Hello, Sample


@dataclass(frozen=True, slots=True)
class PublishedNames:
    """The pool of one driver's devices on one node, and their names by UUID."""

    pool: str | None
    """`None`: the driver publishes no device with a UUID there."""

    devices: Mapping[str, str]

    def applied_to(self, sample: Sample) -> Sample:
        """Return the sample with the published names, and only with what is published."""
        named = tuple(
            msgspec.structs.replace(device, device=name)
            for device in sample.devices
            if device.uuid is not None and (name := self.devices.get(device.uuid))
        )
        return msgspec.structs.replace(sample, devices=named)


def published_names(cluster_id: int, hello: Hello) -> PublishedNames:
    """Read how the agent's driver has named the devices of its node.

    A driver has one pool a node; of several, the one with the most devices counts.
    """
    rows = Device.objects.filter(
        cluster_id=cluster_id, driver=hello.driver, node_name=hello.node
    ).values_list("pool", "name", "attributes")
    found = [
        (pool, name, uuid)
        for pool, name, attributes in rows
        if (uuid := _uuid(attributes, hello.driver))
    ]
    pools = Counter(pool for pool, _, _ in found)
    if not pools:
        return PublishedNames(None, {})
    chosen = min(pools, key=lambda pool: (-pools[pool], pool))
    return PublishedNames(chosen, {uuid: name for pool, name, uuid in found if pool == chosen})


def _uuid(attributes: object, driver: str) -> str | None:
    if not isinstance(attributes, dict):
        return None
    for name in ("uuid", f"{driver}/uuid"):
        attribute = attributes.get(name)
        if isinstance(attribute, dict) and isinstance(text := attribute.get("string"), str):
            return text
    return None
