"""Every list of claims and slices comes off an index in its order, on both databases.

The planners are asked for their plan with sorting and sequential scans made dear, which
shows whether an index would serve; on the few rows of a test they would not bother.
"""

import json
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet

from dra_console.mirror.models import (
    Cluster,
    DeviceAssignment,
    ObjectChange,
    ObjectProblem,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from dra_console.web.presenters.claim_table import BY_PARAMETER, ordering

pytestmark = pytest.mark.django_db

PAGE = 50


def lists(cluster: Cluster) -> dict[str, QuerySet[Any]]:
    claims = ResourceClaim.objects.filter(cluster=cluster)
    slices = ResourceSlice.objects.filter(cluster=cluster).order_by("name")
    by_name = claims.order_by("namespace", "name")
    held = DeviceAssignment.objects.filter(cluster=cluster, driver="d", pool="p", device="x")
    return {
        **{
            f"claims by {direction}{sort}": claims.order_by(*ordering(f"{direction}{sort}"))
            for sort in BY_PARAMETER
            for direction in ("", "-")
        },
        "claims of a state": by_name.filter(state="pending"),
        "claims of a node": by_name.filter(node_name="n"),
        "claims of a namespace": by_name.filter(namespace="team"),
        "claims of a template": claims.filter(namespace="team", template_name="t").order_by(
            "-created_at"
        ),
        "templates": ResourceClaimTemplate.objects.filter(cluster=cluster),
        "slices": slices,
        "slices of a node": slices.filter(node_name="n"),
        "slices of a pool": slices.filter(pool="p"),
        "past claims of a device": held.filter(released_at__isnull=False).order_by("-assigned_at"),
        "a claim's life": ObjectChange.objects.filter(cluster=cluster, uid="u").order_by(
            "-seen_at"
        ),
        "problems": ObjectProblem.objects.filter(cluster=cluster, found_by="mirror", plural="p"),
    }


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="prod")


@pytest.fixture(autouse=True)
def _indexes_preferred(db: None) -> None:
    del db
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for setting in ("enable_sort", "enable_seqscan", "enable_bitmapscan"):
                cursor.execute(f"SET LOCAL {setting} = off")


def test_no_list_is_sorted_or_scanned_whole(cluster: Cluster) -> None:
    plans = {name: plan_of(rows[:PAGE]) for name, rows in lists(cluster).items()}

    assert {name: plan for name, plan in plans.items() if works_hard(plan)} == {}


def test_an_order_without_an_index_would_be_seen(cluster: Cluster) -> None:
    rows = ResourceClaim.objects.filter(cluster=cluster).order_by("owner_pod")[:PAGE]

    assert works_hard(plan_of(rows))


def plan_of(rows: QuerySet[Any]) -> str:
    return rows.explain(format="json") if connection.vendor == "postgresql" else rows.explain()


def works_hard(plan: str) -> bool:
    """Tell whether a plan reads a whole table, or sorts what it has read by more than its end."""
    if connection.vendor == "postgresql":
        kinds = json.dumps(json.loads(plan))
        return any(f'"Node Type": "{kind}"' in kinds for kind in ("Sort", "Seq Scan"))
    return "USE TEMP B-TREE FOR ORDER BY" in plan or ("SCAN" in plan and "USING INDEX" not in plan)
