"""Worlds of devices that are used in parts: MIG partitions with counters, shared capacity."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from benchmarks.fleets import (
    DRIVER,
    H100,
    World,
    a_class,
    a_gpu,
    a_node,
    an_allocated_claim,
    attribute,
    gpu_name,
    holders,
    node_name,
)
from dra_console.allocator.model import Json, JsonObject

PARTITIONS: Final = "mig"
SHARED_GPUS: Final = "shared"
"""Names of the classes of MIG partitions and of GPUs that several claims may share."""
PARENT: Final = f"{DRIVER}/parentUUID"
BOARD_SLICES: Final = 7
BOARD_MEMORY_GIBIBYTES: Final = 80


@dataclass(frozen=True, slots=True)
class Profile:
    """A MIG profile: how many of the seven slices it takes, how much memory, how often."""

    name: str
    slices: int
    memory_gibibytes: int
    placements: int


PROFILES: Final = (
    Profile("1g.10gb", 1, 10, 7),
    Profile("1g.20gb", 1, 20, 4),
    Profile("2g.20gb", 2, 20, 3),
    Profile("3g.40gb", 3, 40, 2),
)
"""Sixteen partitions a board; four boards make the 64 of B4."""


def partitioned_fleet(
    name: str, *, nodes: int, boards: int, held: Iterable[tuple[int, int, str]] = ()
) -> World:
    """Describe nodes of MIG boards. `held` names node, board and partition such as `1g.10gb-0`."""

    def build() -> Iterator[JsonObject]:
        yield a_class(PARTITIONS, f"{attribute('type')} == 'mig'")
        for number in range(nodes):
            yield from _partitioned_node(number, boards=boards)
        yield from holders(
            (node_name(number), partition_name(board, partition))
            for number, board, partition in held
        )

    return World(name, build)


def partition_name(board: int, partition: str) -> str:
    """Name a device: `gpu-0-1g-10gb-3`."""
    return f"{gpu_name(board)}-{partition.replace('.', '-')}"


def _partitioned_node(number: int, *, boards: int) -> Iterator[JsonObject]:
    # Counter sets and the devices that draw on them may not share a slice, and a slice
    # with drawing devices has at most 64 of them.
    node = node_name(number)
    counter_sets: list[Json] = [
        {
            "name": f"{gpu_name(board)}-counters",
            "counters": {
                "slices": {"value": str(BOARD_SLICES)},
                "memory": {"value": f"{BOARD_MEMORY_GIBIBYTES}Gi"},
            },
        }
        for board in range(boards)
    ]
    devices = [
        _partition(number, board, profile, placement)
        for board in range(boards)
        for profile in PROFILES
        for placement in range(profile.placements)
    ]
    pool: Json = {"name": node, "generation": 1, "resourceSliceCount": 2}
    yield from a_node(node, devices, pool=pool)
    yield _counter_slice(node, counter_sets, pool)


def _counter_slice(node: str, counter_sets: list[Json], pool: Json) -> JsonObject:
    _node, published = a_node(f"{node}-counters", [])
    published["spec"] = {
        "driver": DRIVER,
        "nodeName": node,
        "pool": pool,
        "sharedCounters": counter_sets,
    }
    return published


def _partition(number: int, board: int, profile: Profile, placement: int) -> JsonObject:
    parent = uuid5(NAMESPACE_URL, f"{number}/{board}")
    own = uuid5(NAMESPACE_URL, f"{number}/{board}/{profile.name}/{placement}")
    return {
        "name": partition_name(board, f"{profile.name}-{placement}"),
        "attributes": {
            "type": {"string": "mig"},
            "uuid": {"string": f"MIG-{own}"},
            "parentUUID": {"string": f"GPU-{parent}"},
            "parentIndex": {"int": board},
            "profile": {"string": profile.name},
            "placementStart": {"int": placement},
            "productName": {"string": H100.product},
        },
        "capacity": {"memory": {"value": f"{profile.memory_gibibytes}Gi"}},
        "consumesCounters": [
            {
                "counterSet": f"{gpu_name(board)}-counters",
                "counters": {
                    "slices": {"value": str(profile.slices)},
                    "memory": {"value": f"{profile.memory_gibibytes}Gi"},
                },
            }
        ],
    }


def shared_fleet(name: str, *, nodes: int, gpus: int, booked_nodes: int, booked: int) -> World:
    """Describe nodes of GPUs whose memory is shared out in steps of 1Gi.

    On the first `booked_nodes` nodes every GPU has `booked` of its 80 Gi booked already.
    """

    def build() -> Iterator[JsonObject]:
        expression = f"device.allowMultipleAllocations && {attribute('type')} == 'gpu'"
        yield a_class(SHARED_GPUS, expression)
        for number in range(nodes):
            devices = [_shared_gpu(number, index) for index in range(gpus)]
            yield from a_node(node_name(number), devices)
        for number in range(booked_nodes):
            yield from (_share(number, index, f"{booked}Gi") for index in range(gpus))

    return World(name, build)


def _shared_gpu(number: int, index: int) -> JsonObject:
    policy: JsonObject = {
        "default": "1Gi",
        "validRange": {"min": "1Gi", "max": f"{BOARD_MEMORY_GIBIBYTES}Gi", "step": "1Gi"},
    }
    memory: JsonObject = {"value": f"{BOARD_MEMORY_GIBIBYTES}Gi", "requestPolicy": policy}
    return a_gpu(number, index) | {
        "allowMultipleAllocations": True,
        "capacity": {"memory": memory},
    }


def _share(number: int, index: int, amount: str) -> JsonObject:
    return an_allocated_claim(
        f"share-{number}-{index}",
        {
            "request": "gpu",
            "driver": DRIVER,
            "pool": node_name(number),
            "device": gpu_name(index),
            "shareID": str(uuid5(NAMESPACE_URL, f"share/{number}/{index}")),
            "consumedCapacity": {"memory": amount},
        },
    )
