import pytest

from nodeagent.claims.configuration import ConfigKind, decode_configuration
from nodeagent.claims.sharing import (
    Interval,
    Mps,
    Sharing,
    Strategy,
    TimeSlicing,
    sharing_from_json,
    sharing_to_json,
)
from nodeagent.fields import FieldError, Fields, Json, JsonObject

NVIDIA: JsonObject = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}
NVIDIA_MIG: JsonObject = {**NVIDIA, "kind": "MigDeviceConfig"}
OWN: JsonObject = {"apiVersion": "config.dra-console.io/v1", "kind": "GpuConfig"}
OWN_MIG: JsonObject = {**OWN, "kind": "MigConfig"}
ALL = frozenset(Strategy)

LIMITED = Mps(
    active_thread_percentage=40,
    pinned_memory_mebibytes=2048,
    pinned_memory_mebibytes_by_device={"0": 512, "GPU-7": 1},
)
LIMITED_CONFIG: JsonObject = {
    "defaultActiveThreadPercentage": 40,
    "defaultPinnedDeviceMemoryLimit": "2Gi",
    "defaultPerDevicePinnedMemoryLimit": {"0": "512Mi", "GPU-7": "1.9Mi"},
}


def decoded(parameters: JsonObject, offered: frozenset[Strategy] = ALL) -> Sharing | None:
    return decode_configuration(Fields(parameters, "p"), offered=offered).sharing


@pytest.mark.parametrize(
    ("parameters", "kind"),
    [
        (NVIDIA, ConfigKind.GPU),
        (NVIDIA_MIG, ConfigKind.MIG),
        (OWN, ConfigKind.GPU),
        (OWN_MIG, ConfigKind.MIG),
    ],
)
def test_our_own_kinds_and_nvidias_are_read_alike(parameters: JsonObject, kind: ConfigKind) -> None:
    configuration = decode_configuration(Fields(parameters, "p"), offered=frozenset())

    assert configuration.kind is kind
    assert configuration.sharing is None


def with_sharing(parameters: JsonObject, strategy: str, **blocks: Json) -> JsonObject:
    return {**parameters, "sharing": {"strategy": strategy, **blocks}}


@pytest.mark.parametrize(
    ("parameters", "sharing"),
    [
        (with_sharing(OWN, "TimeSlicing"), TimeSlicing(Interval.DEFAULT)),
        (with_sharing(OWN_MIG, "TimeSlicing"), TimeSlicing(Interval.DEFAULT)),
        (
            with_sharing(NVIDIA, "TimeSlicing", timeSlicingConfig={"interval": "Medium"}),
            TimeSlicing(Interval.MEDIUM),
        ),
        (with_sharing(NVIDIA, "MPS"), Mps()),
        (with_sharing(NVIDIA_MIG, "MPS", mpsConfig=LIMITED_CONFIG), LIMITED),
    ],
)
def test_a_strategy_is_read_with_its_defaults_filled_in(
    parameters: JsonObject, sharing: Sharing
) -> None:
    assert decoded(parameters) == sharing


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({**NVIDIA, "kind": "VfioDeviceConfig"}, "^p: expected one of GpuConfig of config"),
        ({**NVIDIA, "apiVersion": "resource.nvidia.com/v2"}, "^p: expected one of"),
        ({**OWN, "kind": "MigDeviceConfig"}, "^p: expected one of"),
        ({**NVIDIA, "shring": {}}, r"^p\.shring: unknown field"),
        ({**NVIDIA, "sharing": "MPS"}, r"^p\.sharing: expected an object"),
        ({"kind": "GpuConfig"}, r"^p\.apiVersion: expected a string, got nothing"),
        ({**NVIDIA, "sharing": {}}, r"^p\.sharing\.strategy: expected a string, got nothing"),
        (with_sharing(OWN, "Turns"), r"^p\.sharing\.strategy: expected TimeSlicing or MPS"),
        (with_sharing(OWN, "MPS", extra=1), r"^p\.sharing\.extra: unknown field"),
        (
            with_sharing(OWN, "MPS", timeSlicingConfig={}),
            r"^p\.sharing\.timeSlicingConfig: not with the strategy MPS",
        ),
        (
            with_sharing(OWN, "TimeSlicing", mpsConfig={}),
            r"^p\.sharing\.mpsConfig: not with the strategy TimeSlicing",
        ),
        (
            with_sharing(OWN_MIG, "TimeSlicing", timeSlicingConfig={"interval": "Long"}),
            r"^p\.sharing\.timeSlicingConfig: the time slice of a MIG device cannot be set",
        ),
        (
            with_sharing(OWN, "TimeSlicing", timeSlicingConfig={"interval": "Huge"}),
            r"^p\.sharing\.timeSlicingConfig\.interval: expected one of Default, Short",
        ),
        (
            with_sharing(OWN, "MPS", mpsConfig={"defaultActiveThreadPercentage": 101}),
            r"defaultActiveThreadPercentage: expected 0 to 100, got 101",
        ),
        (
            with_sharing(OWN, "MPS", mpsConfig={"defaultPinnedDeviceMemoryLimit": "1023Ki"}),
            r"defaultPinnedDeviceMemoryLimit: expected a quantity of 1Mi or more, got '1023Ki'",
        ),
        (
            with_sharing(OWN, "MPS", mpsConfig={"defaultPerDevicePinnedMemoryLimit": {"0": "x"}}),
            r"defaultPerDevicePinnedMemoryLimit\.0: expected a quantity of 1Mi or more",
        ),
    ],
)
def test_a_mistake_is_refused_by_the_name_of_its_field(
    parameters: JsonObject, message: str
) -> None:
    with pytest.raises(FieldError, match=message):
        decoded(parameters)


@pytest.mark.parametrize(
    ("strategy", "gate"), [("TimeSlicing", "TimeSlicingSettings"), ("MPS", "MPSSupport")]
)
def test_a_strategy_whose_gate_is_off_is_refused_by_the_name_of_the_gate(
    strategy: str, gate: str
) -> None:
    with pytest.raises(FieldError, match=rf"^p\.sharing\.strategy: .* gate {gate}, which is off"):
        decoded(with_sharing(OWN, strategy), offered=ALL - {Strategy(strategy)})


@pytest.mark.parametrize("sharing", [TimeSlicing(Interval.LONG), Mps(), LIMITED])
def test_the_checkpoint_gives_a_strategy_back(sharing: Sharing) -> None:
    assert sharing_from_json(sharing_to_json(sharing)) == sharing


@pytest.mark.parametrize(
    ("written", "sharing"),
    [
        ({"strategy": "TimeSlicing", "interval": "Forever"}, TimeSlicing()),
        ({"strategy": "MPS", "activeThreadPercentage": "all"}, Mps()),
        ({"strategy": "MPS", "pinnedMemoryMebibytesByDevice": {"0": "x"}}, Mps()),
        ({"strategy": "Quantum"}, None),
        ("MPS", None),
        (None, None),
    ],
)
def test_what_another_version_wrote_never_keeps_a_claim_from_being_undone(
    written: Json, sharing: Sharing | None
) -> None:
    assert sharing_from_json(written) == sharing
