import pytest

from nodeagent.claims.allocation import ConfigSource, OpaqueConfig, Result
from nodeagent.claims.opaque import check_configs, decode_kind, effective
from nodeagent.devices.model import Device
from nodeagent.fields import FieldError, Fields, JsonObject
from tests.builders.agents import a_gpu, a_mig_inventory

DRIVER = "gpu.nvidia.com"
GPU_CONFIG: JsonObject = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}
MIG_CONFIG: JsonObject = {**GPU_CONFIG, "kind": "MigDeviceConfig"}
FROM_CLASS = ConfigSource.FROM_CLASS
FROM_CLAIM = ConfigSource.FROM_CLAIM


def a_config(
    source: ConfigSource,
    *requests: str,
    parameters: JsonObject = GPU_CONFIG,
    driver: str = DRIVER,
) -> OpaqueConfig:
    return OpaqueConfig(
        source=source,
        requests=requests,
        driver=driver,
        parameters=Fields(parameters, "config[0].opaque.parameters"),
    )


def a_result(request: str = "gpu", device: str = "gpu-0") -> Result:
    return Result(request=request, driver=DRIVER, pool="gpu-01", device=device)


def chosen(request: str, *configs: OpaqueConfig) -> OpaqueConfig | None:
    return effective(a_result(request), configs, fits=lambda _config: True)


def test_the_claims_word_beats_the_classs_wherever_it_stands() -> None:
    claim = a_config(FROM_CLAIM)
    first, last = a_config(FROM_CLASS), a_config(FROM_CLASS)

    assert chosen("gpu", first, claim, last) is claim
    assert chosen("gpu", first, last) is last


def test_among_the_claims_own_the_later_one_wins() -> None:
    earlier, later = a_config(FROM_CLAIM, "gpu"), a_config(FROM_CLAIM)

    assert chosen("gpu", earlier, later) is later


def test_an_alternative_is_meant_by_its_own_name_and_by_its_parents() -> None:
    parent, alternative = a_config(FROM_CLAIM, "gpu"), a_config(FROM_CLAIM, "gpu/small")

    assert chosen("gpu/small", parent) is parent
    assert chosen("gpu/small", parent, alternative) is alternative
    assert chosen("gpu/large", parent, alternative) is parent
    assert chosen("nic", parent, alternative) is None


def test_an_entry_for_all_is_passed_over_where_it_does_not_fit() -> None:
    weak, strong = a_config(FROM_CLASS), a_config(FROM_CLAIM)

    assert effective(a_result(), [weak, strong], fits=lambda config: config is weak) is weak


def test_an_entry_that_names_the_request_and_does_not_fit_is_an_error() -> None:
    with pytest.raises(FieldError, match="meant for another kind of device than gpu-0"):
        effective(a_result(), [a_config(FROM_CLAIM, "gpu")], fits=lambda _config: False)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({**GPU_CONFIG, "kind": "VfioDeviceConfig"}, "expected GpuConfig or MigDeviceConfig"),
        ({**GPU_CONFIG, "apiVersion": "resource.nvidia.com/v2"}, "expected GpuConfig or Mig"),
        ({**GPU_CONFIG, "shring": {}}, r"parameters\.shring: unknown field"),
        ({**GPU_CONFIG, "sharing": {"strategy": "MPS"}}, r"sharing\.strategy: MPS is not offered"),
        ({**GPU_CONFIG, "sharing": "MPS"}, r"parameters\.sharing: expected an object"),
        ({"kind": "GpuConfig"}, r"parameters\.apiVersion: expected a string, got nothing"),
    ],
)
def test_configuration_is_decoded_strictly(parameters: JsonObject, message: str) -> None:
    with pytest.raises(FieldError, match=message):
        decode_kind(Fields(parameters, "parameters"))


def test_each_device_needs_a_configuration_of_its_own_kind() -> None:
    gpu = (a_result(), Device("gpu-0", a_gpu()))
    partition = a_mig_inventory().devices[0]
    mig = (a_result("mig", partition.name), partition)

    check_configs([gpu, mig], [a_config(FROM_CLASS)], driver=DRIVER)
    check_configs([mig], [a_config(FROM_CLAIM, "mig", parameters=MIG_CONFIG)], driver=DRIVER)
    with pytest.raises(FieldError, match="another kind of device"):
        check_configs([mig], [a_config(FROM_CLAIM, "mig")], driver=DRIVER)


def test_what_another_driver_is_told_is_not_looked_at() -> None:
    foreign = a_config(FROM_CLAIM, driver="nic.example", parameters={"mode": "anything"})

    check_configs([(a_result(), Device("gpu-0", a_gpu()))], [foreign], driver=DRIVER)
