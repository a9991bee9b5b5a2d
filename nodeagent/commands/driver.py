"""The GPU driver: where its files are looked for, what it finds, and whether nodes are there."""

from collections.abc import Iterator

from nodeagent.cdi.hooks import find_hook
from nodeagent.commands.verdict import Verdict, fault, good, warning
from nodeagent.config import Config
from nodeagent.devices import driver_library
from nodeagent.devices.errors import DevicesError
from nodeagent.devices.model import Gpu
from nodeagent.devices.nodes import missing_nodes
from nodeagent.devices.settings import MigPolicy, Settings
from nodeagent.devices.sysfs import nvidia_gpus
from nodeagent.devices.worker.proxy import WorkerGpus


def verdicts(config: Config) -> Iterator[Verdict]:
    """Look for the driver and ask it for its GPUs, once."""
    root = config.driver_root
    if not root.mounted.is_dir():
        yield fault("driver root", f"{root.mounted} is not there: is it mounted?")
        return
    same = str(root.on_host) == str(root.mounted)
    yield good("driver root", str(root.on_host) if same else f"{root.on_host} at {root.mounted}")
    library = driver_library.find(root.mounted)
    if library is not None:
        yield good("driver library", str(library))
    settings = Settings.under(root.mounted, mig=MigPolicy.STATIC, only_reads=True)
    in_tree = nvidia_gpus(settings.sysfs)
    gpus = WorkerGpus(settings)
    try:
        found = gpus.discover()
    except DevicesError as error:
        # Its words name the places that were searched, and a hint if there is one.
        yield fault("driver", str(error))
        return
    finally:
        gpus.close()
    yield from _gpus(found, in_tree)
    for gpu in found:
        missing = missing_nodes(settings.dev, gpu.minor)
        if missing:
            yield fault(
                "device nodes",
                f"{gpu.name} lacks {', '.join(missing)}: run `nvidia-modprobe -u -c {gpu.minor}`",
            )
    hook = config.cdi_hook or find_hook(root)
    if hook is None:
        yield warning(
            "nvidia-cdi-hook", "none: containers find the driver's libraries by a path variable"
        )
    else:
        yield good("nvidia-cdi-hook", str(hook))


def _gpus(found: tuple[Gpu, ...], in_tree: tuple[str, ...]) -> Iterator[Verdict]:
    names = ", ".join(f"{gpu.name} {gpu.product_name or 'unnamed'}" for gpu in found)
    if not found:
        yield warning("GPUs", "the driver has none")
    else:
        version = found[0].driver_version or "of unknown version"
        yield good("GPUs", f"{len(found)} by driver {version}: {names}")
    missing = sorted(set(in_tree) - {gpu.pci_bus_id for gpu in found if gpu.pci_bus_id})
    if missing:
        yield warning("GPUs", f"the PCI tree has more than the driver: {', '.join(missing)}")
