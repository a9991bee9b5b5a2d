"""The cluster that the rounds are played on, and what users and drivers do in it."""

import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, NotFoundError
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from dra_console.kube.transport import Request
from dra_console.mirror.models import Cluster, Cursor, Pod, ResourceClaim
from dra_console.scheduling.names import RESERVE_AHEAD_LABEL
from dra_console.sync.reconcile import apply
from tests.builders.objects import (
    CLASS,
    NAMESPACE,
    a_claim,
    a_class,
    a_device,
    a_pod,
    a_request,
    a_result,
    a_slice,
    an_allocation,
)
from tests.integration.scheduling.faults.history import FINALIZER, results_of
from tests.integration.scheduling.fleet import a_ready_node, create, make_fleet

NODE_NAMES: Final = ("gpu-01", "gpu-02", "gpu-03")
SLOW_NODE: Final = "gpu-04"
"""Its devices have to be prepared (binding conditions)."""

DEVICES_PER_NODE: Final = 6
SLOW_DRIVER: Final = "slow.example.com"
CORDONED: Final = "gpu-99"
CHANGING: Final = (PODS, RESOURCE_CLAIMS)
STANDING: Final = (NAMESPACES, NODES, DEVICE_CLASSES, RESOURCE_SLICES)


@dataclass(slots=True)
class Stage:
    """One API server, spoken to directly, and its mirror."""

    client: Client
    cluster: Cluster
    dice: random.Random
    names: int = 0
    waits_for_driver: set[str] = field(default_factory=set)

    def build(self) -> None:
        """Make what stays the same in all rounds."""
        make_fleet(
            self.client,
            *NODE_NAMES,
            CORDONED,
            devices_per_node=DEVICES_PER_NODE,
            cordoned=(CORDONED,),
        )
        create(self.client, a_ready_node(SLOW_NODE))
        create(self.client, a_class(SLOW_DRIVER, driver=SLOW_DRIVER))
        slow = [
            a_device(
                f"slow-{number}",
                bindsToNode=True,
                bindingConditions=["Attached"],
                bindingFailureConditions=["Broken"],
            )
            for number in range(DEVICES_PER_NODE)
        ]
        create(self.client, a_slice(node=SLOW_NODE, driver=SLOW_DRIVER, devices=slow))
        self.mirror(STANDING)
        self.mirror()

    def mirror(self, kinds: Sequence[Kind] = CHANGING) -> None:
        """Let the mirror show what the API server has."""
        for kind in kinds:
            listed = self.client.list(kind)
            apply(self.cluster, kind=kind, objects=listed.items, seen_at=datetime.now(UTC))
            self._set_cursor(kind, listed.resource_version)

    def users(self) -> None:
        """Create a round's pods and claims."""
        dice = self.dice
        kinds = ["one", "two", "shared", "misplaced", "slow", "ahead"]
        for kind in ["one", *dice.choices(kinds, k=dice.randint(2, 4))]:
            getattr(self, f"_{kind}")()

    def drivers(self) -> None:
        """Report on devices that are to be prepared: most are, some fail."""
        for claim in self.claims():
            results = (
                claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results")
            )
            for result in results or ():
                if result["driver"] != SLOW_DRIVER or "devices" in claim["status"]:
                    continue
                fails = self.dice.random() < 0.2
                condition = {
                    "type": "Broken" if fails else "Attached",
                    "status": "True",
                    "reason": "Test",
                    "message": "",
                    "lastTransitionTime": "2026-11-30T06:00:00Z",
                }
                device = {key: result[key] for key in ("driver", "pool", "device")}
                claim["status"]["devices"] = [{**device, "conditions": [condition]}]
                self._try_to_replace(claim, "status")

    def controllers(self) -> None:
        """Take back what is reserved for pods that are gone, as kube-controller-manager does."""
        uids = {pod["metadata"]["uid"] for pod in self.pods()}
        for claim in self.claims():
            reserved = claim.get("status", {}).get("reservedFor", [])
            kept = [each for each in reserved if each["uid"] in uids]
            if len(kept) == len(reserved):
                continue
            status = {**claim["status"], "reservedFor": kept} if kept else {}
            freed: Any = self.client.replace(
                RESOURCE_CLAIMS, {**claim, "status": status}, subresource="status"
            )
            if not kept:
                metadata = {**freed["metadata"], "finalizers": []}
                self.client.replace(RESOURCE_CLAIMS, {**freed, "metadata": metadata})

    def disturb(self) -> str:
        """Do what users and others may do at any moment; return what it was."""
        dice = self.dice
        deed = dice.choice(["nothing", "delete a pod", "touch a claim", *["be first"] * 3])
        if deed == "be first":
            self._pod(self._claim(), priority=1000)
        if deed == "delete a pod":
            unbound = [pod for pod in self.pods() if not pod["spec"].get("nodeName")]
            if unbound:
                self._delete(PODS, dice.choice(unbound)["metadata"]["name"])
        if deed == "touch a claim":
            claim = dice.choice(self.claims() or [None])
            if claim is not None:
                claim["metadata"].setdefault("labels", {})["touched"] = str(dice.random())
                self._try_to_replace(claim, None)
        return deed

    def claims(self) -> list[Any]:
        return self.client.list(RESOURCE_CLAIMS, namespace=NAMESPACE).items

    def pods(self) -> list[Any]:
        return self.client.list(PODS, namespace=NAMESPACE).items

    def clear(self) -> None:
        """Take away a round's pods and claims, and the mirror's rows of them."""
        for pod in self.pods():
            self._delete(PODS, pod["metadata"]["name"])
        for claim in self.claims():
            freed: Any = claim
            if claim.get("status"):
                freed = self.client.replace(
                    RESOURCE_CLAIMS, {**claim, "status": {}}, subresource="status"
                )
            if freed["metadata"].get("finalizers"):
                metadata = {**freed["metadata"], "finalizers": []}
                self.client.replace(RESOURCE_CLAIMS, {**freed, "metadata": metadata})
            self._delete(RESOURCE_CLAIMS, claim["metadata"]["name"])
        self._exchange("DELETE", EVENTS.path(NAMESPACE))
        ResourceClaim.objects.filter(cluster=self.cluster).delete()
        Pod.objects.filter(cluster=self.cluster).delete()
        self.mirror()

    def _one(self) -> None:
        claim = self._claim()
        self._pod(claim)

    def _two(self) -> None:
        self._pod(self._claim(), self._claim())

    def _shared(self) -> None:
        claim = self._claim()
        for _ in range(2):
            self._pod(claim)

    def _misplaced(self) -> None:
        """A claim was allocated where its pod may not run by now."""
        name = self._claim()
        taken = {
            result["device"]
            for claim in self.claims()
            for result in results_of(claim)
            if result["pool"] == CORDONED
        }
        free = [f"gpu-{n}" for n in range(DEVICES_PER_NODE) if f"gpu-{n}" not in taken]
        claim: Any = self.client.get(RESOURCE_CLAIMS, name, namespace=NAMESPACE)
        claim["metadata"]["finalizers"] = [FINALIZER]
        claim = self.client.replace(RESOURCE_CLAIMS, claim)
        result = a_result(free[0], pool=CORDONED)
        pod: JsonObject = {"resource": "pods", "name": "pod", "uid": self._pod(name)}
        allocation = an_allocation(result, node=CORDONED)
        claim["status"] = {"allocation": allocation, "reservedFor": [pod]}
        self.client.replace(RESOURCE_CLAIMS, claim, subresource="status")

    def _slow(self) -> None:
        self._pod(self._claim(device_class=SLOW_DRIVER))

    def _ahead(self) -> None:
        self._claim(labels={RESERVE_AHEAD_LABEL: "true"})

    def _claim(self, *, device_class: str = CLASS, labels: JsonObject | None = None) -> str:
        name = self._name("claim")
        claim: Any = a_claim(name, requests=[a_request(device_class=device_class)])
        claim["metadata"]["labels"] = labels or {}
        create(self.client, claim)
        return name

    def _pod(self, *claims: str, priority: int = 0) -> str:
        pod: Any = a_pod(self._name("pod"), claim=claims[0])
        for number, claim in enumerate(claims[1:]):
            pod["spec"]["resourceClaims"].append(
                {"name": f"more-{number}", "resourceClaimName": claim}
            )
        pod["spec"]["priority"] = priority
        made = create(self.client, pod)
        return str(made["metadata"]["uid"])

    def _name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}-{self.names}"

    def _try_to_replace(self, claim: JsonObject, subresource: str | None) -> None:
        """Write as somebody who gives way when others are faster."""
        try:
            self.client.replace(RESOURCE_CLAIMS, claim, subresource=subresource)
        except ApiError as error:
            if error.status not in {404, 409}:
                raise

    def _delete(self, kind: Kind, name: str) -> None:
        with contextlib.suppress(NotFoundError):
            self._exchange("DELETE", kind.path(NAMESPACE, name), gracePeriodSeconds=0)

    def _exchange(self, method: str, path: str, **options: int) -> None:
        body: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        self.client.session.exchange(Request(method, path, body=body))

    def _set_cursor(self, kind: Kind, version: str) -> None:
        Cursor.objects.update_or_create(
            cluster=self.cluster,
            plural=kind.plural,
            defaults={"resource_version": version, "listed_at": datetime.now(UTC)},
        )
