"""One real node: its mounts, containerd, and kubelet."""

from pathlib import Path

from tests.cluster.rig.apiserver import ApiServer
from tests.cluster.rig.containerd import Containerd
from tests.cluster.rig.home import Home
from tests.cluster.rig.kubelet import Kubelet
from tests.cluster.rig.mounts import MountNamespace
from tests.cluster.rig.process import Server


class Node:
    """A node that runs pods of the image `localhost/busybox:1` (`imagePullPolicy: Never`)."""

    def __init__(self, home: Home, apiserver: ApiServer, *, name: str) -> None:
        self.name = name
        folder = home.folder / "node"
        folder.mkdir()
        self.mounts = MountNamespace(home, folder)
        self.containerd = Containerd(home, folder, self.mounts)
        self.kubelet = Kubelet(
            home,
            folder,
            node_name=name,
            apiserver=apiserver,
            containerd=self.containerd,
        )

    @property
    def servers(self) -> tuple[Server, ...]:
        """Its processes in the order of their start."""
        return (self.mounts, self.containerd, self.kubelet)

    @property
    def kubelet_root(self) -> Path:
        """What a DRA driver has to be told as kubelet's root."""
        return self.kubelet.root

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
        self.containerd.start()
        self.containerd.import_image()
        self.kubelet.start()
