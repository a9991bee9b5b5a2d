"""Every way in which the mirror can be wrong is seen: each is planted, and must be named."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from io import StringIO
from typing import Any, TypeAlias

import pytest
from django.core.management import CommandError, call_command
from django.db import models, transaction

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_QUOTAS,
    RESOURCE_SLICES,
)
from dra_console.mirror.models import (
    Cluster,
    Device,
    DeviceAssignment,
    Pod,
    Pool,
    ResourceClaim,
    ResourceSlice,
)
from dra_console.sync.differences import OTHERWISE_COMPARED
from dra_console.sync.mirrored import MIRRORED
from tests.builders.objects import (
    CLASS,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_result,
    a_slice,
    a_taint_rule,
    a_template,
    an_allocation,
    unborn,
)
from tests.integration.sync.conftest import NAMESPACE

pytestmark = pytest.mark.django_db(transaction=True)

Plant = Callable[[Cluster], object]
Column: TypeAlias = "models.Field[Any, Any]"

ANOTHER_TIME = datetime(2001, 1, 1, tzinfo=UTC)


@pytest.fixture
def mirrored(api: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster with an object of each kind, mirrored rightly."""
    monkeypatch.setattr("dra_console.sync.differences.PAUSE_SECONDS", 0.0)
    monkeypatch.setattr("dra_console.sync.differences.LOOKS", 2)
    fill(api)
    call_command("sync_once", stdout=StringIO())
    call_command("sync_check", stdout=StringIO())
    return cluster


def fill(api: Client) -> None:
    quota: JsonObject = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": NAMESPACE},
        "spec": {"hard": {"count/pods": "10"}},
    }
    devices = [a_device("gpu-0"), a_device("gpu-1", attributes={"productName": "H100"})]
    api.create(NODES, unborn(a_node()))
    api.create(DEVICE_CLASSES, unborn(a_class()))
    api.create(RESOURCE_SLICES, unborn(a_slice(devices=devices)))
    api.create(DEVICE_TAINT_RULES, unborn(a_taint_rule(driver=CLASS)))
    for kind, subject in (
        (RESOURCE_CLAIM_TEMPLATES, a_template(namespace=NAMESPACE)),
        (RESOURCE_QUOTAS, quota),
    ):
        api.create(kind, unborn(subject), namespace=NAMESPACE)
    pod = api.create(
        PODS, unborn(a_pod(namespace=NAMESPACE, template="one-gpu")), namespace=NAMESPACE
    )
    claim = unborn(a_claim(namespace=NAMESPACE))
    metadata, owner = claim["metadata"], pod["metadata"]
    assert isinstance(metadata, dict)
    assert isinstance(owner, dict)
    metadata["annotations"] = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    metadata["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": owner["name"], "uid": owner["uid"]}
    ]
    claim = api.create(RESOURCE_CLAIMS, claim, namespace=NAMESPACE)
    allocation = an_allocation(a_result("gpu-0"), a_result("gpu-1"))
    allocation["allocationTimestamp"] = "2026-11-30T01:00:00Z"
    api.replace(
        RESOURCE_CLAIMS, {**claim, "status": {"allocation": allocation}}, subresource="status"
    )


def found(plant: Plant, cluster: Cluster) -> str:
    """Plant a fault, return what the check says of it, and take the fault back."""
    said = StringIO()
    with transaction.atomic():
        plant(cluster)
        try:
            call_command("sync_check", stdout=said)
        except CommandError as error:
            said.write(str(error))
        transaction.set_rollback(True)
    return said.getvalue()


def columns_that_can_be_wrong() -> Iterator[tuple[type[models.Model], Column]]:
    for each in MIRRORED.values():
        for column in each.model._meta.fields:
            if column.name not in OTHERWISE_COMPARED:
                yield each.model, column
    for model, left in (
        (Pool, {"id"}),
        (Device, {"id"}),
        (DeviceAssignment, {"id", "assigned_at"}),
    ):
        for column in model._meta.fields:
            if column.name not in left:
                yield model, column
    for name in ("raw", "allocated_at", "template_name"):
        found_column = ResourceClaim._meta.get_field(name)
        assert isinstance(found_column, models.Field)
        yield ResourceClaim, found_column


def another_value(row: models.Model, column: Column) -> object:
    has = getattr(row, column.name)
    if isinstance(column, models.ForeignKey):
        return another_row(row, column)
    match column:
        case models.BooleanField():
            return not has
        case models.IntegerField():
            return (has or 0) + 7
        case models.DateTimeField():
            return ANOTHER_TIME if has is None else None if column.null else ANOTHER_TIME
        case models.JSONField():
            return {"metadata": {}} if has is None else {**has, "x": 1} if has == {} else {"x": [1]}
        case _:
            return f"{has[:20]}x"


def another_row(row: models.Model, column: Column) -> models.Model:
    if column.related_model is Cluster:
        return Cluster.objects.create(name="another", enabled=False)
    assert isinstance(row, Device)
    published = ResourceSlice.objects.get(pk=row.slice_id)
    published.pk, published.name = None, "another"
    published.save()
    return published


def a_wrong_column(model: type[models.Model], column: Column) -> Plant:
    def plant(_: Cluster) -> None:
        row = a_row(model)
        setattr(row, column.name, another_value(row, column))
        row.save()

    return plant


def a_row(model: type[models.Model]) -> models.Model:
    row = model._default_manager.first()
    assert row is not None, f"{model.__name__}: nothing to plant a fault in"
    return row


def test_every_column_that_is_wrong_is_named(mirrored: Cluster) -> None:
    unseen = [
        f"{model.__name__}.{column.name}"
        for model, column in columns_that_can_be_wrong()
        if "differences" not in found(a_wrong_column(model, column), mirrored)
    ]

    assert unseen == []


def test_rows_that_are_missing_or_too_many_are_named(mirrored: Cluster) -> None:
    tables: list[type[models.Model]] = [each.model for each in MIRRORED.values()]
    tables += [Pool, Device, DeviceAssignment]
    for model in tables:
        assert "missing" in found(partial(forget, model), mirrored), model
        said = found(partial(invent, model), mirrored)
        assert "invented" in said, model
        assert "API server not" in said, model


def forget(model: type[models.Model], _: Cluster) -> None:
    a_row(model).delete()


def invent(model: type[models.Model], _: Cluster) -> None:
    row = a_row(model)
    row.pk = None
    setattr(row, "device" if model is DeviceAssignment else "name", "invented")
    row.save()


def hold_twice(cluster: Cluster) -> None:
    row = DeviceAssignment.objects.filter(cluster=cluster)[0]
    row.pk, row.share_id = None, "another-share"
    row.save()


def release(cluster: Cluster) -> None:
    DeviceAssignment.objects.filter(cluster=cluster).update(released_at=ANOTHER_TIME)


def belong_to_another_cluster(cluster: Cluster) -> None:
    another = Cluster.objects.create(name="another", enabled=False)
    Device.objects.filter(cluster=cluster).update(cluster=another)


def be_another_cluster(cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(kube_system_uid="another")


def lag_behind_a_generation(cluster: Cluster) -> None:
    ResourceSlice.objects.filter(cluster=cluster).update(pool_generation=0)
    Pool.objects.filter(cluster=cluster).update(generation=0)


def lose_the_pod(cluster: Cluster) -> None:
    """The pod's row alone is wrong then; its claim's template stays known."""
    Pod.objects.filter(cluster=cluster).delete()


OTHER_FAULTS = {
    hold_twice: "share another-share",
    release: "missing, API server allocated",
    belong_to_another_cluster: "of cluster ",
    be_another_cluster: "cluster identity: mirror another",
    lag_behind_a_generation: "pool_generation 0",
    lose_the_pod: f"pods {NAMESPACE}/train: mirror missing",
}


def test_other_faults_are_named(mirrored: Cluster) -> None:
    for plant, said in OTHER_FAULTS.items():
        assert said in found(plant, mirrored), plant.__name__
