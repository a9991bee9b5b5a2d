"""A filled database goes forward from the first migration to the newest, and is not changed."""

from datetime import UTC, datetime

import pytest
from django.apps import apps as installed
from django.apps.registry import Apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

FIRST = [("mirror", "0001_initial"), ("scheduling", "0001_initial"), ("access", "0001_initial")]
NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_filled_database_goes_forward_from_the_first_migration() -> None:
    executor = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes()
    try:
        executor.migrate(FIRST)
        old = executor.loader.project_state(FIRST).apps
        fill(old)
        before = contents(old)
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(newest)

    after = contents(installed, columns_of=old)
    assert before
    assert {table: after[table] for table in before} == before
    assert MigrationExecutor(connection).migration_plan(newest) == []


def test_an_index_that_was_built_before_a_migration_broke_off_is_kept() -> None:
    executor = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes()
    executor.migrate([("mirror", "0003_object_problem")])
    with connection.cursor() as cursor:
        cursor.execute("CREATE INDEX claim_by_age ON mirror_resourceclaim (cluster_id, created_at)")

    MigrationExecutor(connection).migrate(newest)

    with connection.cursor() as cursor:
        indexes = connection.introspection.get_constraints(cursor, "mirror_resourceclaim")
    assert {"claim_by_age", "claim_by_node", "claim_by_state"} <= indexes.keys()
    assert "claim_state" not in indexes
    rebuild(newest)


def rebuild(newest: list[tuple[str, str]]) -> None:
    """Take the index of another shape away again, for the tests that come after."""
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX claim_by_age")
        cursor.execute(
            "CREATE INDEX claim_by_age ON mirror_resourceclaim"
            " (cluster_id, created_at DESC, namespace, name)"
        )
    assert MigrationExecutor(connection).migration_plan(newest) == []


def fill(apps: Apps) -> None:
    """Put a row into every table that the mirror began with."""
    cluster = apps.get_model("mirror", "Cluster").objects.create(name="old", kubeconfig="/k")
    seen = {"cluster": cluster, "uid": "u", "resource_version": "1", "created_at": NOON, "raw": {}}
    apps.get_model("mirror", "Cursor").objects.create(cluster=cluster, plural="nodes", relists=3)
    apps.get_model("mirror", "Node").objects.create(name="gpu-01", ready=True, **seen)
    published = apps.get_model("mirror", "ResourceSlice").objects.create(
        name="s", driver="d", pool="p", pool_generation=1, pool_slice_count=1, **seen
    )
    apps.get_model("mirror", "Pool").objects.create(
        cluster=cluster, driver="d", name="p", generation=1, slices_seen=1, slices_expected=1
    )
    apps.get_model("mirror", "Device").objects.create(
        cluster=cluster, slice=published, driver="d", pool="p", name="gpu-0", position=0
    )
    claims = apps.get_model("mirror", "ResourceClaim").objects
    for number in range(200):
        claims.create(namespace="team", name=f"claim-{number:03}", state="pending", **seen)
    apps.get_model("mirror", "DeviceAssignment").objects.create(
        cluster=cluster,
        claim_uid="u",
        claim_namespace="team",
        claim_name="claim-000",
        request="gpu",
        driver="d",
        pool="p",
        device="gpu-0",
        assigned_at=NOON,
    )
    apps.get_model("mirror", "ObjectChange").objects.create(
        cluster=cluster, plural="resourceclaims", name="claim-000", seen_at=NOON, happened="created"
    )


def contents(apps: Apps, *, columns_of: Apps | None = None) -> dict[str, list[str]]:
    """Write out every row of the mirror; of later tables and columns, none."""
    found = {}
    for model in (columns_of or apps).get_app_config("mirror").get_models():
        columns = [field.column for field in model._meta.local_fields]
        rows = apps.get_model("mirror", model.__name__)._default_manager.order_by("pk")
        found[model.__name__] = [str(row) for row in rows.values_list(*columns)]
    return {name: rows for name, rows in found.items() if rows}
