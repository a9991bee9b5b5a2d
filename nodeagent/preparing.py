"""What prepares claims, made as the flags say: CDI edits, descriptions of devices, MPS daemons."""

from collections.abc import Mapping
from typing import Final

import structlog

from nodeagent.cdi.edits import EditsSource, SimulatedEdits
from nodeagent.cdi.hooks import find_hook, install_hook
from nodeagent.cdi.metadata_files import MetadataFiles
from nodeagent.cdi.nvidia import NvidiaEdits
from nodeagent.claims.describing import Describing
from nodeagent.claims.mps import MpsDaemons
from nodeagent.config import Config
from nodeagent.devices.model import Device, Source
from nodeagent.fields import Json
from nodeagent.publish.attributes import attributes_of
from nodeagent.publish.features import Shape
from nodeagent.publish.limits import fitting_attributes

log = structlog.get_logger()

PLACE_FOR_UUID: Final = 1
"""Of the attributes that a device may have, left for what only a claim's partition has."""


def edits_of(config: Config) -> EditsSource:
    """Return what says how a container gets a device.

    Raises:
        OSError: `--cdi-hook` cannot be copied.

    """
    if config.profile is not None:
        return SimulatedEdits()
    hook = (
        find_hook(config.driver_root)
        if config.cdi_hook is None
        else install_hook(config.cdi_hook, config.plugin_directory)
    )
    if hook is None:
        log.warning("no nvidia-cdi-hook: containers find libraries by LD_LIBRARY_PATH only")
    return NvidiaEdits.at(config.driver_root, hook=hook)


def describing_of(config: Config) -> Describing:
    """Return what tells containers their devices' attributes, if that is wanted."""
    files = MetadataFiles(config.plugin_directory, config.cdi_directory, config.driver)
    attributes = attributes_in_slice if config.describes_devices else None
    return Describing(files=files, attributes=attributes)


def mps_of(config: Config) -> MpsDaemons:
    """Return what runs MPS daemons for claims."""
    return MpsDaemons(
        directory=config.plugin_directory / "mps",
        executable=config.mps_control,
        root=config.driver_root.mounted,
        cgroup=config.mps_cgroup,
    )


def attributes_in_slice(device: Device, source: Source) -> Mapping[str, Json]:
    """Return a device's attributes as a server with every feature would have them published."""
    every = attributes_of(device, source=source, shape=Shape())
    return fitting_attributes(every, device=device.name, capacities=PLACE_FOR_UUID)
