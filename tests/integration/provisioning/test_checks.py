import pytest

from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import Cluster
from dra_console.provisioning.checks import Finding, Severity, check_template
from tests.builders.objects import a_prioritized_request, a_request, a_template, a_wish
from tests.integration.provisioning.conftest import PCIE_ROOT

REQUEST = "spec.spec.devices.requests[0]"


def findings_of(
    cluster: Cluster, *requests: JsonObject, constraints: list[JsonObject] | None = None
) -> list[Finding]:
    template = a_template(requests=list(requests), constraints=constraints)
    return list(check_template(cluster, template))


def test_template_that_can_be_met_has_no_findings(cluster: Cluster) -> None:
    request = a_request(
        selectors=['device.attributes["gpu.nvidia.com"].productName == "H100"'], count=2
    )

    assert findings_of(cluster, request, constraints=[{"matchAttribute": PCIE_ROOT}]) == []


def test_typographic_quotes_are_refused_with_their_place_and_the_plain_ones(
    cluster: Cluster,
) -> None:
    request = a_request(selectors=["device.driver == “gpu.nvidia.com”"])

    (finding,) = findings_of(cluster, request)

    assert finding.field == f"{REQUEST}.exactly.selectors[0].cel.expression"
    assert finding.form_field == "extra_selector"
    assert "line 1, column 18" in finding.message
    assert "use the plain quotes" in finding.message


def test_class_that_does_not_exist_is_answered_with_those_that_do(cluster: Cluster) -> None:
    (finding,) = findings_of(cluster, a_request(device_class="gpu.nvidia"))

    assert finding == Finding(
        field=f"{REQUEST}.exactly.deviceClassName",
        form_field="device_class_name",
        message="class gpu.nvidia does not exist; there are: gpu.nvidia.com, l4.nvidia.com, "
        "mig.nvidia.com; did you mean gpu.nvidia.com?",
    )


def test_attribute_that_no_device_of_the_class_has_is_answered_with_near_misses(
    cluster: Cluster,
) -> None:
    request = a_request(selectors=['device.attributes["gpu.nvidia.com"].productname == "H100"'])

    (finding,) = findings_of(cluster, request)

    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "0 of 6 devices of class gpu.nvidia.com have attribute gpu.nvidia.com/productname; "
        "did you mean gpu.nvidia.com/productName?"
    )


def test_attribute_of_another_class_is_not_of_this_one(cluster: Cluster) -> None:
    request = a_request(selectors=['device.attributes["gpu.nvidia.com"].profile == "1g.5gb"'])

    assert [finding.message for finding in findings_of(cluster, request)] == [
        "0 of 6 devices of class gpu.nvidia.com have attribute gpu.nvidia.com/profile"
    ]


def test_capacity_that_no_device_has_is_called_a_capacity(cluster: Cluster) -> None:
    request = a_request(
        selectors=['device.capacity["gpu.nvidia.com"].memroy.isGreaterThan(quantity("1Gi"))']
    )

    (finding,) = findings_of(cluster, request)

    assert "have capacity gpu.nvidia.com/memroy; did you mean gpu.nvidia.com/memory?" in (
        finding.message
    )


def test_attribute_that_the_expression_takes_for_optional_is_only_warned_of(
    cluster: Cluster,
) -> None:
    request = a_request(selectors=['device.attributes["gpu.nvidia.com"].?ecc.orValue(false)'])

    (finding,) = findings_of(cluster, request)

    assert finding.severity is Severity.WARNING


def test_more_than_32_devices_are_refused_at_the_count(cluster: Cluster) -> None:
    (finding,) = findings_of(cluster, a_request(count=33))

    assert finding.form_field == "count"
    assert finding.message == "Too many: 33: must have at most 32 devices in one claim"


def test_devices_cannot_be_kept_together_by_what_none_of_them_has(cluster: Cluster) -> None:
    (finding,) = findings_of(
        cluster,
        a_request(count=2),
        constraints=[{"matchAttribute": "resource.kubernetes.io/pcieroot"}],
    )

    assert finding.form_field == "keep_together"
    assert finding.message.endswith(f"did you mean {PCIE_ROOT}?")


def test_every_alternative_of_a_prioritized_list_is_checked(cluster: Cluster) -> None:
    request = a_prioritized_request(big=a_wish(), small=a_wish(device_class="tpu"))

    (finding,) = findings_of(cluster, request)

    assert finding.field == f"{REQUEST}.firstAvailable[1].deviceClassName"
    assert finding.form_field == ""


@pytest.mark.parametrize(
    ("spoilt", "field"),
    [({"metadata": {"name": "Train", "namespace": "a"}}, "metadata.name"), ({"spec": 3}, "spec")],
)
def test_what_the_api_server_would_refuse_is_refused_here(
    cluster: Cluster, spoilt: JsonObject, field: str
) -> None:
    findings = check_template(cluster, a_template() | spoilt)

    assert [finding.field for finding in findings] == [field]


def test_cluster_without_classes_says_so(db: None) -> None:
    del db
    empty = Cluster.objects.create(name="empty")

    (finding,) = findings_of(empty, a_request())

    assert finding.message == "class gpu.nvidia.com does not exist; there are: none"
