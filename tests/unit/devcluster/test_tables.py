from datetime import UTC, datetime, timedelta

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.ages import age, human_duration
from dra_console.devcluster.columns import COLUMNS
from dra_console.devcluster.errors import BadRequestError
from dra_console.devcluster.resources import RESOURCES
from dra_console.devcluster.tables import table
from dra_console.kube.kinds import (
    EVENTS,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_QUOTAS,
    RESOURCE_SLICES,
    Kind,
)

NOW = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)


def cells(kind: Kind, obj: JsonObject) -> dict[str, object]:
    """Return the cells of an object by the column's name."""
    printed = table(kind, (obj,), metadata={}, include="None", now=NOW)
    rows = printed["rows"]
    assert isinstance(rows, list)
    assert isinstance(rows[0], dict)
    values = rows[0]["cells"]
    assert isinstance(values, list)
    return {column.name: value for column, value in zip(COLUMNS[kind], values, strict=True)}


def test_each_stored_kind_has_columns() -> None:
    assert set(COLUMNS) == {resource.kind for resource in RESOURCES if resource.is_stored}


@pytest.mark.parametrize(
    ("seconds", "spelled"),
    [
        (-5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (3600, "60m"),
        (10800, "3h"),
        (10860, "3h1m"),
        (90000, "25h"),
        (183600, "2d3h"),
        (86400 * 30, "30d"),
        (86400 * 800, "2y70d"),
        (86400 * 365 * 9, "9y"),
    ],
)
def test_duration(seconds: int, spelled: str) -> None:
    assert human_duration(timedelta(seconds=seconds)) == spelled


@pytest.mark.parametrize(
    ("moment", "spelled"),
    [("2026-11-29T19:59:00Z", "60s"), (None, "<unknown>"), ("yesterday", "<invalid>")],
)
def test_age(moment: str | None, spelled: str) -> None:
    assert age(moment, NOW) == spelled


@pytest.mark.parametrize(
    ("claim", "state"),
    [
        ({"metadata": {}}, "pending"),
        ({"metadata": {}, "status": {"allocation": {"devices": {}}}}, "allocated"),
        (
            {"metadata": {}, "status": {"allocation": {"devices": {}}, "reservedFor": [{}]}},
            "allocated,reserved",
        ),
        (
            {
                "metadata": {"deletionTimestamp": "x"},
                "status": {"allocation": {"devices": {}}, "reservedFor": [{}]},
            },
            "deleted,allocated,reserved",
        ),
    ],
)
def test_state_of_a_claim(claim: JsonObject, state: str) -> None:
    assert cells(RESOURCE_CLAIMS, claim)["State"] == state


@pytest.mark.parametrize(
    ("pod", "status"),
    [
        ({"status": {"phase": "Running"}}, "Running"),
        ({"status": {"phase": "Failed", "reason": "Evicted"}}, "Evicted"),
        ({"metadata": {"deletionTimestamp": "x"}, "status": {"phase": "Running"}}, "Terminating"),
        (
            {
                "status": {
                    "phase": "Pending",
                    "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}],
                }
            },
            "ContainerCreating",
        ),
        ({}, "Unknown"),
    ],
)
def test_status_of_a_pod(pod: JsonObject, status: str) -> None:
    assert cells(PODS, pod)["Status"] == status


def test_pod_counts_containers_and_restarts() -> None:
    pod: JsonObject = {
        "spec": {"containers": [{"name": "a"}, {"name": "b"}]},
        "status": {"containerStatuses": [{"ready": True, "restartCount": 2}, {"ready": False}]},
    }

    assert (cells(PODS, pod)["Ready"], cells(PODS, pod)["Restarts"]) == ("1/2", "2")


def test_node_says_whether_it_is_ready_and_schedulable() -> None:
    node: JsonObject = {
        "metadata": {"labels": {"node-role.kubernetes.io/gpu": ""}},
        "spec": {"unschedulable": True},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }

    assert cells(NODES, node)["Status"] == "Ready,SchedulingDisabled"
    assert cells(NODES, node)["Roles"] == "gpu"
    assert cells(NODES, {})["Status"] == "Unknown"


def test_slice_says_where_its_devices_are() -> None:
    assert cells(RESOURCE_SLICES, {"spec": {"nodeName": "n"}})["Node"] == "n"
    assert cells(RESOURCE_SLICES, {"spec": {"allNodes": True}})["Node"] == "<all>"
    assert cells(RESOURCE_SLICES, {"spec": {}})["Driver"] == "<none>"


def test_event_names_its_object_and_when_it_was_last_seen() -> None:
    event: JsonObject = {
        "involvedObject": {"kind": "Pod", "name": "a"},
        "lastTimestamp": "2026-11-29T19:59:30Z",
    }

    assert cells(EVENTS, event)["Object"] == "pod/a"
    assert cells(EVENTS, event)["Last Seen"] == "30s"


def test_quota_shows_use_only_where_it_is_known() -> None:
    quota: JsonObject = {"spec": {"hard": {"pods": "3", "limits.cpu": "1"}}}

    assert cells(RESOURCE_QUOTAS, quota)["Request"] == "pods: <unknown>/3"
    assert cells(RESOURCE_QUOTAS, quota)["Limit"] == "limits.cpu: <unknown>/1"


def test_unknown_include_is_refused() -> None:
    with pytest.raises(BadRequestError, match="includeObject"):
        table(PODS, (), metadata={}, include="Everything", now=NOW)
