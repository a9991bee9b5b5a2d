"""containerd with runc, CDI and an image made here."""

import functools
import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.cluster.rig.home import Home
from tests.cluster.rig.image import IMAGE, PAUSE_IMAGE, write_archive
from tests.cluster.rig.mounts import MountNamespace
from tests.cluster.rig.process import Server, StartError
from tests.cluster.tools.recipes import locate

CNI_PLUGINS: Final = ("/usr/lib/cni", "/opt/cni/bin")
NAMESPACE: Final = "k8s.io"
"""containerd's own name for what belongs to kubelet."""

CONFIGURATION: Final = """
version = 3
root = "{folder}/root"
state = "{folder}/state"
disabled_plugins = ["io.containerd.nri.v1.nri"]

[grpc]
  address = "{socket}"

[plugins.'io.containerd.internal.v1.opt']
  path = "{folder}/opt"

[plugins.'io.containerd.cri.v1.images']
  snapshotter = "{snapshotter}"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "{pause}"

[plugins.'io.containerd.cri.v1.runtime']
  enable_cdi = true
  cdi_spec_dirs = ["{cdi}"]
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["{cni}"]
    conf_dir = "{folder}/cni"
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = "runc"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      snapshotter = "{snapshotter}"
"""


class Containerd(Server):
    """The container runtime of one node."""

    def __init__(self, home: Home, folder: Path, mounts: MountNamespace) -> None:
        self.folder = folder / "containerd"
        self.cdi_directory = folder / "cdi"
        self.socket = self.folder / "containerd.sock"
        self.mounts = mounts
        self._addresses = home.addresses
        self._containers = 0
        super().__init__(
            "containerd",
            self._words,
            log=home.log("containerd"),
            environment=home.environment,
            is_ready=self._answers,
        )

    def import_image(self) -> None:
        """Make the image of pods and the one of sandboxes known.

        Raises:
            StartError: busybox is missing, or containerd refused it.

        """
        archive = self.folder / "image.tar"
        busybox = Path(_program("busybox"))
        # The image holds no libraries, and ldd fails where there is nothing to link.
        if subprocess.run(["ldd", busybox], capture_output=True, check=False).returncode == 0:
            raise StartError(f"{busybox} is not linked statically (apt install busybox-static)")
        write_archive(archive, busybox=busybox)
        self.import_archive(archive)
        archive.unlink()

    def import_archive(self, archive: Path) -> None:
        """Make the images of an OCI archive known, under the names that stand in it.

        Raises:
            StartError: containerd refused it.

        """
        self._ctr("images", "import", "--local", "--no-unpack", str(archive))

    @functools.cached_property
    def snapshotter(self) -> str:
        """How containers get their files: without copies, where the file system allows that."""
        layers = [self.folder / f"probe-{name}" for name in ("lower", "upper", "work", "whole")]
        for layer in layers:
            layer.mkdir(parents=True)
        lower, upper, work, whole = layers
        options = f"lowerdir={lower},upperdir={upper},workdir={work}"
        try:
            self.mounts.run("mount", "-t", "overlay", "overlay", "-o", options, whole)
        except StartError:
            return "native"
        self.mounts.run("umount", whole)
        return "overlayfs"

    def run(self, *command: str, cdi_devices: Iterable[str] = ()) -> str:
        """Run a container of the image to its end, without kubelet; return what it printed.

        Raises:
            StartError: containerd or runc refused it, or the command failed.

        """
        self._containers += 1
        # A container that was refused leaves its file system under its name.
        name = f"run-{self._containers}"
        asked = [word for device in cdi_devices for word in ("--device", device)]
        how = ("--rm", "--snapshotter", self.snapshotter)
        return self._ctr("run", *how, *asked, IMAGE, name, *command)

    @property
    def plain_cdi_directory(self) -> Path:
        """Where `run` looks for CDI files: the usual place, which is the rig's own."""
        return Path(f"/proc/{self.mounts.pid}/root/run/cdi")

    def _words(self) -> list[str | Path]:
        (self.folder / "cni").mkdir(parents=True, exist_ok=True)
        self.cdi_directory.mkdir(exist_ok=True)
        _program("runc")
        plugins = next((path for path in CNI_PLUGINS if Path(path, "ptp").exists()), None)
        if plugins is None:
            raise StartError("CNI's plugins are missing (apt install containernetworking-plugins)")
        configuration = self.folder / "config.toml"
        configuration.write_text(
            CONFIGURATION.format(
                folder=self.folder,
                snapshotter=self.snapshotter,
                socket=self.socket,
                cdi=self.cdi_directory,
                cni=plugins,
                pause=PAUSE_IMAGE,
            )
        )
        network = {
            "cniVersion": "1.0.0",
            "name": "rig",
            "plugins": [
                {
                    "type": "ptp",
                    "ipam": {
                        "type": "host-local",
                        "dataDir": str(self.folder / "addresses"),
                        "ranges": [
                            [
                                {
                                    "subnet": str(self._addresses.pods),
                                    "gateway": str(self._addresses.api),
                                }
                            ]
                        ],
                    },
                }
            ],
        }
        (self.folder / "cni" / "10-rig.conflist").write_text(json.dumps(network))
        return self.mounts.enter(locate("containerd"), "--config", configuration)

    def _answers(self) -> bool:
        if not self.socket.exists():
            return False
        try:
            self._ctr("version")
        except StartError:
            return False
        return True

    def _ctr(self, *words: str) -> str:
        return self.mounts.run(locate("ctr"), "-a", self.socket, "-n", NAMESPACE, *words)


def _program(name: str) -> str:
    path = shutil.which(name, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    if path is None:
        raise StartError(f"{name} is missing (apt install {name})")
    return path
