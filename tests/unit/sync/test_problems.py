from datetime import UTC, datetime

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.kube.lenient import LEFT_OUT
from dra_console.mirror.models import Cluster, Device, ObjectProblem, ResourceClaim, ResourceSlice
from dra_console.sync.objects import DEEPEST_LEVEL, ObjectKey
from dra_console.sync.reconcile import apply, sweep
from tests.builders.objects import NAMESPACE, a_claim, a_device, a_slice, an_allocated_claim
from tests.unit.sync.rows import at_version, rows_of

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
TOO_LONG = "x" * 300


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="prod")


def see(cluster: Cluster, *claims: JsonObject) -> None:
    apply(cluster, kind=RESOURCE_CLAIMS, objects=claims, seen_at=NOON)


def problems() -> dict[str, str]:
    return dict(ObjectProblem.objects.values_list("name", "message"))


def unwritable(name: str = "odd", version: int = 1) -> JsonObject:
    """Build a claim that no database takes, and no JSON text can hold."""
    claim = a_claim(name)
    claim["spec"] = {"devices": float("nan")}
    return at_version(claim, version)


def test_an_object_that_cannot_be_written_is_passed_over_and_said_to_be(cluster: Cluster) -> None:
    others = [a_claim(f"claim-{number}") for number in range(7)]

    see(cluster, *others[:3], unwritable(), *others[3:])

    assert sorted(ResourceClaim.objects.values_list("name", flat=True)) == sorted(
        f"claim-{number}" for number in range(7)
    )
    assert list(problems()) == ["odd"]
    assert problems()["odd"].startswith("this version is not mirrored: ")


def test_what_was_mirrored_of_such_an_object_stays(cluster: Cluster) -> None:
    see(cluster, an_allocated_claim("odd"))
    before = rows_of(cluster)

    see(cluster, unwritable(version=2))

    assert rows_of(cluster) == before
    assert list(problems()) == ["odd"]


def test_the_next_version_that_can_be_written_ends_the_problem(cluster: Cluster) -> None:
    see(cluster, unwritable())

    see(cluster, at_version(a_claim("odd"), 2))

    assert problems() == {}


@pytest.mark.parametrize("way", ["deleted", "swept"])
def test_the_problem_goes_with_its_object(cluster: Cluster, way: str) -> None:
    see(cluster, unwritable())

    if way == "deleted":
        key = ObjectKey(NAMESPACE, "odd")
        apply(cluster, kind=RESOURCE_CLAIMS, objects=(), gone=[key], seen_at=NOON)
    else:
        sweep(cluster, kind=RESOURCE_CLAIMS, listed=frozenset(), seen_at=NOON)

    assert problems() == {}


def test_an_object_without_identity_is_said_not_to_be_mirrored(cluster: Cluster) -> None:
    claim = a_claim("odd")
    claim["metadata"] = {"name": "odd", "namespace": NAMESPACE, "resourceVersion": "1"}

    see(cluster, claim, a_claim("plain"))

    assert ResourceClaim.objects.get().name == "plain"
    assert problems()["odd"].startswith("not mirrored: metadata: expected name, uid and")


def test_a_character_that_cannot_be_kept_is_replaced_and_said_to_be(cluster: Cluster) -> None:
    claim = a_claim("odd", config=[{"opaque": {"driver": "d", "parameters": {"a\0": "b\0\ud800"}}}])

    see(cluster, claim)

    [config] = ResourceClaim.objects.get().raw["spec"]["devices"]["config"]
    assert config["opaque"]["parameters"] == {"a\ufffd": "b\ufffd\ufffd"}
    assert "U+FFFD in place of the character U+0000" in problems()["odd"]


def test_what_is_nested_too_deep_is_left_out_and_said_to_be(cluster: Cluster) -> None:
    deep: Json = "bottom"
    for _ in range(280):
        deep = [deep]

    see(cluster, a_claim("odd", config=[{"opaque": {"driver": "d", "parameters": {"a": deep}}}]))

    raw = ResourceClaim.objects.get().raw
    inner, levels = raw["spec"]["devices"]["config"][0]["opaque"]["parameters"]["a"], 7
    while isinstance(inner, list):
        [inner] = inner
        levels += 1
    assert (levels, inner) == (DEEPEST_LEVEL, LEFT_OUT)
    assert f"deeper than {DEEPEST_LEVEL} levels" in problems()["odd"]


def test_a_slice_that_breaks_its_pool_leaves_the_pool_as_it_was(cluster: Cluster) -> None:
    apply(
        cluster,
        kind=RESOURCE_SLICES,
        objects=[a_slice("fine", slice_count=2, devices=[a_device("gpu-0")])],
        seen_at=NOON,
    )

    odd = a_slice("odd", slice_count=2, devices=[a_device(TOO_LONG), a_device("gpu-1")])
    apply(cluster, kind=RESOURCE_SLICES, objects=[odd], seen_at=NOON)

    assert set(Device.objects.filter(slice__name="fine").values_list("name", flat=True)) == {
        "gpu-0"
    }
    assert ResourceSlice.objects.filter(name="odd").exists() != ("odd" in problems())
