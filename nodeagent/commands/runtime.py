"""Whether the container runtime injects CDI devices, read from its version and configuration.

A runtime that has CDI switched off ignores what a claim got, or refuses the container with
"unresolvable CDI devices"; nothing else says so (node-agent.md 8, fault 35).
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from nodeagent.commands.verdict import Verdict, fault, good, unknown, warning
from nodeagent.config import Config
from nodeagent.fields import Fields, JsonObject

CONTAINERD_FILES: Final = (
    "etc/containerd/config.toml",
    "var/lib/rancher/k3s/agent/etc/containerd/config.toml",
    "var/lib/rancher/rke2/agent/etc/containerd/config.toml",
    "etc/k0s/containerd.toml",
    "var/snap/microk8s/current/args/containerd.toml",
)
CRIO_FILES: Final = ("etc/crio/crio.conf", "usr/etc/crio/crio.conf")
CRIO_DIRECTORIES: Final = ("etc/crio/crio.conf.d", "usr/etc/crio/crio.conf.d")
CRI_PLUGINS: Final = ("io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri")
"""Where containerd 2 and 1 have the options of CRI."""

VERSION: Final = re.compile(r"(?P<name>[a-z-]+)://v?(?P<major>\d+)\.(?P<minor>\d+)")
CDI_DIRECTORIES: Final = ("/etc/cdi", "/var/run/cdi")
CDI_OPTION: Final = (1, 7)
CDI_BY_DEFAULT: Final = (2, 0)
CRIO_WITH_CDI: Final = (1, 23)
SUBJECT: Final = "container runtime"


def verdicts(config: Config, *, node: JsonObject | None) -> Iterator[Verdict]:
    """Judge by what the Node says of the runtime and by the files below the host's root."""
    told = _told(node)
    found = VERSION.match(told)
    if found is None:
        if node is not None:
            yield unknown(SUBJECT, f"the Node says {told!r}, which is none that is known here")
        yield from _without_version(config)
        return
    name, version = found["name"], (int(found["major"]), int(found["minor"]))
    if name == "containerd":
        yield from _containerd(config, version, told)
    elif name == "cri-o":
        yield from _crio(config, version, told)
    else:
        yield fault(SUBJECT, f"{told} has no CDI for Kubernetes: use containerd or CRI-O")


def _told(node: JsonObject | None) -> str:
    status = Fields(node or {}, "Node").optional_object("status")
    info = status and status.optional_object("nodeInfo")
    return (info and info.optional_text("containerRuntimeVersion")) or ""


def _without_version(config: Config) -> Iterator[Verdict]:
    if any((config.host_root / file).exists() for file in CRIO_FILES + CRIO_DIRECTORIES):
        yield from _crio(config, CRIO_WITH_CDI, "cri-o of unknown version")
    else:
        yield from _containerd(config, None, "containerd of unknown version")


def _containerd(config: Config, version: tuple[int, int] | None, told: str) -> Iterator[Verdict]:
    if version is not None and version < CDI_OPTION:
        yield fault(SUBJECT, f"{told} has no CDI for Kubernetes: upgrade to 1.7 or later")
        return
    files, options, broken = _containerd_options(config.host_root)
    yield from broken
    where = ", ".join(str(one) for one in files) or "no configuration file"
    is_on = options.get("enable_cdi")
    if is_on is False or (is_on is None and version is not None and version < CDI_BY_DEFAULT):
        yield fault(
            SUBJECT,
            f"{told} ignores CDI ({where}): set `enable_cdi = true` in the options of its CRI"
            " plugin and restart it",
        )
    elif version is None and is_on is None:
        yield unknown(SUBJECT, f"whether it takes CDI is not known ({where})")
    else:
        yield good(SUBJECT, f"{told} takes CDI devices ({where})")
    yield from _directories(config, options.get("cdi_spec_dirs"))
    runtimes = options.get("containerd")
    default = runtimes.get("default_runtime_name") if isinstance(runtimes, dict) else None
    yield from _default_runtime(default)


def _crio(config: Config, version: tuple[int, int], told: str) -> Iterator[Verdict]:
    if version < CRIO_WITH_CDI:
        yield fault(SUBJECT, f"{told} has no CDI: upgrade to 1.23 or later")
        return
    files = [config.host_root / file for file in CRIO_FILES]
    for directory in CRIO_DIRECTORIES:
        files += sorted((config.host_root / directory).glob("*.conf"))
    options: dict[str, Any] = {}
    for file in files:
        read, broken = _read(file)
        yield from broken
        crio = read.get("crio", {})
        options |= crio.get("runtime", {}) if isinstance(crio, dict) else {}
    yield good(SUBJECT, f"{told} takes CDI devices")
    yield from _directories(config, options.get("cdi_spec_dirs"))
    yield from _default_runtime(options.get("default_runtime"))


def _containerd_options(
    root: Path,
) -> tuple[list[Path], dict[str, Any], list[Verdict]]:
    """Read the first configuration that is there, with what it imports."""
    main = next((root / one for one in CONTAINERD_FILES if (root / one).exists()), None)
    if main is None:
        return [], {}, []
    read, broken = _read(main)
    files, options = [main], _cri_options(read)
    for pattern in read.get("imports", ()):
        for file in _imported(root, main, str(pattern)):
            more, other = _read(file)
            files.append(file)
            broken += other
            options |= _cri_options(more)
    return files, options, broken


def _imported(root: Path, main: Path, pattern: str) -> Iterable[Path]:
    base, relative = (root, pattern[1:]) if pattern.startswith("/") else (main.parent, pattern)
    return sorted(base.glob(relative))


def _cri_options(read: Mapping[str, Any]) -> dict[str, Any]:
    plugins = read.get("plugins", {})
    options: dict[str, Any] = {}
    for plugin in CRI_PLUGINS:
        found = plugins.get(plugin, {}) if isinstance(plugins, dict) else {}
        options |= found if isinstance(found, dict) else {}
    return options


def _read(file: Path) -> tuple[dict[str, Any], list[Verdict]]:
    try:
        return tomllib.loads(file.read_text()), []
    except FileNotFoundError:
        return {}, []
    except (OSError, ValueError) as error:
        return {}, [unknown(SUBJECT, f"{file} cannot be read: {error}")]


def _directories(config: Config, configured: object) -> Iterator[Verdict]:
    named = configured if isinstance(configured, list) and configured else CDI_DIRECTORIES
    directories = [str(one) for one in named]
    ours = config.cdi_directory
    if _spelled(str(ours)) not in {_spelled(one) for one in directories}:
        yield fault(
            SUBJECT,
            f"it looks for CDI files in {', '.join(directories)}, the agent writes to {ours}:"
            " change --cdi-dir",
        )


def _spelled(directory: str) -> str:
    """Spell a path as if `/var/run` were `/run`, which it is everywhere."""
    path = PurePosixPath(directory)
    beside = PurePosixPath("/var/run")
    return str("/run" / path.relative_to(beside) if path.is_relative_to(beside) else path)


def _default_runtime(name: object) -> Iterator[Verdict]:
    if name == "nvidia":
        yield warning(
            SUBJECT,
            "its default runtime is NVIDIA's own: an image or a pod that sets"
            " NVIDIA_VISIBLE_DEVICES gets GPUs that no claim gave it; make runc the default",
        )
