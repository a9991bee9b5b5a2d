"""What is wrong with objects, where people and programs look for it."""

import pytest
from django.test import Client
from django.utils import timezone

from dra_console.mirror.models import Cluster, FoundBy, ObjectProblem

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _problems(cluster: Cluster) -> None:
    for plural, namespace, name, path in (
        ("resourceclaims", "team-research", "waits", "spec.devices"),
        ("resourceclaims", "team-vision", "concealed", "spec.devices"),
        ("resourceslices", "", "gpu-01-gpu.nvidia.com", "spec.pool.generation"),
        ("resourceclaims", "team-research", "", ""),
    ):
        ObjectProblem.objects.create(
            cluster=cluster,
            found_by=FoundBy.ALLOCATOR,
            plural=plural,
            namespace=namespace,
            name=name,
            path=path,
            message="expected an object, got a text",
            seen_at=timezone.now(),
        )


def test_cluster_page_names_object_field_and_consequence(as_admin: Client) -> None:
    text = as_admin.get("/clusters/served/").content.decode()

    assert 'href="/claims/team-research/waits/"' in text
    assert "<code>spec.pool.generation</code>" in text
    assert "expected an object, got a text" in text
    assert "is left out when devices are allocated" in text


def test_problems_are_of_objects_that_the_reader_may_list(
    as_researcher: Client, as_nobody: Client
) -> None:
    page = as_researcher.get("/clusters/served/").content.decode()
    listed = as_researcher.get("/api/v1/objectproblems/").json()["items"]

    assert {one["name"] for one in listed} == {"waits", "", "gpu-01-gpu.nvidia.com"}
    assert "concealed" not in page
    assert as_nobody.get("/api/v1/objectproblems/").json()["items"] == []
    assert "Objects with problems" not in as_nobody.get("/clusters/served/").content.decode()


def test_problems_can_be_listed_by_kind(as_admin: Client) -> None:
    [one] = as_admin.get("/api/v1/objectproblems/?plural=resourceslices").json()["items"]

    assert (one["name"], one["path"], one["foundBy"]) == (
        "gpu-01-gpu.nvidia.com",
        "spec.pool.generation",
        "allocator",
    )
