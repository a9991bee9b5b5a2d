"""Writing in bulk means what the ORM's `bulk_create` means."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest
from django.db import DataError, IntegrityError, models, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_console.allocator.model import Json
from dra_console.mirror.models import ClaimState, Cluster, Device, ResourceClaim, ResourceSlice
from dra_console.sync import bulk

pytestmark = pytest.mark.django_db

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
scalars = st.none() | st.booleans() | texts | st.floats(allow_nan=False, allow_infinity=False)
integers = st.integers(min_value=-(2**63), max_value=2**63 - 1)
values: st.SearchStrategy[Json] = st.recursive(
    scalars | integers,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(texts, values, max_size=4)
times = st.datetimes(
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001 - the bounds that hypothesis wants are naive
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001 - as above
    timezones=st.just(UTC),
)
names = st.sampled_from([f"claim-{number}" for number in range(8)])
claims = st.fixed_dictionaries(
    {
        "name": names,
        "uid": texts,
        "created_at": times,
        "deletion_requested_at": st.none() | times,
        "raw": documents,
        "state": st.sampled_from(ClaimState),
        "allocation": st.none() | documents,
        "reserved_for": st.lists(documents, max_size=2),
        "owner_pod": texts,
    }
)
devices = st.fixed_dictionaries(
    {
        "name": names,
        "driver": texts,
        "position": st.integers(min_value=0, max_value=2**31 - 1),
        "memory_bytes": st.none() | integers,
        "attributes": documents,
        "taints": st.lists(documents, max_size=2),
    }
)


def each_name_once(entries: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    return list({entry["name"]: entry for entry in entries}.values())


CLAIM_COLUMNS = (
    *("uid", "created_at", "deletion_requested_at", "raw", "state"),
    *("allocation", "reserved_for"),
)
Columns = list[dict[str, object]]
Write = Callable[..., None]


@pytest.fixture(autouse=True)
def however_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "FEWEST_ROWS", 0)


@given(
    first=st.lists(claims, max_size=8).map(each_name_once),
    second=st.lists(claims, max_size=8).map(each_name_once),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_claims_are_the_same_either_way(first: Columns, second: Columns) -> None:
    def state_after(write: Write) -> object:
        with transaction.atomic():
            cluster = Cluster.objects.create(name="one")
            for columns in (first, second):
                write(
                    ResourceClaim,
                    [ResourceClaim(cluster=cluster, namespace="lab", **each) for each in columns],
                    unique_fields=("cluster", "namespace", "name"),
                    update_fields=CLAIM_COLUMNS,
                )
            state = rows_of(ResourceClaim, without=("id", "cluster"))
            transaction.set_rollback(True)
        return state

    assert state_after(bulk.write) == state_after(bulk.plainly)


@given(
    first=st.lists(devices, max_size=8).map(each_name_once),
    second=st.lists(devices, max_size=8).map(each_name_once),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_devices_are_the_same_either_way(first: Columns, second: Columns) -> None:
    def state_after(write: Write) -> object:
        with transaction.atomic():
            published = a_slice()
            for columns in (first, second):
                write(
                    Device,
                    [
                        Device(cluster_id=published.cluster_id, slice=published, **each)
                        for each in columns
                    ],
                    unique_fields=("slice", "name"),
                    update_fields=("driver", "position", "memory_bytes", "attributes", "taints"),
                )
            state = rows_of(Device, without=("id", "cluster", "slice"))
            transaction.set_rollback(True)
        return state

    assert state_after(bulk.write) == state_after(bulk.plainly)


def test_a_name_that_is_taken_is_an_error_where_nothing_may_be_replaced() -> None:
    published = a_slice()
    device = {"cluster_id": published.cluster_id, "slice": published, "position": 0}
    bulk.write(Device, [Device(name="gpu-0", **device)])

    with pytest.raises(IntegrityError), transaction.atomic():
        bulk.write(Device, [Device(name="gpu-1", **device), Device(name="gpu-0", **device)])

    assert [row.name for row in Device.objects.all()] == ["gpu-0"]


def test_what_a_column_cannot_hold_is_an_error_that_leaves_the_transaction_usable() -> None:
    published = a_slice()
    device = {"cluster_id": published.cluster_id, "slice": published, "position": 0}

    with pytest.raises((DataError, IntegrityError, OverflowError)), transaction.atomic():
        bulk.write(Device, [Device(name="gpu-0", memory_bytes=2**70, **device)])
    bulk.write(Device, [Device(name="gpu-1", **device)])

    assert [row.name for row in Device.objects.all()] == ["gpu-1"]


def a_slice() -> ResourceSlice:
    return ResourceSlice.objects.create(
        cluster=Cluster.objects.create(name="one"),
        name="slice",
        created_at=datetime(2026, 11, 29, tzinfo=UTC),
        raw={},
        pool_generation=1,
        pool_slice_count=1,
    )


def rows_of(model: type[models.Model], *, without: Sequence[str]) -> list[dict[str, object]]:
    columns = [field.name for field in model._meta.fields if field.name not in without]
    return list(model._default_manager.order_by("name").values(*columns))
