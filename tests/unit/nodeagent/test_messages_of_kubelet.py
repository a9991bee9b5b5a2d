"""The kubelet plugin API on the wire, byte for byte, as the tables of node-agent.md say."""

from pathlib import Path

import pytest

from nodeagent.kubelet.proto import dra_v1_pb2 as dra
from nodeagent.kubelet.proto import health_v1_pb2 as health
from nodeagent.kubelet.proto import liveness_pb2 as liveness
from nodeagent.kubelet.proto import registration_pb2 as registration
from nodeagent.kubelet.proto.generate import HERE, generate


def field(number: int, content: bytes) -> bytes:
    """Encode a length-delimited field; all of the API's are strings, messages or maps."""
    return bytes([number << 3 | 2, len(content)]) + content


def test_claims_have_their_numbers_in_an_odd_order() -> None:
    claim = dra.Claim(namespace="ns", uid="u", name="n")

    assert claim.SerializeToString() == field(1, b"ns") + field(2, b"u") + field(3, b"n")


def test_a_device_is_encoded_as_kubelet_reads_it() -> None:
    device = dra.Device(
        request_names=["r1", "r2"], pool_name="p", device_name="d", cdi_device_ids=["v/c=d"]
    )

    assert device.SerializeToString() == (
        field(1, b"r1") + field(1, b"r2") + field(2, b"p") + field(3, b"d") + field(4, b"v/c=d")
    )


def test_an_absent_share_id_is_not_an_empty_one() -> None:
    assert dra.Device().SerializeToString() == b""
    assert dra.Device(share_id=None).SerializeToString() == b""
    assert dra.Device(share_id="").SerializeToString() == field(5, b"")
    assert dra.Device(share_id="s").SerializeToString() == field(5, b"s")


def test_answers_are_maps_by_uid_even_where_the_value_is_empty() -> None:
    prepared = dra.NodePrepareResourcesResponse(
        claims={"u": dra.NodePrepareResourceResponse(error="e")}
    )
    unprepared = dra.NodeUnprepareResourcesResponse(
        claims={"u": dra.NodeUnprepareResourceResponse()}
    )

    assert prepared.SerializeToString() == field(1, field(1, b"u") + field(2, field(2, b"e")))
    assert unprepared.SerializeToString() == field(1, field(1, b"u") + field(2, b""))


def test_requests_hold_the_claims_under_one() -> None:
    claim = dra.Claim(uid="u")
    encoded = field(1, field(2, b"u"))

    assert dra.NodePrepareResourcesRequest(claims=[claim]).SerializeToString() == encoded
    assert dra.NodeUnprepareResourcesRequest(claims=[claim]).SerializeToString() == encoded


def test_registration_messages_are_encoded_as_kubelet_reads_them() -> None:
    plugin = registration.PluginInfo(
        type="DRAPlugin", name="n", endpoint="/e", supported_versions=["v1.DRAPlugin"]
    )
    status = registration.RegistrationStatus(plugin_registered=True, error="e")

    assert plugin.SerializeToString() == (
        field(1, b"DRAPlugin") + field(2, b"n") + field(3, b"/e") + field(4, b"v1.DRAPlugin")
    )
    assert status.SerializeToString() == b"\x08\x01" + field(2, b"e")


def test_health_is_encoded_as_kubelet_reads_it() -> None:
    device = health.DeviceHealth(
        device=health.DeviceIdentifier(pool_name="p", device_name="d"),
        health=health.UNHEALTHY,
        last_updated_time=300,
        health_check_timeout_seconds=60,
        message="Xid 79",
    )

    assert device.SerializeToString() == (
        field(1, field(1, b"p") + field(2, b"d"))
        + b"\x10\x02"  # 2: UNHEALTHY
        + b"\x18\xac\x02"  # 3: 300
        + b"\x20\x3c"  # 4: 60
        + field(5, b"Xid 79")
    )
    response = health.NodeWatchResourcesResponse(devices=[device, health.DeviceHealth()])
    assert response.SerializeToString() == field(1, device.SerializeToString()) + field(1, b"")
    assert health.NodeWatchResourcesRequest().SerializeToString() == b""


def test_words_for_health_have_kubelets_numbers() -> None:
    assert dict(health.HealthStatus.items()) == {"UNKNOWN": 0, "HEALTHY": 1, "UNHEALTHY": 2}
    assert health.DeviceHealth(health=health.UNKNOWN).SerializeToString() == b""
    assert health.DeviceHealth(health=health.HEALTHY).SerializeToString() == b"\x10\x01"


def test_probes_are_encoded_as_the_standard_health_service_has_them() -> None:
    assert liveness.HealthCheckRequest(service="liveness").SerializeToString() == (
        field(1, b"liveness")
    )
    answers = {
        liveness.HealthCheckResponse.SERVING: b"\x08\x01",
        liveness.HealthCheckResponse.NOT_SERVING: b"\x08\x02",
    }
    for status, encoded in answers.items():
        assert liveness.HealthCheckResponse(status=status).SerializeToString() == encoded


@pytest.mark.parametrize("pattern", ["*_pb2.py", "*_pb2.pyi"])
def test_the_generated_modules_are_those_of_the_proto_files(tmp_path: Path, pattern: str) -> None:
    generate(tmp_path)

    committed = {path.name: path.read_text() for path in HERE.glob(pattern)}
    assert {path.name: path.read_text() for path in tmp_path.glob(pattern)} == committed
