import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import ALL_DEVICES, EXACT_COUNT, Json, JsonObject
from dra_console.provisioning.manifest import TemplateForm, read_form, write_form
from dra_console.provisioning.template_parts import as_submitted
from dra_console.provisioning.wishes import MemoryWish, ProductWish
from tests.builders.objects import a_template

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
H100 = ProductWish("gpu.nvidia.com", "NVIDIA H100 80GB HBM3")
FULL_FORM = TemplateForm(
    namespace="team-vision",
    name="train-h100",
    device_class_name="gpu.nvidia.com",
    product=H100,
    memory=MemoryWish("gpu.nvidia.com", "80Gi"),
    count=2,
    keep_together=PCIE_ROOT,
    extra_selector='device.driver == "gpu.nvidia.com"',
)


def test_form_becomes_the_template_that_people_would_write() -> None:
    assert write_form(FULL_FORM) == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "train-h100", "namespace": "team-vision"},
        "spec": {
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "gpu",
                            "exactly": {
                                "deviceClassName": "gpu.nvidia.com",
                                "count": 2,
                                "selectors": [
                                    {
                                        "cel": {
                                            "expression": 'device.attributes["gpu.nvidia.com"]'
                                            '.productName == "NVIDIA H100 80GB HBM3"'
                                        }
                                    },
                                    {
                                        "cel": {
                                            "expression": 'device.capacity["gpu.nvidia.com"]'
                                            '.memory.compareTo(quantity("80Gi")) >= 0'
                                        }
                                    },
                                    {"cel": {"expression": 'device.driver == "gpu.nvidia.com"'}},
                                ],
                            },
                        }
                    ],
                    "constraints": [{"matchAttribute": PCIE_ROOT}],
                }
            }
        },
    }


def test_all_devices_are_asked_for_without_a_count() -> None:
    form = TemplateForm(name="all", device_class_name="gpu", allocation_mode=ALL_DEVICES)

    assert exactly_of(write_form(form)) == {"deviceClassName": "gpu", "allocationMode": "All"}


def exactly_of(template: JsonObject) -> Json:
    return value_at(template, "spec.spec.devices.requests[0].exactly")


def test_quotes_in_a_product_name_stay_text() -> None:
    odd = ProductWish("gpu.nvidia.com", 'a "b" \\ c')
    template = write_form(TemplateForm(product=odd))

    assert read_form(template).values.product == odd


def test_what_the_form_does_not_show_is_named_and_kept() -> None:
    template = write_form(FULL_FORM)
    object_at(template, "metadata")["labels"] = {"team": "vision"}
    object_at(template, "spec")["metadata"] = {"annotations": {"a": "b"}}
    exactly = object_at(template, "spec.spec.devices.requests[0].exactly")
    exactly["tolerations"] = [{"operator": "Exists"}]
    exactly["selectors"] = [{"cel": {"expression": "true"}}, *list_at(exactly, "selectors")]
    devices = object_at(template, "spec.spec.devices")
    nic: JsonObject = {"name": "nic", "exactly": {"deviceClassName": "nic"}}
    devices["requests"] = [*list_at(devices, "requests"), nic]
    devices["constraints"] = [*list_at(devices, "constraints"), {"distinctAttribute": "numa"}]
    devices["config"] = [{"opaque": {"driver": "gpu.nvidia.com", "parameters": {"a": 1}}}]

    shown = read_form(template)
    changed = write_form(TemplateForm(namespace="team-vision", name="other"), base=template)

    assert set(shown.not_shown) == {
        "metadata.labels",
        "spec.metadata",
        "spec.spec.devices.config",
        "spec.spec.devices.requests[0].exactly.tolerations",
        "spec.spec.devices.requests[0].exactly.selectors[3]",
        "spec.spec.devices.requests[1]",
        "spec.spec.devices.constraints[1]",
    }
    assert_kept(shown.not_shown, before=template, after=changed)


def assert_kept(paths: tuple[str, ...], *, before: JsonObject, after: JsonObject) -> None:
    """Each field is where it was; each entry of a list is somewhere in the list."""
    for path in paths:
        if path.endswith("]"):
            list_path = path.rpartition("[")[0]
            assert value_at(before, path) in value_at(after, list_path)  # type: ignore[operator]  # a list
        else:
            assert value_at(after, path) == value_at(before, path)


def value_at(value: Json, path: str) -> Json:
    for step in re.findall(r"[^.\[\]]+", path):
        value = value[int(step) if isinstance(value, list) else step]  # type: ignore[index]  # path fits
    return value


def test_what_the_server_set_is_taken_off_and_nothing_else() -> None:
    template = a_template("train", namespace="team-research")
    metadata = template["metadata"]
    assert isinstance(metadata, dict)
    metadata |= {"labels": {"a": "b"}, "uid": "1", "resourceVersion": "7"}

    submitted = as_submitted(template)

    assert submitted["metadata"] == {
        "name": "train",
        "namespace": "team-research",
        "labels": {"a": "b"},
    }
    assert submitted["spec"] == template["spec"]
    assert metadata["uid"] == "1"


def test_prioritized_list_is_not_the_form_s_to_change() -> None:
    template = a_template(
        requests=[{"name": "gpu", "firstAvailable": [{"name": "a", "deviceClassName": "gpu"}]}]
    )

    shown = read_form(template)
    changed = write_form(TemplateForm(name="other", device_class_name="x", count=4), base=template)

    assert shown.not_shown == ("spec.spec.devices.requests[0].firstAvailable",)
    assert changed["spec"] == template["spec"]


def test_new_constraint_covers_only_the_form_s_request_if_there_are_others() -> None:
    template = a_template(
        requests=[
            {"name": "gpu", "exactly": {"deviceClassName": "gpu"}},
            {"name": "nic", "exactly": {"deviceClassName": "nic"}},
        ]
    )
    values = read_form(template).values

    changed = write_form(replace(values, keep_together=PCIE_ROOT), base=template)

    assert value_at(changed, "spec.spec.devices.constraints") == [
        {"matchAttribute": PCIE_ROOT, "requests": ["gpu"]}
    ]


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        ({"apiVersion": "v1"}, "apiVersion: expected resource.k8s.io/v1, got v1"),
        ({"kind": "Pod"}, "kind: expected ResourceClaimTemplate, got Pod"),
        ({"spec": []}, "spec: expected an object, got a list"),
        (
            {"spec": {"spec": {"devices": {"requests": {}}}}},
            "spec.spec.devices.requests: expected a list, got an object",
        ),
        (
            {"spec": {"spec": {"devices": {"requests": [{"exactly": {"count": "2"}}]}}}},
            "spec.spec.devices.requests[0].exactly.count: expected a whole number, got a text",
        ),
    ],
)
def test_template_of_the_wrong_shape_is_refused_with_the_field(
    spoilt: JsonObject, message: str
) -> None:
    with pytest.raises(DecodeError) as refused:
        read_form(write_form(FULL_FORM) | spoilt)

    assert str(refused.value) == message


def object_at(value: Json, path: str) -> JsonObject:
    found = value_at(value, path)
    assert isinstance(found, dict)
    return found


def list_at(fields: JsonObject, key: str) -> list[Json]:
    found = fields.get(key, [])
    assert isinstance(found, list)
    return found


names = st.from_regex(r"[a-z]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=20)
forms = st.builds(
    TemplateForm,
    namespace=names | st.just(""),
    name=names | st.just(""),
    device_class_name=names | st.just(""),
    product=st.none() | st.builds(ProductWish, names, texts, texts),
    memory=st.none() | st.builds(MemoryWish, names, st.sampled_from(["80Gi", "1e9", "500M"])),
    allocation_mode=st.just(EXACT_COUNT),
    count=st.integers(0, 40),
    keep_together=st.sampled_from(["", PCIE_ROOT, "gpu.nvidia.com/numaNode"]),
    extra_selector=texts,
) | st.builds(TemplateForm, allocation_mode=st.just(ALL_DEVICES), name=names)

others: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {},
    optional={
        "tolerations": st.just([{"operator": "Exists"}]),
        "adminAccess": st.booleans(),
        "capacity": st.just({"requests": {"memory": "1Gi"}}),
    },
)


selectors: st.SearchStrategy[Json] = texts.map(lambda text: {"cel": {"expression": text}})
other_constraints: st.SearchStrategy[Json] = st.sampled_from(
    [{"distinctAttribute": "a/b"}, {"matchAttribute": "a/b", "requests": ["nic"]}]
)


@st.composite
def templates(draw: st.DrawFn) -> JsonObject:
    """Templates with more in them than the form shows."""
    template = write_form(draw(forms))
    devices = object_at(template, "spec.spec.devices")
    exactly = object_at(template, "spec.spec.devices.requests[0].exactly")
    exactly.update(draw(others))
    if expressions := draw(st.lists(selectors, max_size=3)):
        exactly["selectors"] = draw(st.permutations([*list_at(exactly, "selectors"), *expressions]))
    if constraints := draw(st.lists(other_constraints, max_size=2)):
        devices["constraints"] = draw(
            st.permutations([*list_at(devices, "constraints"), *constraints])
        )
    return template


@given(forms)
def test_form_that_was_written_reads_the_same(form: TemplateForm) -> None:
    shown = read_form(write_form(form))

    assert (shown.values, shown.not_shown) == (form, ())


@given(templates())
def test_template_that_was_read_is_written_unchanged(template: JsonObject) -> None:
    assert write_form(read_form(template).values, base=template) == template


@given(templates(), forms)
def test_no_change_in_the_form_loses_what_it_does_not_show(
    template: JsonObject, form: TemplateForm
) -> None:
    changed = write_form(form, base=template)

    assert_kept(read_form(template).not_shown, before=template, after=changed)
