"""What a pod takes of its node, as kube-scheduler counts it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_console.allocator.errors import QuantityError
from dra_console.mirror.pod_requests import amounts_of, requests_of, spelled


def container(*, name: str = "", stays: bool = False, **requests: str) -> dict[str, Any]:
    written: dict[str, Any] = {"name": name, "resources": {"requests": requests}}
    return written | ({"restartPolicy": "Always"} if stays else {})


def a_pod(*containers: dict[str, Any], early: Any = (), **spec: Any) -> Any:
    return {"spec": {"containers": [*containers], "initContainers": [*early], **spec}}


def test_containers_add_up_in_thousandths_of_cores_and_in_units() -> None:
    pod = a_pod(container(cpu="500m", memory="1Gi"), container(cpu="1", memory="1.5"))

    assert requests_of(pod) == {"cpu": 1500, "memory": 2**30 + 2}


def test_an_init_container_counts_by_its_maximum() -> None:
    pod = a_pod(container(cpu="1", memory="4"), early=[container(cpu="5", memory="1")])

    assert requests_of(pod) == {"cpu": 5000, "memory": 4}


def test_a_sidecar_runs_on_beside_all_that_comes_after_it() -> None:
    early = [container(cpu="2"), container(stays=True, cpu="1"), container(cpu="500m")]

    assert requests_of(a_pod(container(cpu="1"), early=early)) == {"cpu": 2000}
    assert requests_of(a_pod(container(cpu="3"), early=early)) == {"cpu": 4000}


def test_an_init_container_that_follows_a_sidecar_counts_with_it() -> None:
    early = [container(stays=True, cpu="1"), container(cpu="3")]

    assert requests_of(a_pod(container(cpu="1"), early=early)) == {"cpu": 4000}


def test_overhead_comes_on_top() -> None:
    assert requests_of(a_pod(container(cpu="1"), overhead={"cpu": "250m"})) == {"cpu": 1250}


def test_requests_of_the_whole_pod_replace_those_of_its_containers() -> None:
    whole = {"requests": {"cpu": "8", "hugepages-2Mi": "4Mi", "example.com/gpu": "7"}}
    pod = a_pod(container(cpu="1", memory="1Ki"), resources=whole, overhead={"cpu": "1"})

    assert requests_of(pod) == {"cpu": 9000, "memory": 1024, "hugepages-2Mi": 4 * 2**20}


def test_a_limit_stands_in_for_a_request_that_is_not_given() -> None:
    pod = a_pod({"resources": {"limits": {"cpu": "2", "memory": "8"}, "requests": {"cpu": "1"}}})

    assert requests_of(pod) == {"cpu": 1000, "memory": 8}


def test_a_container_that_is_resized_takes_the_most_of_what_it_wants_and_has() -> None:
    pod = a_pod(container(name="main", cpu="1", memory="8"), container(name="other", cpu="1"))
    pod["status"] = {
        "containerStatuses": [
            {
                "name": "main",
                "resources": {"requests": {"cpu": "3", "memory": "4"}},
                "allocatedResources": {"cpu": "2"},
            }
        ]
    }

    assert requests_of(pod) == {"cpu": 4000, "memory": 8}


def test_what_is_no_quantity_is_said() -> None:
    with pytest.raises(QuantityError, match="a lot"):
        requests_of(a_pod(container(cpu="a lot")))


def test_amounts_are_rounded_up_and_written_as_people_do() -> None:
    amounts = amounts_of({"cpu": "1500u", "memory": "16Gi", "example.com/gpu": "8"})

    assert amounts == {"cpu": 2, "memory": 16 * 2**30, "example.com/gpu": 8}
    assert [spelled(*each) for each in amounts.items()] == ["2m", "16Gi", "8"]


cpus = st.integers(0, 8)
sidecars = st.lists(st.tuples(cpus, st.booleans()), max_size=4)


@given(sidecars, st.lists(cpus, max_size=3))
def test_the_peak_is_what_runs_at_the_busiest_moment(
    early: list[tuple[int, bool]], late: list[int]
) -> None:
    moments = [
        sum(cpu for cpu, stays in early[:at] if stays) + early[at][0] for at in range(len(early))
    ]
    moments.append(sum(cpu for cpu, stays in early if stays) + sum(late))

    pod = a_pod(
        *(container(cpu=str(cpu)) for cpu in late),
        early=[container(stays=stays, cpu=str(cpu)) for cpu, stays in early],
    )

    assert requests_of(pod).get("cpu", 0) == max(moments) * 1000
