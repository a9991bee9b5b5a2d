"""What is kept from look to look is what a look from nothing would find, whatever happened."""

import random
from datetime import timedelta

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.kinds import BY_PLURAL
from dra_console.mirror.models import Cluster
from dra_console.scheduling.coexistence import watched
from dra_console.scheduling.coexistence.detect import detect
from dra_console.scheduling.coexistence.findings import Finding
from dra_console.scheduling.coexistence.watched import Watched
from dra_console.scheduling.names import MANAGED_TAINT_KEY
from dra_console.scheduling.pace import Pace
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.objects import key_of
from dra_console.sync.reconcile import sweep
from tests.builders.mirrored import SEEN_AT, mirror
from tests.builders.objects import (
    a_class,
    a_counter_set,
    a_device,
    a_node,
    a_pod,
    a_result,
    a_slice,
    a_taint,
    a_taint_rule,
    an_allocated_claim,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_url")]

STEPS = 15
NODES = ("gpu-01", "gpu-02")
DEVICES = ("gpu-0", "gpu-1", "gpu-2")
NAMES = ("a", "b", "c", "d")
SHARE = "00000000-0000-4000-8000-00000000000{}"


class Fate:
    """A cluster to which anything may happen; objects by kind and name, versions counted up."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._objects: dict[tuple[str, str], JsonObject] = {}
        self._version = 0

    def happen(self) -> list[JsonObject]:
        """Change, add or remove a few objects, and return all that there are."""
        for _ in range(self._random.randint(1, 3)):
            one = self._anything()
            key = (str(one["kind"]), str(_metadata(one)["name"]))
            if key in self._objects and self._random.random() < 0.4:
                del self._objects[key]
                continue
            self._version += 1
            _metadata(one)["resourceVersion"] = str(self._version)
            self._objects[key] = one
        return list(self._objects.values())

    def _anything(self) -> JsonObject:
        make = self._random.choice(
            (
                self._claim,
                self._claim,
                self._claim,
                self._slice,
                self._slice,
                self._pod,
                self._class,
                self._node,
                self._rule,
            )
        )
        return make()

    def _claim(self) -> JsonObject:
        pick = self._random.choice
        extra: dict[str, Json] = {}
        if pick((True, False)):
            consumed: Json = {"memory": pick(("20Gi", "60Gi"))}
            extra = {"shareID": SHARE.format(self._random.randint(1, 9))}
            extra["consumedCapacity"] = consumed
        results = [a_result(pick(DEVICES), pool=pick(NODES)) | extra]
        pods = tuple(self._random.sample(NAMES, self._random.randint(0, 2)))
        claim = an_allocated_claim(pick(NAMES), results=results, pods=pods)
        if pick((True, False, False)):
            _metadata(claim)["deletionTimestamp"] = "2026-11-29T20:30:00Z"
        return claim

    def _slice(self) -> JsonObject:
        pick = self._random.choice
        node = pick(NODES)
        counters = a_counter_set("board", {"memory": pick(("40Gi", "80Gi"))})
        generation = self._random.randint(1, 3)
        if pick((True, False, False)):
            return a_slice(
                f"{node}-counters",
                node=node,
                generation=generation,
                slice_count=2,
                sharedCounters=[counters],
            )
        devices = [
            a_device(
                name,
                memory="80Gi",
                attributes={"model": pick(("big", "small"))},
                consumes={"board": {"memory": "40Gi"}} if pick((True, False)) else None,
                taints=[a_taint(effect="NoExecute")] if pick((True, False, False)) else None,
                allowMultipleAllocations=pick((True, False)),
            )
            for name in self._random.sample(DEVICES, self._random.randint(1, 3))
        ]
        count = pick((1, 2))
        return a_slice(
            f"{node}-{pick('xy')}",
            node=node,
            devices=devices,
            generation=generation,
            slice_count=count,
        )

    def _pod(self) -> JsonObject:
        pick = self._random.choice
        phase = pick(("Pending", "Running", "Succeeded", "Failed"))
        scheduler = pick(("dra-console", "default-scheduler"))
        name = pick(NAMES)
        return a_pod(name, claim=name, node=pick(NODES), phase=phase, scheduler=scheduler)

    def _class(self) -> JsonObject:
        model = self._random.choice(("big", "small", "other"))
        return a_class(selectors=[f'device.attributes["gpu.nvidia.com"].model == "{model}"'])

    def _node(self) -> JsonObject:
        node = a_node(self._random.choice(NODES))
        status = self._random.choice(("True", "False"))
        return {**node, "status": {"conditions": [{"type": "Ready", "status": status}]}}

    def _rule(self) -> JsonObject:
        key, effect = self._random.choice(
            ((MANAGED_TAINT_KEY, "NoSchedule"), ("team/drain", "NoExecute"))
        )
        return a_taint_rule(taint=a_taint(key, "", effect), pool=self._random.choice(NODES))


def _metadata(one: JsonObject) -> dict[str, Json]:
    metadata = one["metadata"]
    assert isinstance(metadata, dict)
    return metadata


def mirror_exactly(cluster: Cluster, objects: list[JsonObject], *, step: int) -> None:
    """Mirror what there is, and remove what there is not."""
    seen_at = SEEN_AT + timedelta(minutes=step)
    mirror(cluster, *objects, seen_at=seen_at)
    for plural in MIRRORED:
        kind = BY_PLURAL[plural]
        listed = {key_of(one) for one in objects if one["kind"] == kind.kind}
        sweep(cluster, kind=kind, listed=listed, seen_at=seen_at)


def findings(known: Watched) -> dict[tuple[str, str], Finding]:
    known.refresh(Pace())
    return {(one.kind, one.key): one for one in detect(known.world())}


@pytest.mark.parametrize("seed", range(2))
def test_what_is_kept_is_what_would_be_found_from_nothing(db: None, seed: int) -> None:
    del db
    cluster = Cluster.objects.create(name="test", kubeconfig="/nowhere")
    kept = Watched(cluster)
    fate = Fate(seed)
    kinds: set[str] = set()

    for step in range(STEPS):
        mirror_exactly(cluster, fate.happen(), step=step)
        found = findings(kept)
        assert found == findings(Watched(cluster)), f"after step {step}"
        kinds |= {kind for kind, _ in found}

    assert len(kinds) >= 5, "little happened"


def test_a_look_rests_after_every_few_claims_and_pools(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    del db
    cluster = Cluster.objects.create(name="test", kubeconfig="/nowhere")
    names = [f"gpu-{number:02}" for number in range(6)]
    held = [an_allocated_claim(name, results=[a_result("gpu-0", pool=name)]) for name in names]
    mirror(cluster, *held, *(a_slice(name, node=name) for name in names), seen_at=SEEN_AT)
    monkeypatch.setattr(watched, "CLAIMS_AT_ONCE", 2)
    monkeypatch.setattr(watched, "POOLS_AT_ONCE", 3)
    rests: list[int] = []
    monkeypatch.setattr(Pace, "rest", lambda _: rests.append(1))

    Watched(cluster).refresh(Pace())

    assert len(rests) == 6 // 2 + 6 // 3
