"""Names of the sockets with their fallbacks, and dead files that may go (node-agent.md 1.8)."""

import os
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodeagent.kubelet.errors import KubeletError
from nodeagent.kubelet.sockets import PATH_BYTES, SocketPaths, registration_names
from nodeagent.kubelet.stale_sockets import OLD_SECONDS, remove_left_behind

DRIVER = "gpu.nvidia.com"
POD = "0b1e3a52-6c1c-4d55-9c58-0b7f0a3c9f11"
OTHER_POD = "7e1f0f3e-2f43-4d0a-a7a4-b1c3a4f0d9aa"
POD_DIGEST = "3P476fjBHV0"
"""First 8 bytes of the pod UID's SHA-256, in URL-safe base 64 without padding, by `sha256sum`."""

BOTH_DIGEST = "kdJtqZm2wYvznHCYhhy5Iw"
"""First 16 bytes of SHA-256 over driver, NUL and pod UID."""


def names(root_bytes: int, *, driver: str = DRIVER, pod_uid: str | None = POD) -> tuple[str, str]:
    root = Path("/" + "r" * (root_bytes - 1))
    paths = SocketPaths.under(
        registry_directory=root, plugin_directory=root, driver=driver, pod_uid=pod_uid
    )
    assert max(len(bytes(paths.registration)), len(bytes(paths.dra))) <= PATH_BYTES
    return paths.registration.name, paths.dra.name


def test_without_a_pod_both_sockets_have_plain_names() -> None:
    assert names(50, pod_uid=None) == (f"{DRIVER}-reg.sock", "dra.sock")


@pytest.mark.parametrize(
    ("root_bytes", "registration", "dra"),
    [
        (46, f"{DRIVER}-{POD}-reg.sock", f"dra-{POD}.sock"),
        (47, f"{DRIVER}-{POD_DIGEST}-reg.sock", f"dra-{POD}.sock"),
        (61, f"{DRIVER}-{POD_DIGEST}-reg.sock", f"dra-{POD}.sock"),
        (62, f"{DRIVER}-{POD_DIGEST}-reg.sock", f"dra-{POD_DIGEST}.sock"),
    ],
)
def test_each_pod_has_its_own_names_and_the_longest_that_fit(
    root_bytes: int, registration: str, dra: str
) -> None:
    assert names(root_bytes) == (registration, dra)


def test_a_drivers_long_name_goes_into_a_digest_with_the_pod() -> None:
    long, other = "a" * 63, "a" * 62 + "b"

    assert names(22, driver=long)[0] == f"{long}-{POD_DIGEST}-reg.sock"
    digests = {names(23, driver=driver)[0] for driver in (long, other)}

    assert len(digests) == 2
    assert all(len(name) == len(f"dra-{BOTH_DIGEST}-reg.sock") for name in digests)


def test_the_shortest_name_is_made_of_driver_and_pod() -> None:
    assert registration_names(DRIVER, POD)[-1] == f"dra-{BOTH_DIGEST}-reg.sock"


def test_where_not_even_the_shortest_name_fits_the_path_is_told() -> None:
    names(71)

    with pytest.raises(KubeletError, match=f"{BOTH_DIGEST}-reg.sock has 108 bytes"):
        names(72)


@pytest.fixture
def paths() -> Iterator[SocketPaths]:
    with tempfile.TemporaryDirectory(prefix="so") as root:
        for folder in ("registry", "plugin"):
            (Path(root) / folder).mkdir()
        yield SocketPaths.under(
            registry_directory=Path(root) / "registry",
            plugin_directory=Path(root) / "plugin",
            driver=DRIVER,
            pod_uid=POD,
        )


def a_socket(path: Path, *, age_seconds: float = OLD_SECONDS + 1) -> socket.socket:
    """Bind a socket that listens until it is closed; its file stays."""
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(path))
    bound.listen()
    then = time.time() - age_seconds
    os.utime(path, (then, then))
    return bound


def test_dead_and_old_sockets_of_this_drivers_other_pods_are_removed(paths: SocketPaths) -> None:
    registry, plugin = paths.registration.parent, paths.dra.parent
    dead = [
        registry / f"{DRIVER}-{OTHER_POD}-reg.sock",
        registry / f"{DRIVER}-reg.sock",
        plugin / f"dra-{OTHER_POD}.sock",
        plugin / "dra.sock",
    ]
    for path in dead:
        a_socket(path).close()

    assert sorted(remove_left_behind(paths, driver=DRIVER)) == sorted(dead)
    assert not any(path.exists() for path in dead)


def test_sockets_that_live_are_young_or_belong_to_others_stay(paths: SocketPaths) -> None:
    registry = paths.registration.parent
    a_socket(registry / f"{DRIVER}-{OTHER_POD[:-1]}b-reg.sock", age_seconds=60).close()
    a_socket(registry / f"{DRIVER}-tpus-reg.sock").close()
    a_socket(registry / f"other.example-{OTHER_POD}-reg.sock").close()
    (registry / f"{DRIVER}-{OTHER_POD[:-1]}c-reg.sock").write_text("no socket")
    a_socket(paths.registration).close()
    before = sorted(registry.iterdir())

    with a_socket(registry / f"{DRIVER}-{OTHER_POD}-reg.sock"):
        assert remove_left_behind(paths, driver=DRIVER) == []

    assert sorted(registry.iterdir()) == sorted(
        [*before, registry / f"{DRIVER}-{OTHER_POD}-reg.sock"]
    )
