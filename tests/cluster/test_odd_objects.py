"""What a real API server takes and sends, however odd: it is mirrored, by list and by watch."""

import json
from collections.abc import Mapping

import pytest
import redis

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.models import Cluster as MirroredCluster
from dra_console.mirror.models import ObjectProblem, Pool
from dra_console.scheduling.world.snapshot import read_snapshot
from tests.builders.objects import a_claim, a_device, a_pod, a_slice, unborn
from tests.cluster.rig import Cluster
from tests.integration.sync.windows import differences, follow_for, meanwhile

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
POD_PATH = "/api/v1/namespaces/default/pods"

PARAMETERS: Mapping[str, bytes] = {
    "surrogate": rb'{"a":"half \ud800 pair","\udc00":1}',
    "no-utf8": b'{"a":"\xff\xfe"}',
    "nul": rb'{"a\u0000":"\u0000"}',
    "deep": b'{"a":' + b"[" * 4900 + b"]" * 4900 + b"}",
    "large-number": b'{"a":123456789012345678901234567890,"b":18446744073709551616}',
    "twice": b'{"a":1,"a":2}',
}
"""What claims say to their driver, passed on by the server as it stands."""

AMOUNTS = ("1e3", "0.5", "1Ki", "1E", "100m", "-4", "1e99999", "9" * 5000)


@pytest.fixture(autouse=True)
def no_leases(redis_url: str) -> None:
    client = redis.Redis.from_url(redis_url)
    client.flushdb()
    client.close()


def test_odd_objects_are_mirrored_as_the_server_has_them(cluster: Cluster) -> None:
    lab = MirroredCluster.objects.create(name="lab", kubeconfig=str(cluster.kubeconfig))
    create_odd_objects(cluster, suffix="listed")

    for kind, create in (
        (RESOURCE_CLAIMS, create_odd_claims),
        (RESOURCE_SLICES, create_odd_slices),
        (PODS, create_odd_pods),
    ):
        with meanwhile(lambda create=create: create(cluster, suffix="watched")):  # type: ignore[misc]  # bound now, as the next turn binds it anew
            follow_for(lab, kind=kind, seconds=8)
        assert differences(lab, kind) == {}, kind.plural

    told = set(ObjectProblem.objects.values_list("name", flat=True))
    assert told == {f"{name}-{way}" for name in ("nul", "deep") for way in ("listed", "watched")}
    assert {pool.name for pool in Pool.objects.exclude(problem="")} == {
        f"amount-{number}-{way}" for number in (6, 7) for way in ("listed", "watched")
    }
    left_out = {each.name for each in read_snapshot(lab).unreadable}
    assert left_out == {pool.name for pool in Pool.objects.exclude(problem="")}


def create_odd_objects(cluster: Cluster, *, suffix: str) -> None:
    create_odd_claims(cluster, suffix=suffix)
    create_odd_slices(cluster, suffix=suffix)
    create_odd_pods(cluster, suffix=suffix)


def create_odd_claims(cluster: Cluster, *, suffix: str) -> None:
    for name, parameters in PARAMETERS.items():
        opaque: JsonObject = {"opaque": {"driver": "gpu.nvidia.com", "parameters": {"here": 1}}}
        claim = unborn(a_claim(f"{name}-{suffix}", namespace="default", config=[opaque]))
        body = json.dumps(claim).encode().replace(b'{"here": 1}', parameters)
        cluster.api.create_bytes(CLAIMS, body)
    large = unborn(a_claim(f"large-{suffix}", namespace="default"))
    metadata = large["metadata"]
    assert isinstance(metadata, dict)
    metadata["finalizers"] = [f"example.com/{number:060}" for number in range(17_000)]
    cluster.api.create(CLAIMS, large)


def create_odd_slices(cluster: Cluster, *, suffix: str) -> None:
    for number, amount in enumerate(AMOUNTS):
        name = f"amount-{number}-{suffix}"
        cluster.api.create(
            SLICES, unborn(a_slice(name, pool=name, devices=[a_device(memory=amount)]))
        )
    full = [
        a_device(f"d{number}", attributes={f"a{each}": "x" * 64 for each in range(31)})
        for number in range(128)
    ]
    cluster.api.create(
        SLICES, unborn(a_slice(f"full-{suffix}", pool=f"full-{suffix}", devices=full))
    )


def create_odd_pods(cluster: Cluster, *, suffix: str) -> None:
    pod = unborn(a_pod(f"many-{suffix}", namespace="default", claim="x"))
    spec, metadata = pod["spec"], pod["metadata"]
    assert isinstance(spec, dict)
    assert isinstance(metadata, dict)
    spec["resourceClaims"] = [
        {"name": f"gpu-{number}" if number else "gpu", "resourceClaimName": f"claim-{number}"}
        for number in range(300)
    ]
    metadata["annotations"] = {"note": "naïve ☃ 😀 \u202eright to left"}
    cluster.api.create(POD_PATH, pod)
