"""Fill a mirror and look for conflicts in it: a program of its own for each database.

`python -m benchmarks.looking --nodes N --claims N` reads the console's settings from the
environment, wants an empty database, and prints one JSON array.
"""

import argparse
import json
import resource
import time
from collections.abc import Iterator
from typing import Any, Final

import django

django.setup()

from django.core.management import call_command  # noqa: E402 - Django had to be set up first
from django.utils import timezone  # noqa: E402

from benchmarks.fleets import WHOLE_GPUS, node_name  # noqa: E402
from benchmarks.mirror_objects import Fleet, created_at, version  # noqa: E402
from dra_console.allocator.model import JsonObject  # noqa: E402
from dra_console.kube.kinds import (  # noqa: E402
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from dra_console.mirror.models import Cluster, Cursor  # noqa: E402
from dra_console.scheduling.coexistence.look import look  # noqa: E402
from dra_console.sync.reconcile import apply  # noqa: E402

KINDS: Final = (
    NODES,
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    RESOURCE_SLICES,
    PODS,
    RESOURCE_CLAIMS,
)
GPUS: Final = 8
KIBIBYTES_IN_A_MEBIBYTE: Final = 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--claims", type=int, required=True)
    options = parser.parse_args()
    fleet = Fleet(nodes=options.nodes, gpus=GPUS, claims=options.claims)
    call_command("migrate", verbosity=0)
    cluster = Cluster.objects.create(name="bench", kubeconfig="/nowhere")
    for kind in KINDS:
        _mirror(cluster, kind, fleet, turn=0)

    steps = [_step(cluster, "the first of a process"), _step(cluster, "nothing has changed")]
    claim = fleet.a_claim(1, writes=2)
    apply(cluster, kind=RESOURCE_CLAIMS, objects=[claim], seen_at=timezone.now())
    _follow(cluster, RESOURCE_CLAIMS, turn=1)
    steps.append(_step(cluster, "one claim has changed"))
    for kind in (RESOURCE_CLAIMS, PODS, NODES):
        _follow(cluster, kind, turn=2)
    steps.append(_step(cluster, "claims, pods and nodes were heard of"))
    device_class = _a_class('device.driver == "another.example"', turn=3)
    apply(cluster, kind=DEVICE_CLASSES, objects=[device_class], seen_at=timezone.now())
    _follow(cluster, DEVICE_CLASSES, turn=3)
    steps.append(_step(cluster, "the class of all claims matches no device any more"))
    print(json.dumps(steps))


def _step(cluster: Cluster, name: str) -> dict[str, object]:
    wall, cpu = time.perf_counter(), time.process_time()
    look(cluster)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "look": name,
        "seconds": round(time.perf_counter() - wall, 3),
        "cpu_seconds": round(time.process_time() - cpu, 3),
        "memory_mebibytes": peak // KIBIBYTES_IN_A_MEBIBYTE,
    }


def _mirror(cluster: Cluster, kind: Kind, fleet: Fleet, *, turn: int) -> None:
    some: list[JsonObject] = []
    for one in _objects(kind, fleet):
        some.append(one)
        if len(some) == 500:  # noqa: PLR2004 - as lists come in pages
            apply(cluster, kind=kind, objects=some, seen_at=timezone.now())
            some = []
    apply(cluster, kind=kind, objects=some, seen_at=timezone.now())
    _follow(cluster, kind, turn=turn)


def _follow(cluster: Cluster, kind: Kind, *, turn: int) -> None:
    """Move the cursor, as the watch does with each batch."""
    Cursor.objects.update_or_create(
        cluster=cluster,
        plural=kind.plural,
        defaults={"resource_version": str(turn), "listed_at": timezone.now()},
    )


def _objects(kind: Kind, fleet: Fleet) -> Iterator[JsonObject]:
    if kind in {RESOURCE_SLICES, RESOURCE_CLAIMS}:
        yield from fleet.objects(kind, changed=False)
    elif kind == DEVICE_CLASSES:
        yield _a_class("true", turn=0)
    elif kind == NODES:
        for number in range(fleet.nodes):
            ready: JsonObject = {"conditions": [{"type": "Ready", "status": "True"}]}
            yield {**_object(kind, node_name(number), number), "status": ready}
    elif kind == PODS:
        for number in filter(fleet.is_held, range(fleet.claims)):
            yield _a_pod(number, fleet)


def _a_pod(number: int, fleet: Fleet) -> JsonObject:
    claim: Any = fleet.a_claim(number, writes=0)
    owner = claim["metadata"]["ownerReferences"][0]
    pod: Any = _object(PODS, owner["name"], number)
    pod["metadata"] |= {"uid": owner["uid"], "namespace": claim["metadata"]["namespace"]}
    node = fleet.device_of(number) // fleet.gpus
    entry = {"name": "gpu", "resourceClaimName": claim["metadata"]["name"]}
    pod["spec"] = {"nodeName": node_name(node), "resourceClaims": [entry]}
    pod["status"] = {"phase": "Running"}
    made: JsonObject = pod
    return made


def _a_class(expression: str, *, turn: int) -> JsonObject:
    made: Any = _object(DEVICE_CLASSES, WHOLE_GPUS, 0)
    made["metadata"]["resourceVersion"] = version(0, turn)
    selectors = [{"cel": {"expression": expression}}]
    return {**made, "spec": {"selectors": selectors}}


def _object(kind: Kind, name: str, number: int) -> JsonObject:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": name,
            "uid": f"{kind.plural}-{number}",
            "resourceVersion": version(number, 0),
            "creationTimestamp": created_at(number),
        },
    }


if __name__ == "__main__":
    main()
