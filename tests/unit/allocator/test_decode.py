"""The edge where JSON is parsed: defaults, older versions, and errors with their path."""

import pytest

from dra_console.allocator.decoding.decode import (
    decode_claim,
    decode_claim_spec,
    decode_class,
    decode_node,
    decode_slice,
    decode_snapshot,
    decode_taint_rule,
    decode_template,
)
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import (
    AttributeKind,
    AttributeValue,
    DeviceWish,
    Json,
    JsonObject,
    NodeReach,
)
from dra_console.allocator.quantity import Quantity
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_namespace,
    a_node,
    a_pod,
    a_result,
    a_slice,
    a_taint_rule,
    a_template,
    an_allocated_claim,
)

V1BETA1: JsonObject = {"apiVersion": "resource.k8s.io/v1beta1"}


def wish_of(request: JsonObject, **version: Json) -> DeviceWish | None:
    return decode_claim(a_claim(requests=[request]) | version).spec.requests[0].exactly


def test_absent_fields_take_the_servers_defaults() -> None:
    wish = wish_of({"name": "gpu", "exactly": {"deviceClassName": "c", "tolerations": [{}]}})

    assert wish is not None
    assert (wish.allocation_mode, wish.count, wish.admin_access) == ("ExactCount", 1, False)
    assert wish.tolerations[0].operator == "Equal"


def test_null_is_absent() -> None:
    wish = wish_of({"name": "gpu", "exactly": {"deviceClassName": "c", "count": None}})

    assert wish is not None
    assert wish.count == 1


def test_flat_request_of_v1beta1_is_lifted_into_exactly() -> None:
    flat: JsonObject = {"name": "gpu", "deviceClassName": "c", "count": 2}

    assert wish_of(flat, **V1BETA1) == DeviceWish("c", count=2)


FLAT: JsonObject = {"name": "gpu", "deviceClassName": "c"}
NESTED: JsonObject = {"name": "gpu", "exactly": {"deviceClassName": "c"}}


@pytest.mark.parametrize(
    ("version", "request_", "path", "words"),
    [
        pytest.param("v1", FLAT, "deviceClassName", "since v1beta2", id="flat in v1"),
        pytest.param("v1beta2", FLAT, "deviceClassName", "since v1beta2", id="flat in v1beta2"),
        pytest.param("v1beta1", NESTED, "exactly", "before v1beta2", id="exactly in v1beta1"),
        pytest.param("v1alpha3", NESTED, "exactly", "before v1beta2", id="exactly in v1alpha3"),
    ],
)
def test_request_in_the_shape_of_another_version_is_refused_in_plain_words(
    version: str, request_: JsonObject, path: str, words: str
) -> None:
    with pytest.raises(DecodeError) as refused:
        wish_of(request_, apiVersion=f"resource.k8s.io/{version}")

    assert refused.value.path == f"spec.devices.requests[0].{path}"
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("fields", "is_exact"),
    [
        pytest.param({"deviceClassName": "", "count": 0, "selectors": None}, False, id="nothing"),
        pytest.param({"count": 1}, True, id="a count"),
        pytest.param({"adminAccess": False}, True, id="no admin access"),
        pytest.param({"selectors": []}, True, id="no selectors"),
    ],
)
def test_flat_request_is_one_for_exact_devices_if_it_says_anything(
    fields: JsonObject, is_exact: bool
) -> None:
    wish = wish_of({"name": "gpu", **fields}, **V1BETA1)

    assert (wish is not None) == is_exact


def test_spec_without_a_version_is_read_in_the_shape_of_each() -> None:
    for request in (FLAT, NESTED):
        (read,) = decode_claim_spec({"devices": {"requests": [request]}}).requests
        assert read.exactly == DeviceWish("c")


def test_spec_without_a_version_cannot_have_both_shapes() -> None:
    with pytest.raises(DecodeError) as refused:
        decode_claim_spec({"devices": {"requests": [FLAT | NESTED]}})

    assert refused.value.path == "spec.devices.requests[0].exactly"


@pytest.mark.parametrize(
    ("version", "words"),
    [
        pytest.param("v1alpha2", "dropped in Kubernetes 1.31", id="classic"),
        pytest.param("v2", "not known to this release", id="of the future"),
    ],
)
def test_version_that_cannot_be_read_is_named_with_the_one_to_use(version: str, words: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode_claim(a_claim() | {"apiVersion": f"resource.k8s.io/{version}"})

    assert refused.value.path == "apiVersion"
    assert words in refused.value.message
    assert "use resource.k8s.io/v1" in refused.value.message


BASIC: JsonObject = {
    "name": "gpu-0",
    "basic": {"attributes": {"x": {"int": 1}}, "capacity": {"mem": "1Gi"}},
}


def test_basic_device_of_v1beta1_is_hoisted() -> None:
    (device,) = decode_slice(a_slice(devices=[BASIC]) | V1BETA1).devices

    assert device.attributes == {"x": AttributeValue(AttributeKind.INT, 1)}
    assert device.capacity["mem"].value == Quantity.parse("1Gi")


@pytest.mark.parametrize(
    ("version", "device", "path"),
    [
        pytest.param("v1", BASIC, "basic", id="basic in v1"),
        pytest.param("v1beta1", a_device("gpu-0"), "attributes", id="plain in v1beta1"),
    ],
)
def test_device_in_the_shape_of_another_version_is_refused(
    version: str, device: JsonObject, path: str
) -> None:
    with pytest.raises(DecodeError) as refused:
        decode_slice(a_slice(devices=[device]) | {"apiVersion": f"resource.k8s.io/{version}"})

    assert refused.value.path == f"spec.devices[0].{path}"


def test_unset_node_selection_of_v1beta1_is_absent() -> None:
    slice_ = decode_slice(a_slice(node=None, pool="p", nodeName="", allNodes=True))

    assert slice_.reach == NodeReach(all_nodes=True)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"int": 1}, AttributeKind.INT),
        ({"bool": False}, AttributeKind.BOOL),
        ({"string": ""}, AttributeKind.STRING),
        ({"version": "1.0.0"}, AttributeKind.VERSION),
        ({"strings": ["a"]}, AttributeKind.STRINGS),
        ({}, AttributeKind.UNKNOWN),
        ({"future": 1}, AttributeKind.UNKNOWN),
    ],
)
def test_kinds_of_attributes(value: Json, kind: AttributeKind) -> None:
    (device,) = decode_slice(a_slice(devices=[a_device(attributes={"x": value})])).devices

    assert device.attributes["x"].kind is kind


ERRORS = [
    pytest.param(
        {"spec": {"devices": {"requests": {}}}},
        "spec.devices.requests: expected a list, got an object",
        id="list",
    ),
    pytest.param(
        {"spec": {"devices": {"requests": ["gpu"]}}},
        "spec.devices.requests[0]: expected an object, got a text",
        id="object",
    ),
    pytest.param(
        {"spec": {"devices": {"requests": [{"name": 1}]}}},
        "spec.devices.requests[0].name: expected a text, got a number",
        id="text",
    ),
    pytest.param(
        {"spec": {"devices": {"requests": [{"exactly": {"count": True}}]}}},
        "spec.devices.requests[0].exactly.count: expected a whole number, got a boolean",
        id="number",
    ),
    pytest.param(
        {"spec": {"devices": {"requests": [{"exactly": {"adminAccess": "yes"}}]}}},
        "spec.devices.requests[0].exactly.adminAccess: expected true or false, got a text",
        id="boolean",
    ),
    pytest.param(
        {
            "metadata": {"name": "x"},
            "status": {"allocation": {"devices": {"results": [{"pool": 1}]}}},
        },
        "status.allocation.devices.results[0].pool: expected a text, got a number",
        id="status",
    ),
    pytest.param(
        {"status": {"allocation": {"devices": {"config": [{"source": "Sky"}]}}}},
        "status.allocation.devices.config[0].source: expected FromClass or FromClaim, got 'Sky'",
        id="source",
    ),
]


@pytest.mark.parametrize(("obj", "message"), ERRORS)
def test_field_of_the_wrong_kind_is_named(obj: JsonObject, message: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode_claim(obj)

    assert str(refused.value) == message


def test_quantity_that_is_none_is_named() -> None:
    with pytest.raises(
        DecodeError, match=r"spec\.devices\[0\]\.capacity\[memory\]\.value: .*'8GB'"
    ):
        decode_slice(a_slice(devices=[a_device(memory="8GB")]))


def test_number_without_quotes_is_a_quantity() -> None:
    device = a_device() | {"capacity": {"mem": {"value": 8}}}

    (decoded,) = decode_slice(a_slice(devices=[device])).devices

    assert decoded.capacity["mem"].value == Quantity.of(8)


def test_devices_that_have_the_same_amounts_share_the_map_of_them() -> None:
    def having(name: str, amount: str) -> JsonObject:
        return a_device(name) | {"capacity": {"mem": {"value": amount}, "cores": {"value": "4"}}}

    alike, other, spelled = ("80Gi", "40Gi", str(80 << 30))
    decoded = decode_slice(
        a_slice(
            devices=[
                having("gpu-0", alike),
                having("gpu-1", alike),
                having("gpu-2", other),
                having("gpu-3", spelled),
            ]
        )
    ).devices

    assert decoded[0].capacity is decoded[1].capacity
    assert [str(each.capacity["mem"].value) for each in decoded] == [alike, alike, other, spelled]
    assert [*decoded[3].capacity] == ["mem", "cores"]


def test_fields_that_are_not_known_are_kept_by_path() -> None:
    request: JsonObject = {"name": "gpu", "exactly": {"deviceClassName": "c", "future": {"a": 1}}}

    claim = decode_claim(a_claim(requests=[request]))

    assert claim.spec.unknown_fields == ("spec.devices.requests[0].exactly.future",)


def test_template_is_read_with_what_it_stamps_on_claims() -> None:
    template = a_template()
    spec = template["spec"]
    assert isinstance(spec, dict)
    spec["metadata"] = {"labels": {"team": "x"}}

    decoded = decode_template(template)

    assert decoded.labels == {"team": "x"}
    assert decoded.spec.requests[0].name == "gpu"


def test_rule_without_selector_selects_nothing() -> None:
    rule = a_taint_rule()
    spec = rule["spec"]
    assert isinstance(spec, dict)
    del spec["deviceSelector"]

    assert decode_taint_rule(rule).selects_nothing
    assert not decode_taint_rule(a_taint_rule()).selects_nothing


@pytest.mark.parametrize("field", ["deviceClassName", "selectors", "ofTheFuture"])
def test_rule_that_selects_by_more_is_not_taken_for_a_broader_one(field: str) -> None:
    rule = a_taint_rule()
    spec = rule["spec"]
    assert isinstance(spec, dict)
    spec["deviceSelector"] = {"driver": "x.io", field: ["y"]}

    assert decode_taint_rule(rule).selects_nothing


def test_class_and_node() -> None:
    assert decode_class(a_class("c", selectors=["true"])).selectors == ("true",)
    assert decode_node(a_node("n", zone="z")).labels["zone"] == "z"


def test_snapshot_sorts_objects_by_kind_and_leaves_out_the_rest() -> None:
    objects = [
        a_node(),
        a_slice(),
        a_class(),
        an_allocated_claim(results=[a_result()]),
        a_taint_rule(),
        a_pod(),
        a_namespace(),
    ]

    snapshot = decode_snapshot(objects)

    kinds = (
        snapshot.nodes,
        snapshot.slices,
        snapshot.classes,
        snapshot.claims,
        snapshot.taint_rules,
    )
    assert [len(kind) for kind in kinds] == [1, 1, 1, 1, 1]


def test_null_in_a_map_or_a_list_is_an_entry_without_content() -> None:
    device: JsonObject = a_device("gpu-0") | {
        "attributes": {"a": None, "b": {"ints": [1, None]}},
        "capacity": {"c": None},
        "bindingConditions": [None],
    }

    (read,) = decode_slice(a_slice(devices=[device])).devices

    assert read.attributes["a"].kind is AttributeKind.UNKNOWN
    assert read.attributes["b"] == AttributeValue(AttributeKind.INTS, (1, 0))
    assert read.capacity["c"].value == Quantity(0)
    assert read.binding_conditions == ("",)


def test_integers_have_64_bits() -> None:
    wish = wish_of({"name": "gpu", "exactly": {"deviceClassName": "c", "count": 2**63 - 1}})
    assert wish is not None
    assert wish.count == 2**63 - 1

    with pytest.raises(DecodeError) as refused:
        wish_of({"name": "gpu", "exactly": {"deviceClassName": "c", "count": 2**63}})

    assert refused.value.path == "spec.devices.requests[0].exactly.count"


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    wish = wish_of({"name": "gpu", "exactly": {"deviceClassName": "a\ud800"}})

    assert wish is not None
    assert wish.device_class_name == "a\ufffd"


WISH: JsonObject = {"deviceClassName": "c"}
FUTURE = [
    pytest.param(WISH | {"future": 1}, "future", id="request"),
    pytest.param(
        WISH | {"selectors": [{"cel": {"expression": "true", "future": 1}}]},
        "selectors[0].cel.future",
        id="expression",
    ),
    pytest.param(
        WISH | {"tolerations": [{"key": "k", "future": 1}]},
        "tolerations[0].future",
        id="toleration",
    ),
    pytest.param(WISH | {"capacity": {"limits": {}}}, "capacity.limits", id="capacity"),
    pytest.param(
        WISH | {"derivedAttributes": [{"name": "n", "future": 1}]},
        "derivedAttributes[0].future",
        id="derived attribute",
    ),
]


@pytest.mark.parametrize(("wish", "path"), FUTURE)
def test_unknown_field_of_a_request_is_kept_in_mind(wish: JsonObject, path: str) -> None:
    exact = decode_claim(a_claim(requests=[{"name": "gpu", "exactly": wish}]))
    listed = decode_claim(a_claim(requests=[{"name": "gpu", "firstAvailable": [wish]}]))

    assert exact.spec.unknown_fields == (f"spec.devices.requests[0].exactly.{path}",)
    assert listed.spec.unknown_fields == (f"spec.devices.requests[0].firstAvailable[0].{path}",)


def test_unknown_field_of_a_class_is_kept_in_mind() -> None:
    assert decode_class(a_class(future=[1])).unknown_fields == ("spec.future",)
    assert decode_class(a_class(suitableNodes={}, extendedResourceName="a/b")).unknown_fields == ()


@pytest.mark.parametrize(
    ("device", "path"),
    [
        pytest.param({"future": 1}, "future", id="device"),
        pytest.param(
            {"consumesCounters": [{"counterSet": "c", "future": 1}]},
            "consumesCounters[0].future",
            id="consumption",
        ),
        pytest.param(
            {"capacity": {"k": {"value": "1", "requestPolicy": {"future": 1}}}},
            "capacity[k].requestPolicy.future",
            id="policy",
        ),
    ],
)
def test_unknown_field_of_a_device_is_kept_in_mind(device: JsonObject, path: str) -> None:
    slice_ = decode_slice(a_slice(devices=[a_device("gpu-0") | device], future=None))

    assert slice_.unknown_fields == (f"spec.devices[0].{path}",)


def test_v1beta1_slices_have_no_unknown_fields() -> None:
    assert decode_slice(a_slice(devices=[BASIC]) | V1BETA1).unknown_fields == ()


@pytest.mark.parametrize("amount", [" 1Gi ", 2**30, float(2**30)])
def test_quantity_may_stand_between_blanks_or_be_a_number(amount: Json) -> None:
    device: JsonObject = a_device("gpu-0") | {"capacity": {"k": {"value": amount}}}

    (read,) = decode_slice(a_slice(devices=[device])).devices

    assert read.capacity["k"].value == Quantity.parse("1Gi")


@pytest.mark.parametrize("amount", ["1\n", "lots", "", True])
def test_what_is_no_quantity_is_refused_at_its_path(amount: Json) -> None:
    device: JsonObject = a_device("gpu-0") | {"capacity": {"k": {"value": amount}}}

    with pytest.raises(DecodeError) as refused:
        decode_slice(a_slice(devices=[device]))

    assert refused.value.path == "spec.devices[0].capacity[k].value"
