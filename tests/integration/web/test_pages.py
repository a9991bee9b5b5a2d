import re

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from dra_console.mirror.device_rows import forget_published
from dra_console.mirror.models import Cluster
from tests.builders.mirrored import mirror
from tests.builders.objects import (
    a_device,
    a_node,
    a_pod,
    a_result,
    a_slice,
    an_allocated_claim,
)
from tests.integration.served_cluster import ServedCluster

PAGES = [
    "/",
    "/devices/",
    "/devices/?view=table",
    "/devices/?state=held&node=gpu-01",
    "/devices/gpu.nvidia.com/gpu-01/gpu-1/",
    "/nodes/",
    "/nodes/gpu-01/",
    "/search/?q=e",
]
FOREIGN = ("secret", "/hidden", "team-vision", "private")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cluster")]


@pytest.mark.parametrize("address", PAGES)
def test_administrator_sees_every_page(as_admin: Client, address: str) -> None:
    response = as_admin.get(address)

    assert response.status_code == 200
    assert response.content.count(b"<h1") == 1
    assert b'<main class="page" id="page"' in response.content


@pytest.mark.parametrize("address", [*PAGES, "/devices.csv"])
def test_researcher_sees_every_page_without_a_foreign_name(
    as_researcher: Client, address: str
) -> None:
    response = as_researcher.get(address)

    text = response.content.decode()
    assert response.status_code == 200
    assert [name for name in FOREIGN if name in text] == []


def test_board_shows_whose_a_device_is_by_word(as_researcher: Client) -> None:
    text = as_researcher.get("/devices/").content.decode()

    assert "4 devices = 2 held + 2 free" in text
    assert text.count("other team") >= 1
    assert 'data-look="mine"' in text


def test_htmx_gets_the_changing_parts_of_a_page_alone(as_admin: Client) -> None:
    response = as_admin.get("/devices/", headers={"HX-Request": "true"})

    text = response.content.decode()
    assert "<html" not in text
    assert 'id="devices-body"' in text
    assert 'id="devices-sum"' in text
    assert "HX-Request" in response.headers["Vary"]


def test_tiles_carry_what_the_live_scripts_look_for(cluster: Cluster, as_admin: Client) -> None:
    text = as_admin.get("/devices/").content.decode()

    assert 'data-device-key="gpu.nvidia.com/gpu-01/gpu-0"' in text
    assert f"telemetry.{cluster.pk}.gpu-01" in text
    assert f'data-refresh-on="devices.{cluster.pk}"' in text


def test_class_filter_asks_the_allocators_own_evaluator(cluster: Cluster, as_admin: Client) -> None:
    mirror(cluster, a_node("l4-01"), a_slice(node="l4-01", driver="other.example.org"))

    text = as_admin.get("/devices/?device_class=gpu.nvidia.com").content.decode()

    assert "4 devices" in text
    assert 'aria-label="l4-01"' not in text


def test_filter_value_that_does_not_exist_is_named(as_admin: Client) -> None:
    page = as_admin.get("/devices/?state=purple")
    table = as_admin.get("/devices.csv?state=purple")

    assert b"purple is not one of the available choices" in page.content
    assert table.status_code == 400
    assert b"state" in table.content


def test_device_page_tells_current_and_past_claims(cluster: Cluster, as_admin: Client) -> None:
    mirror(cluster, {**an_allocated_claim("held"), "status": {}})
    mirror(cluster, an_allocated_claim("next", results=[a_result("gpu-0")]))

    text = as_admin.get("/devices/gpu.nvidia.com/gpu-01/gpu-0/").content.decode()

    assert "team-research/next" in text
    assert "team-research/held" in text


def test_device_that_does_not_exist_is_not_found(as_admin: Client) -> None:
    response = as_admin.get("/devices/gpu.nvidia.com/gpu-01/gpu-9/")

    assert response.status_code == 404
    assert b"There is no such page" in response.content


def test_node_that_does_not_exist_is_not_found(as_admin: Client) -> None:
    assert as_admin.get("/nodes/gpu-99/").status_code == 404


def test_search_finds_by_part_of_a_name_and_links_to_the_page(as_admin: Client) -> None:
    text = as_admin.get("/search/?q=gpu-01").content.decode()

    assert 'href="/devices/gpu.nvidia.com/gpu-01/gpu-0/"' in text
    assert 'href="/nodes/gpu-01/"' in text


@pytest.mark.parametrize(
    "address",
    [
        "/devices/",
        "/devices.csv",
        "/devices/gpu.nvidia.com/gpu-01/gpu-0/",
        "/nodes/",
        "/nodes/gpu-01/",
    ],
)
def test_inventory_is_refused_to_whoever_may_not_list_it(as_nobody: Client, address: str) -> None:
    response = as_nobody.get(address)

    assert response.status_code == 403
    assert b"You may not list" in response.content


def test_overview_gives_everybody_the_numbers_but_no_names(as_nobody: Client) -> None:
    text = as_nobody.get("/").content.decode()

    assert "4 devices = 2 held + 2 free" in text
    assert "gpu-0" not in text


def test_page_says_so_when_rights_cannot_be_asked(
    cluster: Cluster, served: ServedCluster, as_admin: Client
) -> None:
    closed = served.kubeconfig.with_name("closed")
    closed.write_text(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:1", served.kubeconfig.read_text()))
    Cluster.objects.filter(pk=cluster.pk).update(kubeconfig=str(closed))

    response = as_admin.get("/devices/")

    assert response.status_code == 503
    assert b"API server of cluster served does not answer" in response.content


def test_console_without_a_cluster_says_how_to_add_one(cluster: Cluster, as_admin: Client) -> None:
    cluster.delete()

    response = as_admin.get("/")

    assert response.status_code == 503
    assert b"manage.py cluster add" in response.content


@pytest.mark.parametrize(
    ("address", "most"),
    [
        ("/", 30),
        ("/devices/", 25),
        ("/devices/?view=table", 25),
        ("/nodes/", 25),
        ("/nodes/gpu-01/", 25),
    ],
)
def test_page_asks_the_database_as_often_for_many_devices_as_for_few(
    cluster: Cluster,
    as_admin: Client,
    django_assert_max_num_queries: DjangoAssertNumQueries,
    address: str,
    most: int,
) -> None:
    as_admin.get(address)
    forget_published()
    with django_assert_max_num_queries(most) as few:
        as_admin.get(address)
    devices = [a_device(f"gpu-{number}") for number in range(8)]
    names = [f"gpu-{number:02}" for number in range(3, 23)]
    mirror(
        cluster,
        *(a_node(name) for name in names),
        *(a_slice(node=name, devices=devices) for name in names),
        *(an_allocated_claim(f"on-{name}", results=[a_result(pool=name)]) for name in names),
    )

    with django_assert_max_num_queries(len(few.captured_queries)):
        as_admin.get(address)


def test_pod_page_names_each_column_of_its_claims(cluster: Cluster, as_admin: Client) -> None:
    mirror(cluster, a_pod("trains", namespace="team-research", claim="held"))

    text = as_admin.get("/pods/team-research/trains/").content.decode()

    heads = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', text, re.DOTALL)
    assert [head for head in heads if not head.strip()] == []
    assert {"Claim", "State", "Node", "Age"} <= {head.strip() for head in heads}
