from pathlib import Path

import pytest

from dra_console.devcluster.kubelet_checkpoint import Checkpoint, ClaimState
from dra_console.devcluster.kubelet_plugin import ClaimReference, PreparedDevice

STATE = ClaimState(
    reference=ClaimReference("lab", "g", "uid-g"),
    drivers=frozenset({"gpu.acme.example", "nic.acme.example"}),
    pod_uids=frozenset({"pod-1", "pod-2"}),
    devices={
        "gpu.acme.example": (
            PreparedDevice(("g",), "node-a", "g0", ("v/c=g0", "v/c=common"), "share"),
            PreparedDevice((), "node-a", "g1", ()),
        )
    },
)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "dra_manager_state")


def test_no_file_means_no_claims(checkpoint: Checkpoint) -> None:
    assert checkpoint.load() == {}


def test_claims_are_read_as_they_were_written(checkpoint: Checkpoint) -> None:
    checkpoint.store({"uid-g": STATE})

    assert checkpoint.load() == {"uid-g": STATE}


@pytest.mark.parametrize(
    "content",
    ["{", "[]", '{"formatVersion": 2, "claims": []}', '{"formatVersion": 1, "claims": [3]}'],
)
def test_a_file_that_cannot_be_read_is_kept_aside(checkpoint: Checkpoint, content: str) -> None:
    checkpoint.path.write_text(content)

    assert checkpoint.load() == {}

    (aside,) = checkpoint.path.parent.iterdir()
    assert aside.read_text() == content
    assert ".corrupt-" in aside.name
