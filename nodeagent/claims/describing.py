"""Tell containers about the devices of a prepared claim, if the administrator wants that.

It is a courtesy: whatever goes wrong with it is logged, and the claim is prepared all the same
(KEP-5304, node-agent.md 3.8).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import structlog

from nodeagent.cdi.errors import CdiError
from nodeagent.cdi.metadata import Description
from nodeagent.cdi.metadata_files import MetadataFiles
from nodeagent.cdi.spec import qualified_name
from nodeagent.claims.allocation import AllocatedClaim
from nodeagent.claims.entry import PlannedDevice
from nodeagent.devices.model import Device, Inventory, Source
from nodeagent.fields import Json, JsonObject

log = structlog.get_logger()

Attributes = Callable[[Device, Source], Mapping[str, Json]]
"""A device's attributes as they stand in its slice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Describing:
    """The descriptions of one driver's claims."""

    files: MetadataFiles
    attributes: Attributes | None
    """`None`: containers are told nothing. What was told before is still removed in its time."""

    def describe(
        self, claim: AllocatedClaim, devices: Sequence[PlannedDevice], inventory: Inventory
    ) -> None:
        """Write down what each request of a prepared claim was given."""
        if self.attributes is None:
            return
        try:
            for description in self._descriptions(claim, devices, inventory):
                self.files.write(description)
        except (CdiError, OSError) as error:
            log.warning("devices not described", claim=claim.uid, reason=str(error))

    def forget(self, claim_uid: str) -> None:
        """Remove what was written about a claim."""
        try:
            self.files.remove(claim_uid)
        except OSError as error:
            log.warning("description of devices not removed", claim=claim_uid, reason=str(error))

    def cdi_ids(self, claim_uid: str, devices: Sequence[PlannedDevice]) -> list[list[str]]:
        """Return the CDI ids of each device: its own, then of requests that it is the first of.

        Kubelet takes the first id for the device's identity in the health of pods.
        """
        requests = dict.fromkeys(request for device in devices for request in device.requests)
        told = {} if self.attributes is None else dict(self.files.ids(claim_uid, requests))
        return [
            [
                qualified_name(self.files.driver, device.cdi_name),
                *(told.pop(request) for request in device.requests if request in told),
            ]
            for device in devices
        ]

    def _descriptions(
        self, claim: AllocatedClaim, devices: Iterable[PlannedDevice], inventory: Inventory
    ) -> Iterator[Description]:
        planned = {(one.pool, one.device, one.share_id): one for one in devices}
        by_request: dict[str, list[JsonObject]] = {}
        for result in claim.results:
            known = planned.get((result.pool, result.device, result.share_id))
            if result.driver == self.files.driver and known is not None:
                described = self._described(known, inventory)
                by_request.setdefault(result.request, []).append(described)
        for request, described_devices in by_request.items():
            yield Description(
                claim_namespace=claim.namespace,
                claim_name=claim.name,
                claim_uid=claim.uid,
                pod_claim_name=claim.pod_claim_name,
                request=request,
                devices=tuple(described_devices),
            )

    def _described(self, planned: PlannedDevice, inventory: Inventory) -> JsonObject:
        device = inventory.find(planned.device)
        attributes: JsonObject = {}
        if device is not None and self.attributes is not None:
            attributes |= self.attributes(device, inventory.source)
        if planned.uuid is not None:
            # The slice cannot say it of a partition that is made for the claim.
            attributes.setdefault("uuid", {"string": planned.uuid})
        return {
            "driver": self.files.driver,
            "pool": planned.pool,
            "name": planned.device,
            "attributes": attributes,
        }
