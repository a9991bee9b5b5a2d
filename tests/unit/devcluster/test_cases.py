"""Checks of the cases that people met which an API server decides on pods."""

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.admission import admit_create
from dra_console.devcluster.errors import InvalidError
from dra_console.kube.kinds import PODS
from tests.unit.allocator.golden_cases import Case, Check, read_cases, texts


def pod_checks() -> list[object]:
    return [
        pytest.param(case, check, id=f"{case.name} #{number}")
        for case in read_cases()
        for number, check in enumerate(case.checks)
        if check["op"] == "validate" and str(check["object"]).startswith("Pod/")
    ]


def refused_fields(pod: JsonObject) -> list[str]:
    try:
        admit_create(PODS, pod, namespace={})
    except InvalidError as error:
        return [cause.field for cause in error.causes]
    return []


@pytest.mark.parametrize(("case", "check"), pod_checks())
def test_validate(case: Case, check: Check) -> None:
    fields = refused_fields(case.named(str(check["object"])))

    assert bool(fields) == (check["verdict"] == "reject")
    # A claim named twice is also used twice: the server names both places.
    assert set(texts(check.get("field"))) <= set(fields)


@pytest.mark.parametrize(
    ("references", "refused"),
    [
        pytest.param([{"name": "a"}], [], id="whole claim"),
        pytest.param(
            [{"name": "a", "request": "r"}, {"name": "a", "request": "s"}], [], id="parts"
        ),
        pytest.param([{"name": "a"}, {"name": "a"}], ["claims[1]"], id="twice"),
        pytest.param([{"name": "a"}, {"name": "a", "request": "r"}], ["claims[1]"], id="and part"),
        pytest.param([{"name": "a", "request": "r"}, {"name": "a"}], ["claims[1]"], id="and all"),
        pytest.param(
            [{"name": "a", "request": "r"}, {"name": "a", "request": "r"}], ["claims[1]"], id="same"
        ),
        pytest.param([{"name": "a", "request": "R"}], ["claims[0].request"], id="request's name"),
        pytest.param([{"name": "b"}], ["claims[0]"], id="unknown"),
        pytest.param([{}], ["claims[0]"], id="no name"),
    ],
)
def test_container_uses_a_claim_once(references: list[JsonObject], refused: list[str]) -> None:
    container: JsonObject = {"name": "c", "image": "i", "resources": {"claims": [*references]}}
    pod: JsonObject = {
        "metadata": {"name": "p", "namespace": "lab"},
        "spec": {
            "containers": [container],
            "resourceClaims": [{"name": "a", "resourceClaimName": "x"}],
        },
    }

    assert refused_fields(pod) == [f"spec.containers[0].resources.{each}" for each in refused]


@pytest.mark.parametrize("name", ["", "X"])
def test_claim_that_a_pod_names_could_be_one(name: str) -> None:
    pod: JsonObject = {
        "metadata": {"name": "p", "namespace": "lab"},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "resourceClaims": [{"name": "a", "resourceClaimName": name}],
        },
    }

    assert set(refused_fields(pod)) == {"spec.resourceClaims[0].resourceClaimName"}
