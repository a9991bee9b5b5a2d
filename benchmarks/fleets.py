"""Fleets to measure on, as the API objects that real drivers publish.

Devices look like those of NVIDIA's DRA driver: a `uuid` that no other device has, a PCI
address and an index that no other device of the node has, beside what whole racks share
(product, memory, architecture). Uniqueness is the point: two devices here are never equal
attribute for attribute, only in what a claim looks at.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from dra_console.allocator.decoding.decode import decode_snapshot
from dra_console.allocator.model import Json, JsonObject, Snapshot

DRIVER: Final = "gpu.nvidia.com"
PCIE_ROOT: Final = "resource.kubernetes.io/pcieRoot"
WHOLE_GPUS: Final = "gpu"
"""Name of the class of whole GPUs."""
NAMESPACE: Final = "team"


@dataclass(frozen=True, slots=True)
class Board:
    """A model of GPU as its driver reports it."""

    product: str
    architecture: str
    compute_capability: str
    memory: str


H100: Final = Board("NVIDIA H100 80GB HBM3", "Hopper", "9.0.0", "81559Mi")
H200: Final = Board("NVIDIA H200", "Hopper", "9.0.0", "143771Mi")
A100: Final = Board("NVIDIA A100-SXM4-80GB", "Ampere", "8.0.0", "81920Mi")
L40S: Final = Board("NVIDIA L40S", "Ada Lovelace", "8.9.0", "46068Mi")
RACKS: Final = (H100, H100, A100, H100, L40S, H100, A100, H100, H100, H200)
"""Boards of nodes in a row: one kind a node, H100 the most, H200 the rarest."""


@dataclass(frozen=True)
class World:
    """Objects of one cluster; built when asked for, and decoded once for all measurements."""

    name: str
    build: Callable[[], Iterable[JsonObject]]

    @cached_property
    def objects(self) -> Sequence[JsonObject]:
        return tuple(self.build())

    @cached_property
    def snapshot(self) -> Snapshot:
        return decode_snapshot(self.objects)


def gpu_fleet(name: str, *, nodes: int, gpus: int, held: Iterable[tuple[int, int]] = ()) -> World:
    """Describe nodes of whole GPUs. `held` names node and GPU by number."""

    def build() -> Iterator[JsonObject]:
        yield a_class(WHOLE_GPUS, f"{attribute('type')} == 'gpu'")
        for number in range(nodes):
            yield from a_node(node_name(number), [a_gpu(number, index) for index in range(gpus)])
        yield from holders((node_name(number), gpu_name(index)) for number, index in held)

    return World(name, build)


@lru_cache(maxsize=2)
def empty_fleet(*, nodes: int, gpus: int) -> World:
    """Describe a fleet on which nothing is held; many questions are about one, built once."""
    return gpu_fleet(f"{nodes}x{gpus} empty", nodes=nodes, gpus=gpus)


def a_gpu(node: int, index: int) -> JsonObject:
    """Build a whole GPU as a driver publishes it; two of them share a PCIe root."""
    board = RACKS[node % len(RACKS)]
    address = 0x0A + 0x10 * index
    return {
        "name": gpu_name(index),
        "attributes": {
            "type": {"string": "gpu"},
            "uuid": {"string": f"GPU-{uuid5(NAMESPACE_URL, f'{node}/{index}')}"},
            "index": {"int": index},
            "minor": {"int": index},
            "productName": {"string": board.product},
            "brand": {"string": "Nvidia"},
            "architecture": {"string": board.architecture},
            "cudaComputeCapability": {"version": board.compute_capability},
            "driverVersion": {"version": "580.95.5"},
            "cudaDriverVersion": {"version": "13.0.0"},
            "resource.kubernetes.io/pciBusID": {"string": f"0000:{address:02x}:00.0"},
            PCIE_ROOT: {"string": f"pci0000:{address // 0x20 * 0x20:02x}"},
        },
        "capacity": {"memory": {"value": board.memory}},
    }


def a_class(name: str, expression: str) -> JsonObject:
    """Build a DeviceClass with one selector."""
    return an_object("DeviceClass", name, {"selectors": [{"cel": {"expression": expression}}]})


def a_node(name: str, devices: Sequence[JsonObject], **slice_fields: Json) -> list[JsonObject]:
    """Build a node and the one slice of its pool."""
    pool: JsonObject = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec: JsonObject = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": [*devices]}
    node: JsonObject = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    return [node, an_object("ResourceSlice", f"{name}-{DRIVER}", spec | slice_fields)]


def holders(devices: Iterable[tuple[str, str]]) -> Iterator[JsonObject]:
    """Build one allocated claim for each device, given as pool and name."""
    for number, (pool, device) in enumerate(devices):
        result: JsonObject = {"request": "gpu", "driver": DRIVER, "pool": pool, "device": device}
        yield an_allocated_claim(f"holder-{number}", result)


def an_allocated_claim(name: str, result: JsonObject) -> JsonObject:
    """Build a claim that holds what one result names."""
    claim = an_object("ResourceClaim", name, {"devices": {"requests": [{"name": "gpu"}]}})
    claim["status"] = {"allocation": {"devices": {"results": [result]}}}
    return claim


def an_object(kind: str, name: str, spec: JsonObject) -> JsonObject:
    """Build an object of the group; only claims have a namespace."""
    metadata: JsonObject = {"name": name, "uid": str(uuid5(NAMESPACE_URL, f"{kind}/{name}"))}
    if kind == "ResourceClaim":
        metadata["namespace"] = NAMESPACE
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def attribute(name: str) -> str:
    """Write an attribute of the driver in CEL."""
    return f"device.attributes['{DRIVER}'].{name}"


def node_name(number: int) -> str:
    """Name a node so that the order of names is the order of numbers."""
    return f"node-{number:05d}"


def gpu_name(index: int) -> str:
    """Name a GPU as its driver does."""
    return f"gpu-{index}"
