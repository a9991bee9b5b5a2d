"""Kubelet, scheduler and pods of one node, as far as a driver's claims depend on them.

Kubelet keeps in memory which claims are prepared and on disk which claims its pods use. So after
a restart it asks again for what is prepared, and still undoes what its last pod leaves
(node-agent.md 2.1).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from nodeagent.claims.entry import PlannedDevice
from nodeagent.claims.prepare import Refusal
from nodeagent.devices.model import Device
from nodeagent.fields import JsonObject
from tests.builders.agents import AgentNode, reference_to


@dataclass(slots=True)
class Kubelet:
    """What kubelet does with pods and their claims. Claims go by their UID."""

    node: AgentNode
    claims: dict[str, JsonObject] = field(default_factory=dict)
    """On disk: every claim that a pod of the node uses, as it was when the pod came."""

    pods: dict[str, str] = field(default_factory=dict)
    """On disk: the claim of each pod that may run, by the pod's name."""

    prepared: set[str] = field(default_factory=set)
    """In memory only."""

    def start(self, pod: str, claim: JsonObject) -> bool:
        """Try to start a pod; what failed is tried again by `sync`."""
        uid = reference_to(claim).uid
        self.pods[pod] = uid
        self.claims.setdefault(uid, claim)
        return self._prepare([uid])

    def sync(self) -> None:
        """Go on with whatever is due: claims to prepare, and claims that no pod uses any more."""
        for uid in self.unused():
            self._unprepare(uid)
        for uid in sorted(set(self.pods.values()) - self.prepared):
            self._prepare([uid])

    def stop(self, pod: str) -> None:
        """End a pod; its claim is undone with its last user."""
        del self.pods[pod]
        for uid in self.unused():
            self._unprepare(uid)

    def restart(self) -> None:
        """Forget what is in memory."""
        self.prepared.clear()

    def unused(self) -> list[str]:
        """Return the claims that wait to be undone."""
        return sorted(set(self.claims) - set(self.pods.values()))

    def _prepare(self, uids: list[str]) -> bool:
        references = [reference_to(self.claims[uid]) for uid in uids]
        answers = self.node.preparer.prepare(references)
        assert set(answers) == set(uids)
        for uid, answer in answers.items():
            if isinstance(answer, Refusal):
                return False
            self._check(uid, answer)
            self.prepared.add(uid)
        return True

    def _unprepare(self, uid: str) -> None:
        answers = self.node.preparer.unprepare([reference_to(self.claims[uid])])
        assert set(answers) == {uid}
        if answers[uid] is None:
            self.prepared.discard(uid)
            del self.claims[uid]

    def _check(self, uid: str, devices: Iterable[PlannedDevice]) -> None:
        file = self.node.preparer.injection.store.path_of(uid)
        known = {device["name"] for device in json.loads(file.read_bytes())["devices"]}
        for device in devices:
            assert device.cdi_name in known, "a runtime could not resolve the device"
            assert device.requests, "a device without requests would go to every container"
            assert all("/" not in request for request in device.requests)


def exclude_each_other(one: Device, other: Device) -> bool:
    """Say by the hardware's rules whether two devices can be in use together."""
    if one.gpu.uuid != other.gpu.uuid:
        return False
    if one.partition is None or other.partition is None:
        return True
    return not set(one.partition.slices).isdisjoint(other.partition.slices)


def devices_of(claim: JsonObject, node: AgentNode) -> list[Device]:
    """Return the devices that a claim is allocated."""
    body: Any = claim
    results = body["status"]["allocation"]["devices"]["results"]
    found = [node.inventory.find(result["device"]) for result in results]
    return [device for device in found if device is not None]
