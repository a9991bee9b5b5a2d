"""The hook program: copied where the runtime can run it, asked for what it can do."""

import stat
from pathlib import Path, PurePosixPath

import pytest

from nodeagent.cdi.driver_root import DriverRoot
from nodeagent.cdi.hooks import (
    ALWAYS_THERE,
    CUDA_COMPAT,
    KEEP_DEVICE_NODES,
    find_hook,
    install_hook,
)
from tests.builders.drivers import write

HELP = f"""#!/bin/sh
echo "COMMANDS:
   update-ldcache      Update ldcache in a container
   create-symlinks     Create symlinks in the container
   {CUDA_COMPAT}  Forward compatibility
   {KEEP_DEVICE_NODES}, ddnm"
"""


@pytest.fixture
def bundled(tmp_path: Path) -> Path:
    program = tmp_path / "image/nvidia-cdi-hook"
    write(program, HELP, mode=0o755)
    (tmp_path / "plugin").mkdir()
    return program


def test_the_program_is_copied_beside_the_socket_and_can_be_run_there(
    tmp_path: Path, bundled: Path
) -> None:
    hook = install_hook(bundled, tmp_path / "plugin")

    copy = tmp_path / "plugin/nvidia-cdi-hook"
    assert hook.path == str(copy)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o755
    assert hook.commands == ALWAYS_THERE | {CUDA_COMPAT, KEEP_DEVICE_NODES}


def test_a_program_that_is_there_already_is_left_and_another_one_replaced(
    tmp_path: Path, bundled: Path
) -> None:
    """A container that starts this moment may be running it."""
    install_hook(bundled, tmp_path / "plugin")
    copy = tmp_path / "plugin/nvidia-cdi-hook"
    inode = copy.stat().st_ino

    install_hook(bundled, tmp_path / "plugin")
    assert copy.stat().st_ino == inode

    write(bundled, HELP + "# newer\n", mode=0o755)
    install_hook(bundled, tmp_path / "plugin")
    assert copy.read_text().endswith("# newer\n")
    assert copy.stat().st_ino != inode


@pytest.mark.parametrize("content", ["#!/bin/sh\nexit 3\n", "no program"])
def test_a_program_that_tells_nothing_is_asked_only_for_what_all_can(
    tmp_path: Path, bundled: Path, content: str
) -> None:
    write(bundled, content, mode=0o755)

    assert install_hook(bundled, tmp_path / "plugin").commands == ALWAYS_THERE


def test_the_toolkits_own_program_has_its_hooks_below_a_word(tmp_path: Path, bundled: Path) -> None:
    toolkit = bundled.with_name("nvidia-ctk")
    bundled.rename(toolkit)

    (hook,) = install_hook(toolkit, tmp_path / "plugin").loader_cache(["/usr/lib64"])

    assert hook.path.endswith("/plugin/nvidia-ctk")
    assert hook.args == ("nvidia-ctk", "hook", "update-ldcache", "--folder", "/usr/lib64")


def test_a_program_that_cannot_be_read_ends_the_start(tmp_path: Path, bundled: Path) -> None:
    bundled.unlink()

    with pytest.raises(OSError, match="nvidia-cdi-hook"):
        install_hook(bundled, tmp_path / "plugin")


def test_the_hosts_own_program_is_used_in_place_where_we_see_the_hosts_root(
    tmp_path: Path,
) -> None:
    write(tmp_path / "usr/bin/nvidia-cdi-hook", HELP, mode=0o755)

    hook = find_hook(DriverRoot(PurePosixPath("/"), tmp_path))

    assert hook is not None
    assert hook.path == "/usr/bin/nvidia-cdi-hook"
    assert CUDA_COMPAT in hook.commands
    # What lies in a driver container is not where the runtime would look for it.
    assert find_hook(DriverRoot(PurePosixPath("/run/nvidia/driver"), tmp_path)) is None
    assert find_hook(DriverRoot(PurePosixPath("/"), tmp_path / "absent")) is None
