"""The directories that the agent shares with kubelet and the container runtime."""

import os
from collections.abc import Iterator
from pathlib import Path

from nodeagent.commands.verdict import Verdict, fault, good, warning
from nodeagent.config import Config
from nodeagent.fields import JsonObject
from nodeagent.kubelet.device_plugins import device_plugins_of
from nodeagent.kubelet.errors import KubeletError
from nodeagent.kubelet.sockets import SocketPaths


def verdicts(config: Config) -> Iterator[Verdict]:
    """Look at kubelet's registry, the agent's own directory, socket paths and CDI."""
    registry = config.registry_directory
    if not registry.is_dir():
        yield fault(
            "registry",
            f"{registry} is not there: is --kubelet-root right, and mounted under the same path?",
        )
    else:
        yield _writable("registry", registry, f"{registry}, where kubelet looks for plugins")
    yield _writable("plugin directory", _nearest(config.plugin_directory), "can be made or written")
    try:
        paths = SocketPaths.under(
            registry_directory=registry,
            plugin_directory=config.plugin_directory,
            driver=config.driver,
            pod_uid=config.pod_uid,
        )
    except KubeletError as error:
        yield fault("sockets", str(error))
    else:
        lengths = " and ".join(str(len(bytes(one))) for one in (paths.registration, paths.dra))
        yield good("sockets", f"paths of {lengths} bytes fit")
    directory = config.cdi_directory
    made = "" if directory.is_dir() else ", which is not there yet and will be made"
    yield _writable("CDI directory", _nearest(directory), f"{directory}{made}")


def device_plugins(config: Config, *, node: JsonObject | None) -> Iterator[Verdict]:
    """Look for a device plugin that offers the same GPUs a second time."""
    found = device_plugins_of(node, config.kubelet_root)
    if found is not None and config.ignores_device_plugins:
        yield warning("device plugin", f"{found}; overridden by --beside-device-plugin")
    elif found is not None:
        yield fault(
            "device plugin",
            f"{found}: two pods would get one GPU, so nothing is published; take the plugin from"
            " this node",
        )
    else:
        yield good("device plugin", "none offers these GPUs a second time")


def _writable(subject: str, directory: Path, text: str) -> Verdict:
    if os.access(directory, os.W_OK | os.X_OK):
        return good(subject, text)
    return fault(subject, f"{directory} cannot be written: is it mounted read-only?")


def _nearest(directory: Path) -> Path:
    """Return the directory, or what is there of the way to it."""
    return next(one for one in (directory, *directory.parents) if one.exists())
