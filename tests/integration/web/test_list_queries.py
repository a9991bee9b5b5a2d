"""A list asks the database as often for 500 rows as for 50, however it is filtered or sorted."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dra_console.mirror.device_rows import forget_published
from dra_console.mirror.models import Cluster
from tests.builders.attempts import try_all
from tests.builders.mirrored import mirror
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_result,
    a_slice,
    a_taint_rule,
    a_template,
    an_allocated_claim,
)

pytestmark = pytest.mark.django_db

LISTS = (
    "/",
    "/devices/",
    "/devices/?view=table&sort=-state",
    "/devices/?state=free&device_class=gpu.nvidia.com",
    "/devices.csv",
    "/nodes/",
    *(f"/claims/?sort={sort}" for sort in ("name", "-name", "state", "node", "age", "-age")),
    "/claims/?state=pending&q=claim&device_class=gpu.nvidia.com",
    "/claims.csv",
    "/templates/",
    "/scheduling/",
    "/scheduling/?view=queue",
    "/scheduling/?view=log&outcome=does-not-fit",
    "/search/?q=0",
    "/clusters/",
    "/clusters/served/",
    "/api/v1/resourceclaims/?state=reserved&node=node-001&class=gpu.nvidia.com&q=a",
    "/api/v1/resourceclaims/?labelSelector=team%3Da&fieldSelector=metadata.name%21%3Dx",
    "/api/v1/resourceclaimtemplates/",
    "/api/v1/resourceslices/?node=node-001&driver=gpu.nvidia.com&pool=node-001",
    "/api/v1/deviceclasses/",
    "/api/v1/nodes/?state=ready",
    "/api/v1/devices/?state=free",
    "/api/v1/pools/?driver=gpu.nvidia.com",
    "/api/v1/objectproblems/",
    "/api/v1/attempts/?claim=claim-001&newest=true",
    "/api/v1/waitinggroups/",
    "/api/v1/queue/",
)


def test_lists_ask_as_often_for_many_rows_as_for_few(cluster: Cluster, as_admin: Client) -> None:
    grow(cluster, to=50)
    few = {address: queries_of(as_admin, address) for address in LISTS}

    grow(cluster, to=500)
    many = {address: queries_of(as_admin, address) for address in LISTS}

    assert many == few
    assert max(many.values()) <= 40


def grow(cluster: Cluster, *, to: int) -> None:
    numbers = [f"{number:03}" for number in range(to)]
    mirror(
        cluster,
        *(a_node(f"node-{number}") for number in numbers),
        *(a_slice(node=f"node-{number}", devices=[a_device()]) for number in numbers),
        *(a_class(f"class-{number}") for number in numbers),
        *(a_template(f"template-{number}") for number in numbers),
        *(a_claim(f"claim-{number}") for number in numbers),
        *(
            an_allocated_claim(
                f"held-{number}", results=[a_result(pool=f"node-{number}")], pods=(f"pod-{number}",)
            )
            for number in numbers
        ),
        *(a_pod(f"pod-{number}", claim=f"held-{number}") for number in numbers),
        *(a_pod(f"waits-{number}", claim=f"claim-{number}") for number in numbers[::2]),
        *(a_taint_rule(f"rule-{number}", pool=f"node-{number}") for number in numbers[:20]),
    )
    try_all(cluster)


def queries_of(client: Client, address: str) -> int:
    """Count what a list asks when nothing is kept of the page before but the reader's rights."""
    client.get(address)
    forget_published()
    with CaptureQueriesContext(connection) as asked:
        answer = client.get(address)
    assert answer.status_code == 200, address
    return len(asked)
