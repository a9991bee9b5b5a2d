import pytest

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.errors import BadRequestError
from dra_console.devcluster.selectors import parse_fields, parse_labels, parse_selector
from dra_console.kube.kinds import (
    EVENTS,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)


def labelled(**labels: str) -> JsonObject:
    return {"metadata": {"labels": dict(labels)}}


@pytest.mark.parametrize(
    ("selector", "holds"),
    [
        ("app=web", True),
        ("app==web", True),
        ("app = web", True),
        ("app!=web", False),
        ("app!=db", True),
        ("missing!=x", True),
        ("app in (web, db)", True),
        ("app in (db)", False),
        ("app notin (db,cache)", True),
        ("missing notin (a)", True),
        ("app", True),
        ("missing", False),
        ("!missing", True),
        ("!app", False),
        ("gpus>7", True),
        ("gpus>8", False),
        ("gpus<9", True),
        ("app>1", False),
        ("example.com/tier=gold", True),
        ("app in (web,db),gpus=8,!missing", True),
        ("app=web,gpus=4", False),
        ("empty=", True),
        ("", True),
    ],
)
def test_label_selector(selector: str, holds: bool) -> None:
    obj = labelled(app="web", gpus="8", empty="", **{"example.com/tier": "gold"})

    assert parse_selector(NODES, labels=selector, fields="").matches(obj) is holds


@pytest.mark.parametrize("selector", ["a b", "=x", "a in b", "a=b c", "a>x", "a,,b", "!"])
def test_label_selector_that_cannot_be_read_is_refused(selector: str) -> None:
    with pytest.raises(BadRequestError, match="unable to parse requirement"):
        parse_labels(selector)


@pytest.mark.parametrize(
    ("kind", "obj", "selector", "holds"),
    [
        (PODS, {"spec": {"nodeName": "gpu-01"}}, "spec.nodeName=gpu-01", True),
        (PODS, {"spec": {}}, "spec.nodeName=", True),
        (PODS, {"status": {"phase": "Failed"}}, "status.phase!=Failed", False),
        (
            PODS,
            {"spec": {"nodeName": "a"}, "status": {"phase": "Running"}},
            "spec.nodeName=a,status.phase!=Succeeded,status.phase!=Failed",
            True,
        ),
        (
            RESOURCE_SLICES,
            {"spec": {"driver": "d", "pool": {"name": "p"}}},
            "spec.pool.name=p",
            True,
        ),
        (RESOURCE_CLAIMS, {"metadata": {"name": "a"}}, "metadata.name==a", True),
        (NODES, {"spec": {}}, "spec.unschedulable=false", True),
        (NODES, {"spec": {"unschedulable": True}}, "spec.unschedulable=true", True),
        (EVENTS, {"involvedObject": {"name": "a", "uid": "u"}}, "involvedObject.uid=u", True),
        (EVENTS, {"source": {"component": "kubelet"}}, "source=kubelet", True),
        (EVENTS, {"reason": "a,b"}, r"reason=a\,b", True),
    ],
)
def test_field_selector(kind: Kind, obj: JsonObject, selector: str, holds: bool) -> None:
    assert parse_selector(kind, labels="", fields=selector).matches(obj) is holds


def test_field_that_the_kind_does_not_index_is_refused() -> None:
    with pytest.raises(BadRequestError, match=r"field label not supported: spec\.driver"):
        parse_fields(PODS, "spec.driver=a")


def test_field_selector_without_a_comparison_is_refused() -> None:
    with pytest.raises(BadRequestError, match="invalid selector"):
        parse_fields(PODS, "spec.nodeName")
