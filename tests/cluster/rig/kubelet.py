"""kubelet, which runs the pods of one node and calls DRA drivers."""

import contextlib
import json
from pathlib import Path
from typing import Final

from tests.cluster.rig.api import Api, ApiError
from tests.cluster.rig.apiserver import ApiServer
from tests.cluster.rig.containerd import Containerd
from tests.cluster.rig.home import LOOPBACK, Home
from tests.cluster.rig.process import Server, free_ports
from tests.cluster.tools.recipes import locate

UNINITIALIZED: Final = "node.cloudprovider.kubernetes.io/uninitialized"
USUAL_ROOT: Final = Path("/var/lib/kubelet")


class Kubelet(Server):
    """One kubelet. Nobody but the rig initializes its node, so the address can be 127.0.0.1."""

    def __init__(
        self,
        home: Home,
        folder: Path,
        *,
        node_name: str,
        apiserver: ApiServer,
        containerd: Containerd,
    ) -> None:
        (self._port,) = free_ports(1)
        self.node_name = node_name
        self.root = USUAL_ROOT if apiserver.options.usual_paths else folder / "kubelet"
        """`--root-dir`: DRA drivers find `plugins` and `plugins_registry` below it."""

        self._home = home
        self._folder = folder
        self._apiserver = apiserver
        self._containerd = containerd
        self._admin = apiserver.api
        pair = home.authority.for_user(f"system:node:{node_name}", groups=("system:nodes",))
        self._kubeconfig = home.write_kubeconfig("kubelet", apiserver.url, pair=pair)
        super().__init__(
            "kubelet",
            self._words,
            log=home.log("kubelet"),
            environment=home.environment,
            is_ready=self._node_is_ready,
        )

    def metrics(self) -> str:
        """Return what it counts, in the format of Prometheus."""
        url = f"https://{LOOPBACK}:{self._port}"
        authority, token = self._home.authority.pair.certificate, self._apiserver.admin.token
        return Api(url, authority=authority, token=token).text("/metrics")

    def _words(self) -> list[str | Path]:
        for directory in ("kubelet", "pod-logs", "volume-plugins"):
            (self._folder / directory).mkdir(exist_ok=True)
        configuration = self._folder / "kubelet.json"
        configuration.write_text(json.dumps(self._configuration(), indent=2))
        return self._containerd.mounts.enter(
            locate("kubelet"),
            f"--config={configuration}",
            f"--kubeconfig={self._kubeconfig}",
            f"--root-dir={self.root}",
            f"--cert-dir={self.root / 'pki'}",
            f"--hostname-override={self.node_name}",
            "--cloud-provider=external",
        )

    def _configuration(self) -> dict[str, object]:
        serving = self._home.serving
        authority = self._home.authority.pair.certificate
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": LOOPBACK,
            "port": self._port,
            "readOnlyPort": 0,
            "healthzPort": 0,
            "tlsCertFile": str(serving.certificate),
            "tlsPrivateKeyFile": str(serving.key),
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(authority)},
            },
            "authorization": {"mode": "Webhook"},
            "containerRuntimeEndpoint": f"unix://{self._containerd.socket}",
            "podLogsDir": str(self._folder / "pod-logs"),
            "volumePluginDir": str(self._folder / "volume-plugins"),
            "resolvConf": "",
            # How soon claims that could not be prepared are asked for again; by default a minute.
            "syncFrequency": "5s",
            # The node has 62 addresses.
            "maxPods": 50,
            "featureGates": dict(self._apiserver.options.feature_gates),
            # The machine may have control groups of either version, and swap, and full disks.
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "failCgroupV1": False,
            "failSwapOn": False,
            "evictionHard": dict.fromkeys(
                (
                    "imagefs.available",
                    "imagefs.inodesFree",
                    "nodefs.available",
                    "nodefs.inodesFree",
                ),
                "0%",
            ),
            "makeIPTablesUtilChains": False,
        }

    def _node_is_ready(self) -> bool:
        path = f"/api/v1/nodes/{self.node_name}"
        try:
            node = self._admin.get(path)
            taints = node["spec"].get("taints") or []
            if any(taint["key"] == UNINITIALIZED for taint in taints):
                self._initialize(path, [t for t in taints if t["key"] != UNINITIALIZED])
                return False
        except (OSError, ApiError):
            return False
        conditions = node.get("status", {}).get("conditions", [])
        ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        return ready and not taints

    def _initialize(self, path: str, taints: list[object]) -> None:
        """Do what a cloud's controller does: say the addresses, take its mark away."""
        addresses = [
            {"type": "InternalIP", "address": LOOPBACK},
            {"type": "Hostname", "address": self.node_name},
        ]
        # Kubelet writes the node as well; a conflict is tried again.
        with contextlib.suppress(ApiError):
            self._admin.patch(f"{path}/status", {"status": {"addresses": addresses}})
            self._admin.patch(path, {"spec": {"taints": taints or None}})
