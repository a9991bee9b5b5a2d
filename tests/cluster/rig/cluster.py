"""A whole cluster on 127.0.0.1, below one temporary folder, for as long as a `with` block."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from tests.cluster.rig.api import Api, ApiError, Json
from tests.cluster.rig.apiserver import ApiServer
from tests.cluster.rig.controllers import ControllerManager, Scheduler
from tests.cluster.rig.etcd import Etcd
from tests.cluster.rig.fake_nodes import FakeNodes
from tests.cluster.rig.home import Home
from tests.cluster.rig.node import Node
from tests.cluster.rig.options import ClusterOptions
from tests.cluster.rig.process import Server

NODE_NAME: Final = "node-1"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"

Rule = Mapping[str, Sequence[str]]
"""An RBAC rule: `apiGroups`, `resources`, `verbs`."""


@dataclass(frozen=True, slots=True)
class Account:
    """A service account of the cluster, as somebody who calls the API server."""

    namespace: str
    name: str
    token: str
    kubeconfig: Path
    api: Api


class Cluster:
    """A running cluster. `url` and `kubeconfig` stay the same across restarts.

    `etcd` and `apiserver` (and what else the options ask for) have `stop`, `kill`, `start` and
    `restart`; `api` is the administrator's way in for tests.
    """

    def __init__(self, home: Home, options: ClusterOptions) -> None:
        self.home = home
        self.etcd = Etcd(home)
        self.apiserver = ApiServer(home, self.etcd, options)
        admin = self.apiserver.admin
        self.url = self.apiserver.url
        self.kubeconfig = home.write_kubeconfig(admin.name, self.url, token=admin.token)
        self.api = self.apiserver.api
        self.controller_manager: ControllerManager | None = None
        self.scheduler: Scheduler | None = None
        self.node: Node | None = None
        if options.runs_controllers:
            self.controller_manager = ControllerManager(home, self.apiserver)
        if options.runs_scheduler:
            self.scheduler = Scheduler(home, self.apiserver)
        if options.node:
            self.node = Node(home, self.apiserver, name=NODE_NAME)
        self._fake_nodes = FakeNodes(self.api)

    @property
    def authority(self) -> Path:
        """File with the certificate that the API server's own is signed by."""
        return self.home.authority.pair.certificate

    def start(self) -> None:
        """Start every process that the options ask for, and wait until it serves.

        Raises:
            StartError: one did not come up; the message holds the end of its log.

        """
        self.etcd.start()
        self.apiserver.start()
        clients = [each for each in (self.controller_manager, self.scheduler) if each is not None]
        for client in clients:
            client.start(wait=False)
        if self.node is not None:
            self.node.start()
        for client in clients:
            client.wait_ready()

    @property
    def servers(self) -> tuple[Server, ...]:
        """Every process that runs, in the order of their start."""
        optional = (self.controller_manager, self.scheduler)
        clients = tuple(each for each in optional if each is not None)
        return (self.etcd, self.apiserver, *clients, *(self.node.servers if self.node else ()))

    def reap(self) -> None:
        """Let go of processes that have been ended from outside."""
        self._fake_nodes.stop()
        if self.node is not None:
            self.node.gateway.stop()
        for server in self.servers:
            server.reap()

    def add_node(self, name: str, *, labels: Mapping[str, str] | None = None) -> Json:
        """Make a Ready node without a kubelet; its lease is renewed until the cluster ends."""
        return self._fake_nodes.add(name, labels=labels)

    def compact(self) -> int:
        """Throw etcd's history away; returns the oldest revision that is left.

        The API server still answers watches of the last minutes from its memory, until it is
        restarted; with `watch_cache=False` the 410 comes at once.
        """
        return self.etcd.compact()

    def user(self, name: str, *, groups: Iterable[str] = ()) -> tuple[Path, Api]:
        """Make a person with a client certificate; returns the kubeconfig and a way in.

        RBAC knows nothing of the person until `grant` or a test says it.
        """
        pair = self.home.authority.for_user(name, groups=groups)
        path = self.home.write_kubeconfig("user-" + _file_name(name), self.url, pair=pair)
        files = (pair.certificate, pair.key)
        return path, Api(self.url, authority=self.authority, certificate=files)

    def service_account(self, name: str, *rules: Rule, namespace: str = "default") -> Account:
        """Make a service account with these rights in the whole cluster, and a token for it."""
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        self.api.create(accounts, {"metadata": {"name": name}})
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        if rules:
            self.grant(f"{namespace}-{name}", subject, *rules)
        body = {"spec": {"expirationSeconds": 86400}}
        token = str(self.api.create(f"{accounts}/{name}/token", body)["status"]["token"])
        path = self.home.write_kubeconfig(f"account-{namespace}-{name}", self.url, token=token)
        api = Api(self.url, authority=self.authority, token=token)
        return Account(namespace, name, token, path, api)

    def grant(
        self, role: str, subject: Mapping[str, str], *rules: Rule, namespace: str | None = None
    ) -> None:
        """Allow a subject (`kind`, `name`, for accounts `namespace`) what the rules say.

        With a namespace only there: a Role and a RoleBinding instead of the cluster's.
        """
        prefix = "Cluster" if namespace is None else ""
        base = RBAC if namespace is None else f"{RBAC}/namespaces/{namespace}"
        kind = f"{prefix}Role"
        metadata = {"metadata": {"name": role}}
        self.api.create(f"{base}/{kind.lower()}s", {**metadata, "rules": list(rules)})
        group = {} if subject["kind"] == "ServiceAccount" else {"apiGroup": RBAC.split("/")[2]}
        self.api.create(
            f"{base}/{kind.lower()}bindings",
            {
                **metadata,
                "roleRef": {"apiGroup": RBAC.split("/")[2], "kind": kind, "name": role},
                "subjects": [{**subject, **group}],
            },
        )

    def create_namespace(self, name: str, *, labels: Mapping[str, str] | None = None) -> Json:
        """Make a namespace in which pods can be made at once."""
        metadata = {"name": name, "labels": dict(labels or {})}
        made = self.api.create("/api/v1/namespaces", {"metadata": metadata})
        self.add_default_account(name)
        return made

    def add_default_account(self, namespace: str = "default") -> None:
        """Make the account that admission asks for, which its controller makes seconds later."""
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        try:
            self.api.create(accounts, {"metadata": {"name": "default"}})
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise


def _file_name(user: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]", "_", user)
