"""`dra-semantics.md` 4.6: the claim that is made of a pod's extended resources."""

import pytest

from dra_console.allocator.decoding.decode import decode_class
from dra_console.allocator.model import DeviceClass, JsonObject
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.scheduler.extended_resources import (
    IMPLICIT_PREFIX,
    NotProvided,
    RequestMapping,
    SpecialClaim,
    class_for,
    is_extended_resource,
    special_claim,
)
from tests.builders.objects import a_class

GPU = "example.com/gpu"


def classes(**created: str) -> list[DeviceClass]:
    """Build classes for GPU by name and time of creation."""
    return [decode_class(a_gpu_class(name, created=time)) for name, time in created.items()]


def a_gpu_class(name: str, *, created: str = "2026-01-01T00:00:00Z") -> JsonObject:
    built = a_class(name)
    return built | {
        "metadata": {"name": name, "creationTimestamp": created},
        "spec": {"extendedResourceName": GPU},
    }


CLASSES = classes(gpu="2026-01-01T00:00:00Z")


def container(
    name: str, gpus: int | None = None, *, stays: bool = False, others: dict[str, str] | None = None
) -> JsonObject:
    wanted = (others or {}) | ({} if gpus is None else {GPU: str(gpus)})
    body: JsonObject = {"name": name, "resources": {"requests": {**wanted}}}
    return body | ({"restartPolicy": "Always"} if stays else {})


def a_pod(*containers: JsonObject, init: tuple[JsonObject, ...] = ()) -> JsonObject:
    return {
        "kind": "Pod",
        "metadata": {"namespace": "lab", "name": "p"},
        "spec": {"containers": [*containers], "initContainers": [*init]},
    }


def made(pod: JsonObject, **allocatable: int) -> SpecialClaim:
    amounts = {name: Quantity.of(amount) for name, amount in allocatable.items()}
    found = special_claim(pod, allocatable=amounts, classes=CLASSES)
    assert isinstance(found, SpecialClaim)
    return found


def requests(found: SpecialClaim) -> dict[str, int]:
    return {
        each.name: each.exactly.count
        for each in found.claim.spec.requests
        if each.exactly is not None
    }


def mappings(found: SpecialClaim) -> list[tuple[str, str]]:
    return [(each.container, each.request) for each in found.mappings]


def test_container_with_an_extended_resource_gets_a_request() -> None:
    found = made(a_pod(container("main", 2, others={"cpu": "1"})))

    assert found.claim.key == "lab/<extended-resources>"
    assert requests(found) == {"container-0-request-1": 2}
    assert found.mappings == (RequestMapping("main", GPU, "container-0-request-1"),)


def test_limit_stands_for_a_request_that_is_not_given() -> None:
    limited: JsonObject = {"name": "main", "resources": {"limits": {GPU: "2"}}}

    assert requests(made(a_pod(limited))) == {"container-0-request-0": 2}


def test_requests_are_ordered_by_their_names_as_texts() -> None:
    found = made(a_pod(*(container(f"c{index}", 1) for index in range(11))))

    assert [*requests(found)][:4] == [
        "container-0-request-0",
        "container-1-request-0",
        "container-10-request-0",
        "container-2-request-0",
    ]


def test_init_container_uses_the_devices_of_later_containers() -> None:
    found = made(a_pod(container("main", 2), init=(container("early", 2),)))

    assert requests(found) == {"container-1-request-0": 2}
    assert mappings(found) == [
        ("main", "container-1-request-0"),
        ("early", "container-1-request-0"),
    ]


def test_of_what_init_containers_lack_only_the_most_is_asked_for() -> None:
    found = made(
        a_pod(container("main", 1), init=(container("a", 2), container("b", 4), container("c", 3)))
    )

    assert requests(found) == {"container-1-request-0": 3, "container-3-request-0": 1}
    assert mappings(found) == [
        ("main", "container-3-request-0"),
        ("a", "container-3-request-0"),
        ("a", "container-1-request-0"),
        ("b", "container-3-request-0"),
        ("b", "container-1-request-0"),
        ("c", "container-3-request-0"),
        ("c", "container-1-request-0"),
    ]


def test_init_container_that_stays_shares_with_those_before_it_only() -> None:
    found = made(
        a_pod(
            container("main"),
            init=(container("before", 1), container("stays", 1, stays=True), container("after", 1)),
        )
    )

    assert requests(found) == {"container-1-request-0": 1, "container-2-request-0": 1}
    assert mappings(found) == [
        ("stays", "container-1-request-0"),
        ("before", "container-1-request-0"),
        ("after", "container-2-request-0"),
    ]


def test_node_with_a_device_plugin_needs_no_claim() -> None:
    pod = a_pod(container("main", 1))

    assert special_claim(pod, allocatable={GPU: Quantity.of(4)}, classes=CLASSES) is None
    assert requests(made(pod, **{GPU: 0})) == {"container-0-request-0": 1}


def test_resource_that_nobody_provides_rules_the_node_out() -> None:
    pod = a_pod(container("main", 1, others={"example.com/fpga": "1"}))

    found = special_claim(pod, allocatable={}, classes=CLASSES)

    assert found == NotProvided("example.com/fpga")
    assert str(found) == "cannot fit resource example.com/fpga"


def test_pod_without_a_resource_of_a_class_is_no_concern() -> None:
    pod = a_pod(container("main", others={"cpu": "1", "example.com/fpga": "1"}))

    assert special_claim(pod, allocatable={}, classes=CLASSES) is None


def test_zero_of_a_resource_is_nothing() -> None:
    pod = a_pod(container("main", 0))

    assert special_claim(pod, allocatable={}, classes=CLASSES) is None


def test_class_is_found_by_its_own_name_too() -> None:
    found = class_for(f"{IMPLICIT_PREFIX}gpu", classes=CLASSES)

    assert found is CLASSES[0]


def test_newest_class_of_a_name_wins_and_then_the_first_by_name() -> None:
    newest = classes(old="2026-01-01T00:00:00Z", b="2026-02-01T00:00:00Z", a="2026-02-01T00:00:00Z")

    found = class_for(GPU, classes=newest)

    assert found is not None
    assert found.name == "a"


@pytest.mark.parametrize(
    ("name", "is_extended"),
    [
        (GPU, True),
        (f"{IMPLICIT_PREFIX}gpu", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("kubernetes.io/batch", False),
        ("requests.example.com/gpu", False),
        ("example.com/-gpu", False),
    ],
)
def test_extended_resources_are_told_apart_by_name(name: str, is_extended: bool) -> None:
    assert is_extended_resource(name) is is_extended
