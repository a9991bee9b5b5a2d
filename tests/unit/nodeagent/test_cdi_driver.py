"""Where the driver's files are found, under which paths they are bound, and how long that holds."""

import subprocess
from pathlib import Path, PurePosixPath

import pytest

from nodeagent.cdi.driver import KEPT_SECONDS, WITHOUT_HOOKS, DriverFiles
from nodeagent.cdi.driver_root import DriverRoot
from nodeagent.cdi.errors import MissingDriverError
from nodeagent.cdi.hooks import ALWAYS_THERE, CUDA_COMPAT, KEEP_DEVICE_NODES, HookProgram
from nodeagent.cdi.ld_cache import directories_of
from nodeagent.cdi.libraries import module_version
from nodeagent.cdi.spec import READ_ONLY, ContainerEdits
from tests.builders.drivers import HOOK, LIBRARIES, NAMES, VERSION, FakeDriver, a_driver, write

DRIVER_CONTAINER = PurePosixPath("/run/nvidia/driver")


@pytest.fixture
def driver(tmp_path: Path) -> FakeDriver:
    return a_driver(tmp_path, on_host=DRIVER_CONTAINER)


def mounted(edits: ContainerEdits) -> dict[str, str]:
    """Return the host's path of each path in the container."""
    return {mount.container_path: mount.host_path for mount in edits.mounts}


def hooks(edits: ContainerEdits) -> dict[str, tuple[str, ...]]:
    """Return the options of each hook by its command."""
    return {hook.args[1]: hook.args[2:] for hook in edits.hooks}


def test_every_library_of_the_driver_is_bound_from_the_hosts_path_to_its_own(
    driver: FakeDriver,
) -> None:
    edits = driver.edits().common()

    for name in NAMES:
        path = f"/{LIBRARIES}/{name}.so.{VERSION}"
        assert mounted(edits)[path] == f"{DRIVER_CONTAINER}{path}"
    assert {mount.options for mount in edits.mounts} == {READ_ONLY}
    assert not any("driver-root" in path or str(driver.folder) in path for path in mounted(edits))


def test_tools_firmware_and_sockets_come_along_where_they_are(driver: FakeDriver) -> None:
    write(driver.files / "run/nvidia-persistenced/socket", "")

    edits = driver.edits().common()

    found = mounted(edits)
    assert found["/usr/bin/nvidia-smi"] == f"{DRIVER_CONTAINER}/usr/bin/nvidia-smi"
    firmware = f"/lib/firmware/nvidia/{VERSION}/gsp_ga10x.bin"
    # `/lib` is a link in the root, and the host must not follow an absolute one elsewhere.
    assert found[firmware] == f"{DRIVER_CONTAINER}/usr{firmware}"
    assert "/usr/bin/nvidia-persistenced" not in found
    (socket,) = (mount for mount in edits.mounts if mount.container_path.endswith("/socket"))
    assert socket.options == ("nosuid", "nodev", "rbind", "rprivate", "noexec")


def test_hooks_make_the_drivers_links_and_the_loaders_cache(driver: FakeDriver) -> None:
    program = HookProgram("/p/nvidia-cdi-hook", ALWAYS_THERE | {CUDA_COMPAT, KEEP_DEVICE_NODES})

    edits = driver.edits(program).common()

    assert [hook.args[1] for hook in edits.hooks] == [
        "create-symlinks", "enable-cuda-compat", "update-ldcache",
        "disable-device-node-modification",
    ]  # fmt: skip
    assert {(hook.name, hook.path, hook.env) for hook in edits.hooks} == {
        ("createContainer", "/p/nvidia-cdi-hook", ("NVIDIA_CTK_DEBUG=false",))
    }
    links = hooks(edits)["create-symlinks"]
    assert f"libcuda.so.1::/{LIBRARIES}/libcuda.so" in links
    assert f"libcuda.so.{VERSION}::/{LIBRARIES}/libcuda.so.1" in links
    assert hooks(edits)["update-ldcache"] == ("--folder", f"/{LIBRARIES}")
    assert hooks(edits)["enable-cuda-compat"] == (f"--host-driver-version={VERSION}",)
    assert f"NVIDIA_CTK_LIBCUDA_DIR=/{LIBRARIES}" in edits.env


def test_without_a_hook_program_each_name_is_bound_where_images_look_anyway(
    driver: FakeDriver,
) -> None:
    edits = driver.edits(hook=None).common()

    assert edits.hooks == ()
    assert f"LD_LIBRARY_PATH={WITHOUT_HOOKS}" in edits.env
    library = f"{DRIVER_CONTAINER}/{LIBRARIES}/libcuda.so.{VERSION}"
    for name in ("libcuda.so", "libcuda.so.1", f"libcuda.so.{VERSION}"):
        assert mounted(edits)[f"{WITHOUT_HOOKS}/{name}"] == library


def test_libraries_of_another_version_than_the_kernel_module_are_refused(
    driver: FakeDriver,
) -> None:
    driver.load("580.65.06")

    with pytest.raises(MissingDriverError, match=rf"580\.65\.06, but the libraries .* {VERSION}"):
        driver.edits().common()


@pytest.mark.parametrize("name", ["libcuda", "libnvidia-ml"])
def test_half_an_installation_is_an_error_and_is_not_remembered(
    driver: FakeDriver, name: str
) -> None:
    edits = driver.edits()
    library = driver.library(f"{name}.so.{VERSION}")
    library.rename(driver.folder / "away")

    with pytest.raises(MissingDriverError, match=rf"{name}\.so"):
        edits.common()

    (driver.folder / "away").rename(library)
    assert f"/{LIBRARIES}/{name}.so.{VERSION}" in mounted(edits.common())


def test_a_driver_container_beside_an_empty_root_is_pointed_to(tmp_path: Path) -> None:
    driver = FakeDriver(tmp_path, PurePosixPath("/"))
    driver.load()
    (driver.files / "usr/lib64").mkdir(parents=True)
    (driver.files / "run/nvidia/driver/usr").mkdir(parents=True)

    with pytest.raises(MissingDriverError, match=r"usr/lib64; /run/nvidia/driver has"):
        DriverFiles(driver.root, driver.proc, HOOK).edits()


def test_a_search_is_kept_for_five_minutes(driver: FakeDriver) -> None:
    now = [0.0]
    files = DriverFiles(driver.root, driver.proc, HOOK, clock=lambda: now[0])
    first = files.edits()

    now[0] = KEPT_SECONDS - 1
    assert files.edits() is first

    now[0] = KEPT_SECONDS
    assert files.edits() is not first


def test_what_changes_in_the_driver_root_is_seen_at_the_next_call(driver: FakeDriver) -> None:
    edits = driver.edits()
    before = mounted(edits.common())

    write(driver.files / "usr/bin/nvidia-debugdump", "", mode=0o755)
    assert set(mounted(edits.common())) - set(before) == {"/usr/bin/nvidia-debugdump"}

    driver.install("580.65.06")
    driver.load("580.65.06")
    after = mounted(edits.common())
    assert f"/{LIBRARIES}/libcuda.so.580.65.06" in after
    assert not any(VERSION in path for path in after)


def test_a_library_directory_that_only_the_loaders_cache_names_is_found(tmp_path: Path) -> None:
    driver = a_driver(tmp_path)
    hidden = driver.files / "opt/nvidia/lib"
    hidden.mkdir(parents=True)
    for file in (driver.files / LIBRARIES).iterdir():
        file.rename(hidden / file.name)
    with pytest.raises(MissingDriverError):
        driver.edits().common()

    write_ld_cache(driver.files / "etc/ld.so.cache", {"libcuda.so.1": "/opt/nvidia/lib"})

    assert f"/opt/nvidia/lib/libcuda.so.{VERSION}" in mounted(driver.edits().common())


def write_ld_cache(cache: Path, directories: dict[str, str]) -> None:
    """Write a cache as glibc lays it out."""
    strings, entries = b"", []
    start = 48 + 24 * len(directories)
    for name, directory in directories.items():
        at = start + len(strings)
        strings += f"{name}\0".encode()
        entries.append((at, start + len(strings)))
        strings += f"{directory}/{name}\0".encode()
    head = b"glibc-ld.so.cache1.1" + len(entries).to_bytes(4, "little")
    head += len(strings).to_bytes(4, "little") + bytes(20)
    body = b"".join(
        (0x303).to_bytes(4, "little")
        + name.to_bytes(4, "little")
        + path.to_bytes(4, "little")
        + bytes(12)
        for name, path in entries
    )
    cache.parent.mkdir(parents=True)
    cache.write_bytes(head + body + strings)


def test_the_loaders_cache_of_this_machine_is_read_as_ldconfig_prints_it() -> None:
    printed = subprocess.run(
        ["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True
    ).stdout
    expected = [
        line.partition("=> ")[2].rpartition("/")[0]
        for line in printed.splitlines()
        if line.split()[:1] == ["libc.so.6"]
    ]

    assert expected
    assert list(directories_of("libc.so.6", Path("/etc/ld.so.cache"))) == expected


@pytest.mark.parametrize("content", [b"", b"ld.so-1.7.0", b"glibc-ld.so.cache1.1" + b"\xff" * 40])
def test_a_cache_that_cannot_be_read_names_no_directory(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "cache").write_bytes(content)

    assert directories_of("libcuda.so.1", tmp_path / "cache") == ()
    assert directories_of("libcuda.so.1", tmp_path / "absent") == ()


@pytest.mark.parametrize(
    "line",
    [
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release Build  (b@h)",
        "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  535.104.05",
    ],
)
def test_the_kernel_modules_version_is_read_in_every_spelling(tmp_path: Path, line: str) -> None:
    write(tmp_path / "driver/nvidia/version", f"{line}\nGCC version:  gcc version 11.4.0\n")

    assert module_version(tmp_path) == "535.104.05"


def test_links_are_followed_inside_the_root_only(tmp_path: Path) -> None:
    write(tmp_path / "usr/lib/libcuda.so.1", "")
    (tmp_path / "lib").symlink_to("/usr/lib")
    (tmp_path / "up").symlink_to("../../../usr")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "outside").symlink_to("/etc/passwd")
    root = DriverRoot(DRIVER_CONTAINER, tmp_path)

    assert root.real("/lib/libcuda.so.1") == "/usr/lib/libcuda.so.1"
    assert root.real("/up/lib/libcuda.so.1") == "/usr/lib/libcuda.so.1"
    assert root.real("/circle") is None
    assert root.real("/outside") is None
    assert root.real("/absent") is None
    assert root.host_path("/usr/lib") == "/run/nvidia/driver/usr/lib"
