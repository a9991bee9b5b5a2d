"""Attempts that were stored one blob a claim are read like those of today."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from dra_console.mirror.models import Cluster
from dra_console.scheduling.models import Attempt, KeptExplanation

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE = [("scheduling", "0004_conflicts")]
NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def test_old_attempts_keep_their_explanations_each_kept_once() -> None:
    executor = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes()
    try:
        executor.migrate(BEFORE)
        old = executor.loader.project_state(BEFORE).apps
        cluster = old.get_model("mirror", "Cluster").objects.create(name="old", kubeconfig="/k")
        for uid, minutes, said in (("a", 0, "busy"), ("a", 1, "fits"), ("b", 2, "busy")):
            old.get_model("scheduling", "Attempt").objects.create(
                cluster=cluster,
                claim_uid=uid,
                namespace="team",
                claim_name=f"claim-{uid}",
                outcome="does-not-fit",
                headline=said,
                explanation={"headline": said, "groups": []},
                digest=said,
                steps=1,
                started_at=NOON,
                last_at=NOON + timedelta(minutes=minutes),
            )
    finally:
        MigrationExecutor(connection).migrate(newest)

    found = Cluster.objects.get(name="old")
    told = [each.explanation["headline"] for each in Attempt.objects.of(found, "a")]
    latest = Attempt.objects.latest_of(found, "b")
    assert told == ["fits", "busy"]
    assert latest is not None
    assert (latest.claim_names, latest.explanation["cut"]) == (["claim-b"], "")
    assert list(Attempt.objects.order_by("pk").values_list("is_newest", flat=True)) == [
        False,
        True,
        True,
    ]
    assert KeptExplanation.objects.count() == 2
