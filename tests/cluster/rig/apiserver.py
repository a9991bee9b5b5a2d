"""kube-apiserver: TLS, bearer tokens, client certificates, service accounts, RBAC."""

import dataclasses
import secrets
from pathlib import Path
from typing import Any

from tests.cluster.rig.api import Api
from tests.cluster.rig.certificates import KeyPair
from tests.cluster.rig.etcd import Etcd
from tests.cluster.rig.home import LOOPBACK, Home
from tests.cluster.rig.options import ClusterOptions, User
from tests.cluster.rig.process import Server, free_ports
from tests.cluster.tools.recipes import locate

ISSUER = "https://kubernetes.default.svc"
ADMIN = "admin"
MASTERS = "system:masters"


class ApiServer(Server):
    """One kube-apiserver. Its port and its data stay the same across restarts."""

    def __init__(self, home: Home, etcd: Etcd, options: ClusterOptions) -> None:
        (self.port,) = free_ports(1)
        self.url = f"https://{LOOPBACK}:{self.port}"
        self.options = options
        self.admin = User(name=ADMIN, token=secrets.token_urlsafe(32), groups=(MASTERS,))
        self.account_keys: KeyPair = home.authority.key_pair_without_certificate("accounts")
        self._home = home
        self._etcd = etcd
        self._to_kubelet = home.authority.for_user("kube-apiserver", groups=(MASTERS,))
        self._tokens = home.folder / "tokens.csv"
        self.api = Api(self.url, authority=home.authority.pair.certificate, token=self.admin.token)
        super().__init__(
            "kube-apiserver",
            self._words,
            log=home.log("kube-apiserver"),
            environment=home.environment,
            is_ready=lambda: self.api.answers("/readyz"),
        )

    def reconfigure(self, **changes: Any) -> None:
        """Restart with other options, by their names in `ClusterOptions`: an upgrade, say."""
        self.options = dataclasses.replace(self.options, **changes)
        self.restart()

    def _words(self) -> list[str | Path]:
        options = self.options
        serving = self._home.serving
        authority = self._home.authority.pair.certificate
        self._write_tokens()
        admission_off = set(options.admission_off)
        if not options.runs_controllers:
            admission_off.add("ServiceAccount")
        words: list[str | Path] = [
            locate("kube-apiserver"),
            f"--etcd-servers={self._etcd.url}",
            f"--etcd-cafile={authority}",
            f"--etcd-certfile={serving.certificate}",
            f"--etcd-keyfile={serving.key}",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={self.port}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--client-ca-file={authority}",
            f"--kubelet-client-certificate={self._to_kubelet.certificate}",
            f"--kubelet-client-key={self._to_kubelet.key}",
            f"--kubelet-certificate-authority={authority}",
            "--kubelet-preferred-address-types=InternalIP",
            f"--token-auth-file={self._tokens}",
            f"--service-account-key-file={self.account_keys.certificate}",
            f"--service-account-signing-key-file={self.account_keys.key}",
            f"--service-account-issuer={ISSUER}",
            f"--authorization-mode={','.join(self._authorizers())}",
            f"--service-cluster-ip-range={self._home.addresses.services}",
            "--allow-privileged=true",
            # The API server's own address may be one that no endpoint can have.
            "--endpoint-reconciler-type=none",
            f"--watch-cache={str(options.watch_cache).lower()}",
            f"--runtime-config={options.runtime_config}",
            *options.gates,
        ]
        if options.admission_on:
            words.append(f"--enable-admission-plugins={','.join(options.admission_on)}")
        if admission_off:
            words.append(f"--disable-admission-plugins={','.join(sorted(admission_off))}")
        return [*words, *options.apiserver_flags]

    def _authorizers(self) -> list[str]:
        # The node authorizer watches slices as v1, and without them the server is never ready.
        return ["Node", "RBAC"] if "v1" in self.options.resource_versions else ["RBAC"]

    def _write_tokens(self) -> None:
        lines = [
            f'{user.token},{user.name},{user.name},"{",".join(user.groups)}"\n'
            for user in (self.admin, *self.options.users)
        ]
        self._tokens.touch(mode=0o600)
        self._tokens.write_text("".join(lines))
