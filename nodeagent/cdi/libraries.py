"""The driver's libraries in its root: those of the loaded kernel module's version, and no others.

User space of another version than the module's does not work ("driver/library version mismatch"),
and while a driver is being installed part of it is missing. Both are an error here that names what
is missing, never a shorter list: a container with half a driver fails later and says less.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from nodeagent.cdi.driver_root import DriverRoot
from nodeagent.cdi.errors import MissingDriverError
from nodeagent.cdi.ld_cache import directories_of

LD_CACHE: Final = "/etc/ld.so.cache"
DIRECTORIES: Final = (
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
)
SUBDIRECTORIES: Final = ("", "vdpau")
"""Where libraries of graphics lie beside the others."""

CUDA: Final = "libcuda.so"
REQUIRED: Final = (CUDA, "libnvidia-ml.so")
"""What no container with a GPU can do without."""

HOST_DRIVER: Final = PurePosixPath("/")
DRIVER_CONTAINER: Final = PurePosixPath("/run/nvidia/driver")
MODULE_VERSION: Final = re.compile(r"^NVRM version:.*?\s(\d{3,}(?:\.\d+)+)(?:\s|$)", re.MULTILINE)
FILE_VERSION: Final = re.compile(re.escape(CUDA) + r"\.(\d{3,}(?:\.\d+)+)")


@dataclass(frozen=True, slots=True)
class Link:
    """A name in a directory that stands for one of the libraries."""

    target: str
    """What it points to, as it is written: mostly a name in the same directory."""

    path: str
    """Where it is, as a driver path."""

    library: str
    """The library that it ends at, as a driver path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverLibraries:
    """What was found, as driver paths without links."""

    version: str
    cuda_directory: str
    paths: tuple[str, ...]
    links: tuple[Link, ...]


def module_version(proc: Path) -> str:
    """Return the version of the loaded kernel module, as in `570.86.15`.

    Raises:
        MissingDriverError: none is loaded.

    """
    file = proc / "driver/nvidia/version"
    try:
        told = file.read_text(errors="replace")
    except OSError as error:
        raise MissingDriverError(f"the driver is not loaded: {file}: {error.strerror}") from error
    found = MODULE_VERSION.search(told)
    if found is None:
        raise MissingDriverError(f"{file} tells no version of the driver: {told[:80]!r}")
    return found.group(1)


def _search_path(root: DriverRoot) -> tuple[str, ...]:
    """Return the directories of the root in which libraries may lie, each once."""
    told = directories_of(f"{CUDA}.1", root.seen(LD_CACHE))
    real = (root.real(directory) for directory in (*DIRECTORIES, *told))
    return tuple(dict.fromkeys(directory for directory in real if directory is not None))


def searched_directories(root: DriverRoot) -> tuple[str, ...]:
    """Return every directory that `find_libraries` looks into, there or not."""
    return tuple(
        f"{directory}/{below}".rstrip("/")
        for directory in _search_path(root)
        for below in SUBDIRECTORIES
    )


def find_libraries(root: DriverRoot, *, version: str) -> DriverLibraries:
    """Find the libraries of the kernel module's version.

    Raises:
        MissingDriverError: libcuda or libnvidia-ml of that version is not there.

    """
    directories = _search_path(root)
    installed = frozenset(_versions(root, directories))
    if version not in installed:
        raise MissingDriverError(_what_is_missing(root, version, installed, directories))
    searched = searched_directories(root)
    paths = _libraries(root, searched, version)
    for name in REQUIRED:
        if not any(path.endswith(f"/{name}.{version}") for path in paths):
            raise MissingDriverError(
                f"{name}.{version} is missing beside {CUDA}.{version} under {root.mounted}:"
                " is the driver's installation complete?"
            )
    cuda = next(path for path in paths if path.endswith(f"/{CUDA}.{version}"))
    return DriverLibraries(
        version=version,
        cuda_directory=str(PurePosixPath(cuda).parent),
        paths=paths,
        links=tuple(_links(root, searched, frozenset(paths))),
    )


def _versions(root: DriverRoot, directories: Iterable[str]) -> Iterator[str]:
    for directory in directories:
        for name in _names(root, directory):
            found = FILE_VERSION.fullmatch(name)
            if found:
                yield found.group(1)


def _libraries(root: DriverRoot, directories: Iterable[str], version: str) -> tuple[str, ...]:
    """Return the first library of each name; a file may be reached by several directories."""
    by_name: dict[str, str] = {}
    for directory in directories:
        for name in _names(root, directory):
            if name.endswith(f".so.{version}") and root.real(f"{directory}/{name}") is not None:
                by_name.setdefault(name, f"{directory}/{name}")
    return tuple(sorted(by_name.values()))


def _links(
    root: DriverRoot, directories: Iterable[str], libraries: frozenset[str]
) -> Iterator[Link]:
    for directory in directories:
        for name in _names(root, directory):
            path = f"{directory}/{name}"
            seen = root.seen(path)
            if ".so" not in name or path in libraries or not seen.is_symlink():
                continue
            library = root.real(path)
            if library is not None and library in libraries:
                yield Link(str(seen.readlink()), path, library)


def _names(root: DriverRoot, directory: str) -> list[str]:
    try:
        return sorted(entry.name for entry in root.seen(directory).iterdir())
    except OSError:
        return []


def _what_is_missing(
    root: DriverRoot, version: str, installed: frozenset[str], directories: tuple[str, ...]
) -> str:
    if installed:
        return (
            f"the kernel module is {version}, but the libraries under {root.mounted} are"
            f" {', '.join(sorted(installed))}: load the module anew, or install the other"
        )
    where = ", ".join(str(root.seen(directory)) for directory in directories) or str(root.mounted)
    hint = ""
    if root.on_host == HOST_DRIVER and (root.seen(str(DRIVER_CONTAINER)) / "usr").is_dir():
        hint = f"; {DRIVER_CONTAINER} has a driver container's files: is that the driver root?"
    return f"{CUDA}.{version} is in none of {where}{hint}"
