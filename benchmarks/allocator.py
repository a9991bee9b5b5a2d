"""How long the allocator takes on a fleet: `python benchmarks/allocator.py [NODES] [--json FILE]`.

Eight whole GPUs a node, half of them held. Prints a table and writes JSON; asserts nothing,
since absolute times do not travel between machines.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.explanation.explain import explain
from dra_console.allocator.model import JsonObject, ResourceClaim, Snapshot
from dra_console.allocator.search.search import allocate

GPUS_A_NODE = 8
DRIVER = "gpu.nvidia.com"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing; the best of its repetitions."""

    what: str
    milliseconds: float
    repetitions: int


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", type=int, nargs="?", default=500)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    figures = measure(options.nodes)
    print(f"{options.nodes} nodes x {GPUS_A_NODE} GPUs, half held")
    for figure in figures:
        print(f"{figure.milliseconds:12.3f} ms  {figure.what} (best of {figure.repetitions})")
    if options.json:
        options.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=2))


def measure(nodes: int) -> list[Figure]:
    """Measure decoding, fits, hopeless claims and explanations."""
    objects = fleet(nodes)
    world = decode_snapshot(objects)
    one = wanting(1)
    hopeless = wanting(GPUS_A_NODE)
    return [
        best("decode every object", lambda: decode_snapshot(objects), repetitions=3),
        best("first claim on a cold index", lambda: first_fit(decode_snapshot(objects), one), 3),
        best("one claim, warm", lambda: first_fit(world, one), repetitions=20),
        best("hopeless claim, every node", lambda: first_fit(world, hopeless), repetitions=3),
        best("explain a hopeless claim", lambda: explain(world, [hopeless]), repetitions=3),
    ]


def best(what: str, act: Callable[[], object], repetitions: int) -> Figure:
    """Time an act several times and keep the shortest."""
    shortest = min(timed(act) for _ in range(repetitions))
    return Figure(what, shortest * 1000, repetitions)


def timed(act: Callable[[], object]) -> float:
    """Time one act, in seconds."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def first_fit(world: Snapshot, claim: ResourceClaim) -> None:
    """Try nodes in order until the claim fits."""
    for node in world.nodes:
        if hasattr(allocate(world, [claim], node=node), "results"):
            return


def fleet(nodes: int) -> list[JsonObject]:
    """Build nodes, their slices, one class, and claims that hold every other GPU."""
    names = [f"node-{number:05d}" for number in range(nodes)]
    selector = f'device.driver == "{DRIVER}"'
    objects: list[JsonObject] = [
        an_object("DeviceClass", "gpu", {"selectors": [{"cel": {"expression": selector}}]})
    ]
    for name in names:
        objects.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        pool: JsonObject = {"name": name, "generation": 1, "resourceSliceCount": 1}
        devices = [a_gpu(number) for number in range(GPUS_A_NODE)]
        spec: JsonObject = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": [*devices]}
        objects.append(an_object("ResourceSlice", name, spec))
        objects.append(a_holder(name))
    return objects


def an_object(kind: str, name: str, spec: JsonObject) -> JsonObject:
    """Build an object of the group."""
    metadata: JsonObject = {"name": name}
    if kind == "ResourceClaim":
        metadata["namespace"] = "team"
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def a_gpu(number: int) -> JsonObject:
    """Build one device."""
    return {
        "name": f"gpu-{number}",
        "attributes": {"productName": {"string": "NVIDIA H100 80GB HBM3"}},
        "capacity": {"memory": {"value": "80Gi"}},
    }


def a_holder(node: str) -> JsonObject:
    """Build a claim that holds every other GPU of a node."""
    claim = an_object("ResourceClaim", f"holder-{node}", {"devices": {"requests": []}})
    claim["status"] = {
        "allocation": {
            "devices": {
                "results": [
                    {"request": "gpu", "driver": DRIVER, "pool": node, "device": f"gpu-{number}"}
                    for number in range(0, GPUS_A_NODE, 2)
                ]
            }
        }
    }
    return claim


def wanting(count: int) -> ResourceClaim:
    """Build a pending claim for so many GPUs."""
    exactly: JsonObject = {"deviceClassName": "gpu", "count": count}
    request: JsonObject = {"name": "gpu", "exactly": exactly}
    return decode_claim(an_object("ResourceClaim", "asks", {"devices": {"requests": [request]}}))


if __name__ == "__main__":
    main()
