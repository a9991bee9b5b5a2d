"""Nodes with devices that can be split, and templates that want whole ones or parts.

Each node publishes one pool: a slice of counters, and one of partitions, which draw on them.
A whole device takes all four quarters of a board, a half two. So two allocations that overlap
are two that the counters do not allow, though no device is in both.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject, object_of, objects_of
from dra_console.scheduling.names import MANAGED_TAINT_KEY, RESERVE_AHEAD_LABEL
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_request,
    a_slice,
    a_taint_rule,
    a_template,
    unborn,
)

DRIVER: Final = "gpu.example.com"
BOARDS: Final = 4
QUARTERS: Final = {"whole": 4, "half": 2, "quarter": 1}
PAUSE: Final = "registry.k8s.io/pause:3.10"


def slices(node: str) -> Iterator[JsonObject]:
    """Publish the boards of a node."""
    sets: list[Json] = [
        {"name": f"board-{board}", "counters": {"quarters": {"value": "4"}}}
        for board in range(BOARDS)
    ]
    yield unborn(
        a_slice(f"{node}-counters", node=node, driver=DRIVER, slice_count=2, sharedCounters=sets)
    )
    devices = [
        _partition(board, size, number)
        for board in range(BOARDS)
        for size, quarters in QUARTERS.items()
        for number in range(4 // quarters)
    ]
    yield unborn(
        a_slice(f"{node}-devices", node=node, driver=DRIVER, slice_count=2, devices=devices)
    )


def classes() -> Iterator[JsonObject]:
    """Make a class of each size."""
    for size in QUARTERS:
        selector = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].size == "{size}"'
        yield unborn(a_class(size, selectors=[selector]))


def templates(namespace: str) -> Iterator[JsonObject]:
    """Make a template of each size, one of two quarters of one board, and one of a choice."""
    for size in QUARTERS:
        yield _template(size, namespace, [a_request("gpu", device_class=size)])
    pair = [a_request("gpu", device_class="quarter", count=2)]
    match: list[JsonObject] = [{"matchAttribute": f"{DRIVER}/board"}]
    yield _template("pair", namespace, pair, match)
    choice: JsonObject = {
        "name": "gpu",
        "firstAvailable": [
            {"name": size, "deviceClassName": size, "allocationMode": "ExactCount", "count": 1}
            for size in ("half", "quarter")
        ],
    }
    yield _template("choice", namespace, [choice])


def pod(name: str, namespace: str, template: str, *, scheduler: str) -> JsonObject:
    """Make a pod with one claim from a template."""
    container: JsonObject = {
        "name": "main",
        "image": PAUSE,
        "resources": {"claims": [{"name": "gpu"}], "requests": {"cpu": "10m", "memory": "16Mi"}},
    }
    spec: JsonObject = {
        "schedulerName": scheduler,
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def pod_with_claim(name: str, namespace: str, claim: str) -> JsonObject:
    """Make a pod of kube-scheduler that uses a claim which is there."""
    made = pod(name, namespace, "", scheduler="default-scheduler")
    references: list[Json] = [{"name": "gpu", "resourceClaimName": claim}]
    return {**made, "spec": {**object_of(made["spec"]), "resourceClaims": references}}


def reserved_ahead(name: str, namespace: str, size: str) -> JsonObject:
    """Make a claim that the console is to allocate before any pod uses it."""
    made = unborn(
        a_claim(name, namespace=namespace, requests=[a_request("gpu", device_class=size)])
    )
    labels: JsonObject = {RESERVE_AHEAD_LABEL: "true"}
    return {**made, "metadata": {**object_of(made["metadata"]), "labels": labels}}


def managed(pool: str) -> JsonObject:
    """Make the rule that keeps a pool's devices for the console."""
    taint: JsonObject = {"key": MANAGED_TAINT_KEY, "effect": "NoSchedule"}
    return unborn(a_taint_rule(f"managed-{pool}", taint=taint, driver=DRIVER, pool=pool))


@dataclass(slots=True)
class Books:
    """Who holds what, kept claim by claim; finds the moment at which something is held twice."""

    held: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Pool and device of each claim, by the claim's UID."""

    taken: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Quarters that are taken of each pool's boards."""

    holders: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    changes: int = 0

    def take(self, happened: str, claim: JsonObject) -> None:
        """Keep the books on after a change of a claim."""
        metadata = object_of(claim["metadata"])
        uid, name = str(metadata["uid"]), f"{metadata['namespace']}/{metadata['name']}"
        now = [] if happened == "DELETED" else devices_of(claim)
        before = self.held.get(uid, [])
        if now == before:
            return
        self.changes += 1
        self._count(before, -1)
        self._count(now, 1)
        self.held[uid] = now
        for pool, device in now:
            if self.holders[pool, device] > 1:
                self.faults.append(f"{pool}/{device} is held twice since {name}")
            board = device.split("-")[0]
            if self.taken[pool, board] > 4:
                self.faults.append(f"board {board} of {pool} is overbooked since {name}")

    def _count(self, devices: Iterable[tuple[str, str]], sign: int) -> None:
        for pool, device in devices:
            board, size, *_ = device.split("-")
            self.holders[pool, device] += sign
            self.taken[pool, board] += sign * QUARTERS[size]


def devices_of(claim: JsonObject) -> list[tuple[str, str]]:
    """List pool and device of what a claim holds."""
    allocation = object_of(object_of(claim.get("status")).get("allocation"))
    results = objects_of(object_of(allocation.get("devices")).get("results"))
    return [(str(each["pool"]), str(each["device"])) for each in results]


def _partition(board: int, size: str, number: int) -> JsonObject:
    attributes: Mapping[str, Json] = {"size": size, "board": board}
    return a_device(
        f"b{board}-{size}-{number}",
        memory=f"{20 * QUARTERS[size]}Gi",
        attributes=dict(attributes),
        consumes={f"board-{board}": {"quarters": str(QUARTERS[size])}},
    )


def _template(
    name: str,
    namespace: str,
    requests: list[JsonObject],
    constraints: list[JsonObject] | None = None,
) -> JsonObject:
    return unborn(a_template(name, namespace=namespace, requests=requests, constraints=constraints))
