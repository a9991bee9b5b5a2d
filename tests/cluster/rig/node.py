"""One real node: its mounts, containerd, and kubelet."""

from pathlib import Path
from typing import Final

from tests.cluster.rig.apiserver import ApiServer
from tests.cluster.rig.containerd import Containerd
from tests.cluster.rig.gateway import Gateway
from tests.cluster.rig.home import Home
from tests.cluster.rig.kubelet import USUAL_ROOT, Kubelet
from tests.cluster.rig.mounts import MountNamespace
from tests.cluster.rig.process import Server

USUAL_CDI_DIRECTORY: Final = "/run/cdi"
"""What `/var/run/cdi` is."""


class Node:
    """A node that runs pods of the image `localhost/busybox:1` (`imagePullPolicy: Never`)."""

    def __init__(self, home: Home, apiserver: ApiServer, *, name: str) -> None:
        self.name = name
        folder = home.folder / "node"
        folder.mkdir()
        kubelet_root = folder / "kubelet"
        usual = {str(USUAL_ROOT): kubelet_root, USUAL_CDI_DIRECTORY: folder / "cdi"}
        bound = usual if apiserver.options.usual_paths else {}
        self.mounts = MountNamespace(home, folder, bound=bound)
        self.gateway = Gateway(home.addresses.api, api_port=apiserver.port)
        self.containerd = Containerd(home, folder, self.mounts)
        self.kubelet = Kubelet(
            home,
            folder,
            node_name=name,
            apiserver=apiserver,
            containerd=self.containerd,
        )
        self.kubelet_root = kubelet_root
        """Kubelet's root as the machine sees it."""

    @property
    def servers(self) -> tuple[Server, ...]:
        """Its processes in the order of their start."""
        return (self.mounts, self.containerd, self.kubelet)

    @property
    def cdi_directory(self) -> Path:
        """Where containerd looks for CDI files."""
        return self.containerd.cdi_directory

    def start(self) -> None:
        """Start its processes and wait until it is Ready.

        Raises:
            StartError: one did not come up.

        """
        self.mounts.start()
        self.gateway.start()
        self.containerd.start()
        self.containerd.import_image()
        self.kubelet.start()
