from collections.abc import Sequence
from dataclasses import replace

import pytest

from nodeagent.claims.allocation import ConfigSource, OpaqueConfig, Result
from nodeagent.claims.opaque import effective, sharing_of
from nodeagent.claims.sharing import Interval, Mps, Sharing, Strategy, TimeSlicing
from nodeagent.devices.model import Device
from nodeagent.fields import FieldError, Fields, JsonObject
from tests.builders.agents import a_gpu, a_mig_inventory

DRIVER = "gpu.nvidia.com"
GPU_CONFIG: JsonObject = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}
MIG_CONFIG: JsonObject = {**GPU_CONFIG, "kind": "MigDeviceConfig"}
MPS_CONFIG: JsonObject = {**GPU_CONFIG, "sharing": {"strategy": "MPS"}}
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


def shared(
    results: Sequence[tuple[Result, Device]], *configs: OpaqueConfig
) -> tuple[Sharing | None, ...]:
    return sharing_of(results, configs, driver=DRIVER, offered=frozenset(Strategy))


GPU_0 = (a_result(), Device("gpu-0", a_gpu(compute_capability="9.0")))
GPU_1 = (a_result("other", "gpu-1"), Device("gpu-1", a_gpu(1, compute_capability="9.0")))
LONG: JsonObject = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}}


def a_partition(*, is_dynamic: bool = False) -> tuple[Result, Device]:
    device = a_mig_inventory().devices[0]
    gpu = replace(device.gpu, is_dynamic=is_dynamic)
    return a_result("mig", device.name), replace(device, gpu=gpu)


def test_each_device_needs_a_configuration_of_its_own_kind() -> None:
    mig = a_partition()

    assert shared([GPU_0, mig], a_config(FROM_CLASS)) == (None, None)
    assert shared([mig], a_config(FROM_CLAIM, "mig", parameters=MIG_CONFIG)) == (None,)
    with pytest.raises(FieldError, match="another kind of device"):
        shared([mig], a_config(FROM_CLAIM, "mig"))


def test_what_another_driver_is_told_is_not_looked_at() -> None:
    foreign = a_config(FROM_CLAIM, driver="nic.example", parameters={"mode": "anything"})

    assert shared([GPU_0], foreign) == (None,)


def test_a_configuration_shares_the_devices_that_it_is_chosen_for() -> None:
    sliced = a_config(FROM_CLAIM, "gpu", parameters={**GPU_CONFIG, "sharing": LONG})

    assert shared([GPU_0, GPU_1], sliced) == (TimeSlicing(Interval.LONG), None)


def test_access_for_administrators_changes_nothing_whatever_the_class_says() -> None:
    watcher = (replace(GPU_0[0], admin_access=True), GPU_0[1])

    assert shared([watcher], a_config(FROM_CLASS, parameters=MPS_CONFIG)) == (None,)


def test_one_entry_for_several_devices_is_one_mps_group() -> None:
    group = shared([GPU_0, GPU_1], a_config(FROM_CLAIM, parameters=MPS_CONFIG))

    assert group == (Mps(), Mps())


def test_a_second_mps_daemon_for_a_claim_is_refused_since_a_container_has_one_pipe() -> None:
    configs = [a_config(FROM_CLAIM, name, parameters=MPS_CONFIG) for name in ("gpu", "other")]

    with pytest.raises(FieldError, match="a container can talk to one MPS daemon only"):
        shared([GPU_0, GPU_1], *configs)


def test_mps_for_a_share_of_a_device_is_refused_with_the_reason() -> None:
    share = (replace(GPU_0[0], share_id="s1"), GPU_0[1])

    with pytest.raises(FieldError, match=r"sharing\.strategy: MPS cannot serve a share of gpu-0"):
        shared([share], a_config(FROM_CLAIM, parameters=MPS_CONFIG))


def test_mps_on_a_partition_that_is_made_for_the_claim_is_refused() -> None:
    config = a_config(FROM_CLAIM, parameters={**MIG_CONFIG, "sharing": {"strategy": "MPS"}})

    assert shared([a_partition()], config) == (Mps(),)
    with pytest.raises(FieldError, match="its partition is made for the claim"):
        shared([a_partition(is_dynamic=True)], config)


@pytest.mark.parametrize(("capability", "said"), [("6.1", "has 6.1"), (None, "an unknown one")])
def test_mps_on_pascal_is_refused_although_the_driver_takes_the_flag(
    capability: str | None, said: str
) -> None:
    pascal = (a_result(), Device("gpu-0", a_gpu(compute_capability=capability)))

    with pytest.raises(FieldError, match=f"needs compute capability 7.0 or later.*{said}"):
        shared([pascal], a_config(FROM_CLAIM, parameters=MPS_CONFIG))


def test_a_limit_for_a_device_that_the_group_does_not_have_is_refused_by_its_key() -> None:
    def limited(key: str) -> OpaqueConfig:
        sharing: JsonObject = {
            "strategy": "MPS",
            "mpsConfig": {"defaultPerDevicePinnedMemoryLimit": {key: "1Gi"}},
        }
        return a_config(FROM_CLAIM, parameters={**GPU_CONFIG, "sharing": sharing})

    for key in ("0", "1", "GPU-1"):
        shared([GPU_0, GPU_1], limited(key))
    with pytest.raises(FieldError, match=r"PinnedMemoryLimit\.2: no index below 2"):
        shared([GPU_0, GPU_1], limited("2"))
