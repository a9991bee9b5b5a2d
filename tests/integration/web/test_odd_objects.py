"""Whatever an object holds: it is mirrored or said not to be, and every page opens beside it."""

from collections.abc import Iterator

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, Phase, given, settings

from dra_console.allocator.model import Json, JsonObject
from dra_console.mirror.models import (
    ClaimState,
    Cluster,
    Device,
    Node,
    ObjectProblem,
    Pod,
    ResourceClaim,
    ResourceClaimTemplate,
)
from dra_console.scheduling.world.snapshot import read_snapshot
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.reading import object_in
from tests.builders.mirrored import mirror
from tests.builders.objects import a_claim, a_device, a_request, a_slice, a_template
from tests.builders.odd import odd_objects
from tests.unit.sync.rows import rows_of

pytestmark = pytest.mark.django_db

NOT_SHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""An example opens some forty pages; to shrink one would take hours."""

LISTS = (
    *("/", "/devices/", "/devices/?view=table", "/devices/?device_class=odd-class", "/devices.csv"),
    *("/claims/", "/claims/?sort=-state", "/claims.csv", "/nodes/", "/templates/", "/request/"),
    *("/search/?q=odd", "/search/?q=gpu"),
)
API_LISTS = (
    *("resourceclaims", "resourceclaimtemplates", "resourceslices", "deviceclasses", "nodes"),
    *("devices", "pools", "clusters"),
)

NO_SEMVER: Json = {"version": "five"}

PODS_WITHOUT_CLAIMS = {"odd-pod", "odd-waiting", "odd-generated"}
"""Odd enough, they name no claim any more, and are none of ours."""


@settings(
    max_examples=3,
    phases=NOT_SHRUNK,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    print_blob=True,
)
@given(odd=odd_objects())
def test_every_page_opens_beside_odd_objects(
    cluster: Cluster, as_admin: Client, odd: list[JsonObject]
) -> None:
    plain = rows_of(cluster)
    with transaction.atomic():
        mirror(cluster, *odd)

        missing = names_of(odd) - mirrored_or_noted(cluster) - PODS_WITHOUT_CLAIMS
        disturbed = [line for line in lost_lines(plain, rows_of(cluster)) if "odd" not in line]
        answers = {address: as_admin.get(address).status_code for address in addresses(cluster)}
        read_snapshot(cluster)
        transaction.set_rollback(True)

    assert (missing, disturbed) == (set(), [])
    unreadable = {address for address, status in answers.items() if status == 422}
    assert {status for address, status in answers.items() if address not in unreadable} == {200}
    assert {address for address in unreadable if "/explain/" not in address} == set()


def names_of(objects: list[JsonObject]) -> set[str]:
    return {str(one["metadata"]["name"]) for one in objects}  # type: ignore[index,call-overload]


def mirrored_or_noted(cluster: Cluster) -> set[str]:
    rows = {
        name
        for each in MIRRORED.values()
        for name in each.rows(cluster).values_list("name", flat=True)
    }
    return rows | set(ObjectProblem.objects.values_list("name", flat=True))


def lost_lines(before: dict[str, list[str]], after: dict[str, list[str]]) -> list[str]:
    return [line for plural, lines in before.items() for line in lines if line not in after[plural]]


def addresses(cluster: Cluster) -> Iterator[str]:
    yield from LISTS
    yield from (f"/api/v1/{plural}/" for plural in API_LISTS)
    for claim in ResourceClaim.objects.filter(cluster=cluster):
        yield reverse("web:claim", args=[claim.namespace, claim.name])
        yield f"/api/v1/resourceclaims/{claim}/"
        if claim.state == ClaimState.PENDING:
            yield f"/api/v1/resourceclaims/{claim}/explain/?now=true"
    for template in ResourceClaimTemplate.objects.filter(cluster=cluster):
        yield reverse("web:template", args=[template.namespace, template.name])
    for node in Node.objects.filter(cluster=cluster):
        yield reverse("web:node", args=[node.name])
    for pod in Pod.objects.filter(cluster=cluster):
        yield reverse("web:pod", args=[pod.namespace, pod.name])
    for device in Device.objects.filter(cluster=cluster):
        yield reverse("web:device", args=[device.driver, device.pool, device.name])


@pytest.mark.parametrize(
    ("odd", "address", "said"),
    [
        (
            a_slice("odd", node="gpu-09", devices=[a_device(attributes={"driver": NO_SEMVER})]),
            "/devices/gpu.nvidia.com/gpu-09/gpu-0/",
            "spec.devices[0].attributes[driver].version: Invalid value: &quot;five&quot;",
        ),
        (
            a_slice("odd", node="gpu-09", devices=[a_device("a"), a_device(memory="1e99999")]),
            "/devices/gpu.nvidia.com/gpu-09/gpu-0/",
            "spec.devices[1].capacity[memory].value: Invalid value: expected an exponent",
        ),
        (
            a_claim("odd", requests=[a_request(allocationMode="Sometimes")]),
            "/claims/team-research/odd/",
            "spec.devices.requests[0].exactly.allocationMode: Unsupported value: ",
        ),
        (
            a_claim("odd", requests=[a_request(fromTheFuture=1)]),
            "/claims/team-research/odd/",
            "spec.devices.requests[0].exactly.fromTheFuture: unknown field",
        ),
        (
            a_template("odd", requests=[a_request(count=-1)]),
            "/templates/team-research/odd/",
            "spec.spec.devices.requests[0].exactly.count: Invalid value: -1",
        ),
    ],
)
def test_a_page_says_what_is_odd_about_its_object(
    cluster: Cluster, as_admin: Client, odd: JsonObject, address: str, said: str
) -> None:
    plain = as_admin.get("/claims/team-research/waits/").content.decode()
    mirror(cluster, odd)

    page = as_admin.get(address).content.decode()

    assert said in page
    assert "is not as the API has it" not in plain


def test_the_largest_object_that_etcd_takes_is_mirrored_and_shown(
    cluster: Cluster, as_admin: Client
) -> None:
    finalizers: list[Json] = [f"example.com/{number:060}" for number in range(20_000)]
    claim = a_claim("large")
    claim["metadata"] = {**object_in(claim, "metadata"), "finalizers": finalizers}

    mirror(cluster, claim)

    assert as_admin.get("/claims/team-research/large/").status_code == 200
    assert as_admin.get("/api/v1/resourceclaims/team-research/large/").json() == claim


def test_the_deepest_object_that_is_mirrored_is_shown(cluster: Cluster, as_admin: Client) -> None:
    deep: Json = "bottom"
    for _ in range(400):
        deep = {"down": [deep]}

    mirror(cluster, a_claim("deep", config=[{"opaque": {"driver": "d", "parameters": deep}}]))

    page = as_admin.get("/claims/team-research/deep/").content.decode()
    assert "mirrored without what is nested deeper than" in page
    assert as_admin.get("/api/v1/resourceclaims/team-research/deep/").status_code == 200
