"""The mirror takes whatever an object holds, and every derivation once more agrees with it."""

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings

from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import Cluster, ObjectProblem
from dra_console.sync.derived_differences import (
    assignment_differences,
    claim_differences,
    pool_differences,
)
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.objects import key_of
from tests.builders.fleets import a_fleet
from tests.builders.mirrored import mirror
from tests.builders.odd import odd_objects
from tests.unit.sync.rows import rows_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    row = Cluster.objects.create(name="prod")
    mirror(row, *a_fleet())
    return row


@settings(
    max_examples=15,
    # Each example writes dozens of rows; to shrink one would take hours.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    print_blob=True,
)
@given(odd=odd_objects())
def test_whatever_an_object_holds_it_is_mirrored_and_disturbs_no_other(
    cluster: Cluster, odd: list[JsonObject]
) -> None:
    before = rows_of(cluster)
    with transaction.atomic():
        mirror(cluster, *odd)

        missing = {key_of(one).name for one in odd} - names_of_rows(cluster) - pods_of(odd)
        after = rows_of(cluster)
        disturbed = [line for kind in before for line in before[kind] if line not in after[kind]]
        differences = [
            *pool_differences(cluster),
            *assignment_differences(cluster),
            *claim_differences(cluster),
        ]
        passed_over = ObjectProblem.objects.filter(message__startswith="this version").count()
        transaction.set_rollback(True)

    assert (missing, disturbed, differences, passed_over) == (set(), [], [], 0)


def names_of_rows(cluster: Cluster) -> set[str]:
    rows = [mirrored.rows(cluster).values_list("name", flat=True) for mirrored in MIRRORED.values()]
    return {name for names in rows for name in names}


def pods_of(odd: list[JsonObject]) -> set[str]:
    """Name the pods; one that has lost its claims is none of ours."""
    return {key_of(one).name for one in odd if one["kind"] == "Pod"}
