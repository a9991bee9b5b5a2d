"""kube-controller-manager and kube-scheduler: clients of the API server that serve health only."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.cluster.rig.api import Api
from tests.cluster.rig.apiserver import ApiServer
from tests.cluster.rig.home import LOOPBACK, Home
from tests.cluster.rig.options import EVERY_CONTROLLER
from tests.cluster.rig.process import Server, free_ports
from tests.cluster.tools.recipes import locate

FAST_QPS: Final = 1000
"""So that a test waits for the machine and not for a limit."""


class ControlPlaneClient(Server):
    """A program that works on the cluster with a certificate of its own.

    It serves once the given path of its own answers.
    """

    def __init__(
        self, name: str, home: Home, apiserver: ApiServer, *, ready_path: str = "/healthz"
    ) -> None:
        (port,) = free_ports(1)
        self._home = home
        self._apiserver = apiserver
        self._port = port
        pair = home.authority.for_user(f"system:{name}")
        self._kubeconfig = home.write_kubeconfig(name, apiserver.url, pair=pair)
        probe = Api(f"https://{LOOPBACK}:{port}", authority=home.authority.pair.certificate)
        super().__init__(
            name,
            self._words,
            log=home.log(name),
            environment=home.environment,
            is_ready=lambda: probe.answers(ready_path),
        )

    def _words(self) -> list[str | Path]:
        serving = self._home.serving
        return [
            locate(self.name),
            f"--kubeconfig={self._kubeconfig}",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={self._port}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            "--leader-elect=false",
            *self._apiserver.options.gates,
        ]


class ControllerManager(ControlPlaneClient):
    """The controllers that the options name; each with a service account of its own."""

    def __init__(self, home: Home, apiserver: ApiServer) -> None:
        super().__init__("kube-controller-manager", home, apiserver)

    def _words(self) -> list[str | Path]:
        authority = self._home.authority.pair
        controllers = self._apiserver.options.controllers or EVERY_CONTROLLER
        return [
            *super()._words(),
            f"--controllers={','.join(controllers)}",
            f"--service-account-private-key-file={self._apiserver.account_keys.key}",
            "--use-service-account-credentials=true",
            f"--root-ca-file={authority.certificate}",
            f"--cluster-signing-cert-file={authority.certificate}",
            f"--cluster-signing-key-file={authority.key}",
            *self._apiserver.options.controller_flags,
        ]


class Scheduler(ControlPlaneClient):
    """kube-scheduler, which allocates claims as it places pods."""

    def __init__(self, home: Home, apiserver: ApiServer) -> None:
        # That one says as well whether it has seen what there was when it started.
        super().__init__("kube-scheduler", home, apiserver, ready_path="/readyz")

    def _words(self) -> list[str | Path]:
        options = self._apiserver.options
        words = super()._words()
        if options.scheduler_configuration is not None:
            words.append(f"--config={self._write(options.scheduler_configuration)}")
        return [*words, *options.scheduler_flags]

    def _write(self, configuration: Mapping[str, object]) -> Path:
        """Write the configuration file, which takes the place of some of the flags."""
        connection = {"kubeconfig": str(self._kubeconfig), "qps": FAST_QPS, "burst": 2 * FAST_QPS}
        path = self._home.folder / "kube-scheduler.json"
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": connection,
            "leaderElection": {"leaderElect": False},
            **configuration,
        }
        path.write_text(json.dumps(document, indent=2))
        return path
