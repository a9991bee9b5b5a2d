"""Which GPUs a process looks at: those of the machine, or simulated ones."""

from collections.abc import Callable, Collection

from nodeagent.config import Config
from nodeagent.devices.events import Signs
from nodeagent.devices.kernel_log import KernelLog, LoggedGpus
from nodeagent.devices.model import Inventory
from nodeagent.devices.settings import MigPolicy, Settings
from nodeagent.devices.simulated import SimulatedGpus
from nodeagent.devices.worker.proxy import WorkerGpus


def gpus_to_serve(
    config: Config, *, boot_id: str, prepared_devices: Callable[[], Collection[str]]
) -> WorkerGpus | SimulatedGpus:
    """Return the GPUs of an agent, which it may change for claims."""
    if config.profile is None:
        return WorkerGpus(Settings.under(config.driver_root.mounted, mig=config.mig))
    return SimulatedGpus(
        config.profile,
        config.node_name,
        prepared_devices=prepared_devices,
        is_dynamic=config.mig is MigPolicy.DYNAMIC,
        directory=config.plugin_directory,
        boot_id=boot_id,
    )


def gpus_to_watch(config: Config) -> WorkerGpus | SimulatedGpus:
    """Return the same GPUs for somebody who changes nothing and writes nothing."""
    if config.profile is not None:
        return SimulatedGpus(
            config.profile,
            config.node_name,
            prepared_devices=frozenset,
            directory=config.plugin_directory,
        )
    # Whoever made partitions: those that exist are read.
    settings = Settings.under(config.driver_root.mounted, mig=MigPolicy.STATIC, only_reads=True)
    return WorkerGpus(settings)


def signs_to_watch(
    gpus: WorkerGpus | SimulatedGpus, inventory: Callable[[], Inventory | None]
) -> Signs:
    """Return what tells of the health of GPUs that must not be held open for it."""
    if isinstance(gpus, SimulatedGpus):
        return gpus
    return LoggedGpus(gpus, KernelLog(), inventory)
