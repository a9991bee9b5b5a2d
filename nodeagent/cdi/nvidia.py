"""What a container gets with a real GPU or one of its MIG instances.

Device nodes and capabilities are looked at each time: they come and go with the driver, and a
file with stale numbers hands out another device (node-agent.md 8, faults 16, 20 and 21). Only the
driver's own files are remembered for a while, by `driver.py`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from nodeagent.cdi.capabilities import Capabilities
from nodeagent.cdi.driver import DriverFiles
from nodeagent.cdi.driver_root import DriverRoot
from nodeagent.cdi.edits import NOT_THE_LEGACY_RUNTIME, PLAIN, Access
from nodeagent.cdi.errors import CdiError
from nodeagent.cdi.hooks import HookProgram
from nodeagent.cdi.nodes import HostNodes, edits_of
from nodeagent.cdi.spec import ContainerEdits, DeviceNode
from nodeagent.devices.mig import Partition
from nodeagent.devices.model import Device, MigMode

CONTROL_NODES: Final = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
"""CUDA starts with none of them missing."""

MODE_SETTING_NODE: Final = "nvidia-modeset"
"""For graphics; not every driver has it."""

BY_PATH: Final = "/dev/dri/by-path"


@dataclass(frozen=True, slots=True)
class NvidiaEdits:
    """Real GPUs of one node."""

    nodes: HostNodes
    driver: DriverFiles
    capabilities: Capabilities

    @classmethod
    def at(
        cls,
        root: DriverRoot,
        *,
        hook: HookProgram | None,
        proc: Path = Path("/proc"),
        dev: Path = Path("/dev"),
        sysfs: Path = Path("/sys"),
    ) -> Self:
        """Look for everything in a driver root and the kernel's own file systems."""
        return cls(
            nodes=HostNodes(root, dev=dev, sysfs=sysfs),
            driver=DriverFiles(root, proc=proc, hook=hook),
            capabilities=Capabilities(proc),
        )

    def common(self) -> ContainerEdits:
        """Return the control nodes and the driver's files.

        Raises:
            MissingNodeError: a control node is missing.
            MissingDriverError: the driver is not loaded, or not installed wholly.

        """
        control = [self.nodes.required(name, needed_by="CUDA") for name in CONTROL_NODES]
        mode_setting = self.nodes.optional(MODE_SETTING_NODE)
        if mode_setting is not None:
            control.append(mode_setting)
        legacy = ContainerEdits(env=(NOT_THE_LEGACY_RUNTIME,))
        return legacy.merged(edits_of(control), self.driver.edits())

    def of(self, device: Device, access: Access = PLAIN) -> ContainerEdits:
        """Return a GPU's node with its graphics, or the three nodes of a MIG device.

        Raises:
            MissingNodeError: one of them is missing.
            CdiError: the partition does not exist (yet).

        """
        gpu = device.gpu
        parent = self.nodes.required(f"nvidia{gpu.minor}", needed_by=device.name)
        extra = self._for_administration(device) if access.is_administrative else ()
        if device.partition is None:
            return edits_of((parent, *extra)).merged(self._graphics(device))
        instance = self._instance(device, device.partition, access)
        return edits_of((parent, *instance, *extra))

    def _instance(
        self, device: Device, partition: Partition, access: Access
    ) -> tuple[DeviceNode, ...]:
        found = partition.instance
        gpu_instance = access.gpu_instance_id
        compute_instance = access.compute_instance_id
        if (gpu_instance is None or compute_instance is None) and found is not None:
            gpu_instance = found.gpu_instance_id
            compute_instance = found.compute_instance_id
        if gpu_instance is None or compute_instance is None:
            if access.is_administrative:
                # To watch a place where nothing is must not create anything there.
                return ()
            raise CdiError(f"{device.name}: there is no MIG instance at this place")
        return self.capabilities.of_instance(
            parent_minor=device.gpu.minor,
            gpu_instance_id=gpu_instance,
            compute_instance_id=compute_instance,
        )

    def _for_administration(self, device: Device) -> tuple[DeviceNode, ...]:
        if device.gpu.mig_mode is MigMode.UNSUPPORTED:
            return ()
        return self.capabilities.of_administration()

    def _graphics(self, device: Device) -> ContainerEdits:
        bus_id = device.gpu.pci_bus_id
        nodes = self.nodes.of_graphics(bus_id) if bus_id is not None else ()
        if not nodes or self.driver.hook is None:
            return edits_of(nodes)
        names = (node.path.rpartition("/")[2] for node in nodes)
        links = [(f"../{name}", f"{BY_PATH}/pci-{bus_id}-{_role(name)}") for name in names]
        return edits_of(nodes).merged(ContainerEdits(hooks=self.driver.hook.symlinks(links)))


def _role(drm_name: str) -> str:
    return "render" if drm_name.startswith("render") else "card"
