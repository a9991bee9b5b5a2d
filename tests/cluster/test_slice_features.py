"""What the node agent publishes on real API servers, with each feature gate on and off.

There is one set of binaries (Kubernetes 1.37), which can serve every version of resource.k8s.io
that the agent speaks and emulate three older releases. Of the gates that matter here none is
locked in 1.37. For each set the API server is restarted once, and a new agent starts at an empty
store: nothing that it really writes may be refused, and what the server drops costs devices only
where they would not be safe without.
"""

import dataclasses
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from nodeagent.devices.model import Device, Inventory, Source
from nodeagent.devices.profiles import gpus
from nodeagent.devices.taint import Taint
from nodeagent.kube.client import Client
from nodeagent.kube.resources import Resources
from nodeagent.publish import learning
from tests.builders.agents import a_gpu
from tests.builders.publication import LOST, SICK, UNWATCHED
from tests.cluster.publishing import NODE, SLICES, devices_of, publishing, settled, wipe
from tests.cluster.rig import Cluster
from tests.cluster.workloads import DRIVER, eventually

TAINTS, COUNTERS = "DRADeviceTaints", "DRAPartitionableDevices"
SHARES, LISTS = "DRAConsumableCapacity", "DRAListTypeAttributes"
GATES = (TAINTS, COUNTERS, SHARES, LISTS)
ALL_VERSIONS = ("v1", "v1beta2", "v1beta1")


@pytest.fixture(scope="module")
def cluster_options() -> dict[str, Any]:
    return {"resource_versions": ALL_VERSIONS}


@pytest.fixture(scope="module", autouse=True)
def _node(cluster: Cluster) -> None:
    cluster.add_node(NODE)


def configure(cluster: Cluster, **options: Any) -> None:
    """Restart the API server if it runs with other options now."""
    wanted = {
        "resource_versions": ALL_VERSIONS,
        "feature_gates": {},
        "apiserver_flags": (),
        **options,
    }
    now = cluster.apiserver.options
    if any(getattr(now, name) != value for name, value in wanted.items()):
        cluster.apiserver.reconfigure(**wanted)


Taints = Mapping[str, tuple[Taint, ...]]


def everything() -> tuple[Inventory, Taints]:
    """Devices and taints that make use of every feature."""
    (mig, *_) = gpus("a100x2-mig", node_name=NODE)
    hopper = gpus("h100x8", node_name=NODE, is_dynamic=True)[1]
    plain = [
        a_gpu(4, pci_bus_id="0000:f4:00.0", numa_node=1, near_numa_nodes=(1, 0)),
        a_gpu(5, pci_bus_id="0000:f5:00.0"),
        a_gpu(6, pci_bus_id="0000:f6:00.0"),
    ]
    taints = {"gpu-5": (SICK,), "gpu-6": (UNWATCHED,)}
    return Inventory.of([mig, hopper, *plain], source=Source.SIMULATED), taints


@dataclass(frozen=True)
class ServerSet:
    """How the API server runs, and which of the gates are on then."""

    name: str
    on: frozenset[str]
    options: dict[str, Any]


def gates(*, off: tuple[str, ...] = ()) -> dict[str, Any]:
    settings = {gate: gate not in off for gate in GATES}
    # The rules' gate does not start without that of the taints.
    return {"feature_gates": {**settings, "DRADeviceTaintRules": TAINTS not in off}}


def a_set(name: str, *, off: tuple[str, ...] = (), **options: Any) -> ServerSet:
    return ServerSet(name, frozenset(GATES) - set(off), {**gates(off=off), **options})


SETS = [
    a_set("all-on"),
    *(a_set(f"without-{gate}", off=(gate,)) for gate in GATES),
    a_set("all-off", off=GATES),
    a_set("all-on-v1beta2", resource_versions=("v1beta2",)),
    a_set("all-on-v1beta1", resource_versions=("v1beta1",)),
    a_set("all-off-v1beta1", off=GATES, resource_versions=("v1beta1",)),
    *(
        ServerSet(
            f"emulated-{release}",
            frozenset({TAINTS, COUNTERS, SHARES} if release == "1.36" else ()),
            {"apiserver_flags": (f"--emulated-version={release}",)},
        )
        for release in ("1.36", "1.35", "1.34")
    ),
]


@pytest.mark.parametrize("served", SETS, ids=lambda served: served.name)
def test_no_slice_is_refused_and_what_is_dropped_costs_only_what_is_unsafe_without(
    cluster: Cluster, served: ServerSet
) -> None:
    configure(cluster, **served.options)
    inventory, taints = everything()

    def is_expected(device: Device) -> bool:
        is_safe = device.partition is None or COUNTERS in served.on
        return is_safe and (device.name != "gpu-5" or TAINTS in served.on)

    expected = [device.name for device in inventory.devices if is_expected(device)]

    with publishing(cluster, shares=2) as running:
        running.publisher.offer(inventory, taints)
        specs = settled(cluster, lambda specs: list(devices_of(specs)) == expected)
        sent = len(running.resources.sent)
        running.publisher.check_now()
        time.sleep(1)

        assert running.resources.refused == []
        assert len(running.resources.sent) == sent

    devices = devices_of(specs)
    assert ("consumesCounters" in devices["gpu-1"]) == (COUNTERS in served.on)
    assert any(spec.get("sharedCounters") for spec in specs) == (COUNTERS in served.on)
    assert ("taints" in devices["gpu-6"]) == (TAINTS in served.on)
    assert devices["gpu-4"].get("allowMultipleAllocations", False) == (SHARES in served.on)
    assert ("requestPolicy" in devices["gpu-4"]["capacity"]["memory"]) == (SHARES in served.on)
    numa_node = devices["gpu-4"]["attributes"]["resource.kubernetes.io/numaNode"]
    assert numa_node == ({"ints": [1, 0]} if LISTS in served.on else {"int": 1})
    if TAINTS in served.on:
        assert devices["gpu-5"]["taints"][0]["timeAdded"]


@pytest.fixture
def _hours_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "LOOK_SECONDS", 2.0)


@pytest.mark.usefixtures("_hours_are_short")
def test_a_gate_that_is_switched_on_is_noticed_at_the_next_hourly_look(cluster: Cluster) -> None:
    configure(cluster, **gates(off=(TAINTS, COUNTERS)))
    inventory, taints = everything()
    with publishing(cluster) as running:
        running.publisher.offer(inventory, taints)
        settled(cluster, lambda specs: "gpu-5" not in devices_of(specs))

        configure(cluster, **gates())
        everybody = {device.name for device in inventory.devices}
        settled(cluster, lambda specs: set(devices_of(specs)) == everybody)
        assert running.resources.refused == []


def test_a_server_that_refuses_the_layout_of_its_version_gets_the_other_one(
    cluster: Cluster,
) -> None:
    """A provider's version that says less than the server can: this one refuses 1.34's layout."""
    configure(cluster)
    inventory, _ = everything()
    with publishing(cluster, pretended_version="v1.34.7-provider.3") as running:
        running.publisher.offer(inventory)
        settled(cluster, lambda specs: len(devices_of(specs)) == len(inventory.devices))

        assert running.resources.refused == [], "a dry run finds it out"


@pytest.mark.usefixtures("_hours_are_short")
def test_an_agent_steps_down_and_up_with_the_versions_that_are_served(cluster: Cluster) -> None:
    configure(cluster)
    inventory, taints = everything()
    with publishing(cluster) as running:
        running.publisher.offer(inventory)
        settled(cluster, lambda specs: len(devices_of(specs)) == len(inventory.devices))

        configure(cluster, resource_versions=("v1beta1",))
        running.publisher.offer_taints(taints)
        settled(cluster, lambda specs: "taints" in devices_of(specs)["gpu-5"])
        assert running.resources.version() == "v1beta1"

        configure(cluster)
        # As if the server said that it is another one.
        running.resources.pretended_version = "v1.38.0"
        running.publisher.offer_taints({})
        settled(cluster, lambda specs: "taints" not in devices_of(specs)["gpu-5"])
        eventually(lambda: running.resources.version() == "v1")


def test_slices_come_back_however_often_kubelet_wipes_them_and_others_are_left_alone(
    cluster: Cluster,
) -> None:
    configure(cluster)
    inventory, taints = everything()
    pool = {"name": "network", "generation": 1, "resourceSliceCount": 1}
    networked = {"driver": DRIVER, "allNodes": True, "pool": pool, "devices": [{"name": "nic"}]}
    other = {**networked, "nodeName": "gpu-02"}
    del other["allNodes"]
    neighbour = {**other, "nodeName": NODE, "driver": "other.example.com"}
    foreign = {"networked": networked, "other-node": other, "other-driver": neighbour}
    for name, spec in foreign.items():
        cluster.api.create(SLICES, {"metadata": {"name": name}, "spec": spec})

    with publishing(cluster) as running:
        running.publisher.offer(inventory, taints)
        before = devices_of(settled(cluster, lambda specs: "gpu-5" in devices_of(specs)))
        names = {item["metadata"]["name"] for item in cluster.api.get(SLICES)["items"]}
        assert set(foreign) <= names
        for _ in range(3):
            wipe(cluster)
        after = devices_of(settled(cluster, lambda specs: "gpu-5" in devices_of(specs)))

        assert after == before, "taints keep the time at which they were added"
        left = {item["metadata"]["name"] for item in cluster.api.get(SLICES)["items"]}
        assert {"networked", "other-node"} <= left
    for name in ("networked", "other-node"):
        cluster.api.delete(f"{SLICES}/{name}")


def sixteen_by_forty() -> Inventory:
    (gpu, *_) = gpus("a100x2-mig", node_name=NODE)
    partitions = tuple(
        dataclasses.replace(
            place, profile=dataclasses.replace(place.profile, id=place.profile.id + 100 * (n // 25))
        )
        for n, place in enumerate((gpu.partitions * 2)[:40])
    )
    found = [
        dataclasses.replace(
            gpu, minor=n, uuid=f"GPU-{n}", pci_bus_id=f"0000:{n:02x}:00.0", partitions=partitions
        )
        for n in range(16)
    ]
    return Inventory.of(found, source=Source.SIMULATED)


@dataclass
class Consumer:
    """Somebody who watches the pool, as a scheduler does, and times how long it is of no use."""

    client: Client
    generations: list[int] = field(default_factory=list)
    longest_gap_seconds: float = 0.0
    _slices: dict[str, tuple[int, int]] = field(default_factory=dict)
    _useless_since: float | None = None

    def follow(self, resource_version: str, seconds: int) -> None:
        resources = Resources(self.client, driver=DRIVER, node_name=NODE)
        for event in resources.watch_slices(
            resource_version=resource_version, window_seconds=seconds
        ):
            body: Any = event.object
            if event.type == "BOOKMARK":
                continue
            pool = body["spec"]["pool"]
            name = body["metadata"]["name"]
            if event.type == "DELETED":
                self._slices.pop(name, None)
            else:
                self._slices[name] = pool["generation"], pool["resourceSliceCount"]
                self.generations.append(pool["generation"])
            self._time()

    def _time(self) -> None:
        now = time.monotonic()
        newest = max(self._slices.values(), default=(0, 1))
        is_complete = sum(one == newest for one in self._slices.values()) == newest[1]
        if self._useless_since is not None:
            self.longest_gap_seconds = max(self.longest_gap_seconds, now - self._useless_since)
        self._useless_since = None if is_complete else self._useless_since or now


def test_taints_flapping_at_ten_hertz_on_sixteen_gpus_of_forty_partitions(
    cluster: Cluster,
) -> None:
    configure(cluster)
    inventory = sixteen_by_forty()
    by_gpu: dict[int, list[str]] = {}
    for device in inventory.devices:
        by_gpu.setdefault(device.gpu.minor, []).append(device.name)
    with publishing(cluster) as running:
        running.publisher.offer(inventory)
        settled(cluster, lambda specs: len(devices_of(specs)) == 640)
        client = Client.from_kubeconfig(str(cluster.kubeconfig))
        consumer = Consumer(client)
        listed = Resources(client, driver=DRIVER, node_name=NODE).slices()
        for item in listed.items:
            body: Any = item
            pool = body["spec"]["pool"]
            consumer._slices[body["metadata"]["name"]] = (
                pool["generation"],
                pool["resourceSliceCount"],
            )
        watching = threading.Thread(
            target=consumer.follow, args=(listed.resource_version, 14), daemon=True
        )
        watching.start()
        running.resources.sent.clear()

        until = time.monotonic() + 10
        turn = 0
        while time.monotonic() < until:
            turn += 1
            sick = [gpu for gpu in (3, 7) if turn // (gpu - 2) % 2]
            running.publisher.offer_taints(
                {name: (LOST if gpu == 3 else SICK,) for gpu in sick for name in by_gpu[gpu]}
            )
            time.sleep(0.1)
        running.publisher.offer_taints(dict.fromkeys(by_gpu[7], (SICK,)))
        final = settled(
            cluster,
            lambda specs: (
                {name for name, one in devices_of(specs).items() if "taints" in one}
                == set(by_gpu[7])
            ),
        )
        watching.join(60)
        sent = list(running.resources.sent)

    assert running.resources.refused == []
    assert len(devices_of(final)) == 640
    for name in {name for _, name, _ in sent}:
        times = [at for at, sent_name, _ in sent if sent_name == name]
        assert all(later - earlier >= 1 for earlier, later in pairwise(times)), name
    generations = [generation for _, _, generation in sent]
    assert generations == sorted(generations)
    assert consumer.generations == sorted(consumer.generations)
    assert len({name for _, name, _ in sent}) == 2, "the slices of the two GPUs, and no others"
    assert consumer.longest_gap_seconds < 2
