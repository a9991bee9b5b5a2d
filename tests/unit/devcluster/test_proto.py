"""The kubelet's half of the plugin wire (`node-agent.md` 1.2 to 1.4)."""

from pathlib import Path

import pytest

from dra_console.devcluster.kubelet_plugin import (
    ClaimAnswer,
    PreparedDevice,
    choose_service,
)
from dra_console.devcluster.proto import (
    dra_v1_pb2,
    dra_v1beta1_pb2,
    generate,
    pluginregistration_pb2,
)

V1 = "v1.DRAPlugin"
V1BETA1 = "v1beta1.DRAPlugin"

ANSWER = bytes.fromhex(
    # claims[1] = {key "u", value {devices[1] = {request "gpu", pool "p", device "d", cdi "v/c=n",
    # share_id "s"}}}, spelled from the tables of field numbers.
    "0a1c 0a0175 1217 0a15 0a03677075 120170 1a0164 2205762f633d6e 2a0173"
)


def test_the_generated_modules_are_those_of_the_proto_files(tmp_path: Path) -> None:
    generate.generate(tmp_path)

    for module in sorted(tmp_path.iterdir()):
        committed = generate.HERE / module.name
        assert committed.read_text() == module.read_text(), module.name


def test_services_have_their_names_on_the_wire() -> None:
    v1 = dra_v1_pb2.DESCRIPTOR.services_by_name["DRAPlugin"]
    v1beta1 = dra_v1beta1_pb2.DESCRIPTOR.services_by_name["DRAPlugin"]
    registration = pluginregistration_pb2.DESCRIPTOR.services_by_name["Registration"]

    assert v1.full_name == "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"
    assert v1beta1.full_name == "k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin"
    assert registration.full_name == "pluginregistration.Registration"


def test_a_claim_is_written_with_namespace_uid_and_name_in_this_order() -> None:
    claim = dra_v1_pb2.Claim(namespace="a", uid="b", name="c")

    assert claim.SerializeToString() == bytes.fromhex("0a0161 120162 1a0163")


@pytest.mark.parametrize(("version", "share_id"), [(V1, "s"), (V1BETA1, None)])
def test_only_v1_knows_shares(version: str, share_id: str | None) -> None:
    service = choose_service([version])
    assert service is not None

    answer = service.decode_prepare(ANSWER)

    device = PreparedDevice(("gpu",), "p", "d", ("v/c=n",), share_id)
    assert answer == {"u": ClaimAnswer((device,))}


def test_an_absent_share_is_not_an_empty_one() -> None:
    service = choose_service([V1])
    assert service is not None
    response = dra_v1_pb2.NodePrepareResourcesResponse()
    response.claims["u"].devices.add(pool_name="p", device_name="d")

    answer = service.decode_prepare(response.SerializeToString())

    assert answer["u"].devices[0].share_id is None


@pytest.mark.parametrize(
    ("supported", "chosen"),
    [
        ([V1, V1BETA1], V1),
        ([V1BETA1, V1], V1BETA1),
        (["v1.DRAResourceHealth", V1BETA1], V1BETA1),
        (["v1.NodeDRA"], None),
        ([], None),
    ],
)
def test_the_first_known_service_in_the_drivers_order_is_taken(
    supported: list[str], chosen: str | None
) -> None:
    service = choose_service(supported)

    assert (service.advertised if service else None) == chosen
