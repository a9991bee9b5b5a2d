"""A devcluster inside the test's process, with grants that a test may change while it runs."""

import asyncio
import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.authn import Identity
from dra_console.devcluster.authz import EVERY, Attributes, Grant, Policy
from dra_console.devcluster.cluster import Cluster as EmbeddedCluster
from dra_console.devcluster.http import Api
from dra_console.devcluster.kubeconfig import write_kubeconfig
from dra_console.devcluster.server import LOOPBACK, listen, serve
from dra_console.devcluster.store import Store
from dra_console.devcluster.tokens import Signer
from dra_console.kube.client import Client
from dra_console.kube.kinds import (
    NAMESPACES,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    SERVICE_ACCOUNTS,
)
from dra_console.mirror.models import Cluster

EVERYTHING = frozenset({EVERY})


@dataclass(frozen=True, slots=True)
class ChangeablePolicy(Policy):
    """A policy whose grants come and go, and that counts how often it was asked for a user."""

    changing: list[Grant] = field(default_factory=list)
    asked: list[tuple[str, Attributes]] = field(default_factory=list)

    def allows(self, identity: Identity, attributes: Attributes) -> bool:
        self.asked.append((identity.username, attributes))
        return Policy(tuple(self.changing)).allows(identity, attributes)

    def grants_of(self, identity: Identity) -> tuple[Grant, ...]:
        return Policy(tuple(self.changing)).grants_of(identity)


@dataclass(frozen=True, slots=True)
class ServedCluster:
    """One API server, what it allows, and where its kubeconfig is."""

    kubeconfig: Path
    policy: ChangeablePolicy

    @property
    def client(self) -> Client:
        """Connect as the administrator, as the console itself does."""
        return Client.from_kubeconfig(str(self.kubeconfig))

    def grant(
        self,
        subject: str,
        *resources: str,
        verbs: frozenset[str] = EVERYTHING,
        namespaces: frozenset[str] | None = None,
    ) -> None:
        """Allow a user, or `group:<name>`, to use verbs on resources."""
        self.policy.changing.append(
            Grant(
                subjects=frozenset({subject}),
                verbs=verbs,
                resources=frozenset(resources),
                namespaces=namespaces,
            )
        )

    def withdraw_everything(self) -> None:
        """Take every grant back."""
        self.policy.changing.clear()

    def empty(self) -> None:
        """Make it as good as new for the next test: no grants, no claims, no templates."""
        self.withdraw_everything()
        self.policy.asked.clear()
        client = self.client
        for kind in (RESOURCE_CLAIMS, RESOURCE_CLAIM_TEMPLATES):
            for one in client.list(kind).items:
                metadata = one["metadata"]
                assert isinstance(metadata, dict)
                client.delete(kind, str(metadata["name"]), namespace=str(metadata["namespace"]))
        client.close()

    def times_asked(self, username: str) -> int:
        """Count how often rights of this user were looked up."""
        return sum(1 for name, _ in self.policy.asked if name == username)

    def as_row(self) -> Cluster:
        """Register the cluster with the console."""
        return Cluster.objects.create(name="served", kubeconfig=str(self.kubeconfig))

    def become_service_account(self, namespace: str, name: str) -> None:
        """Make a service account, and have the kubeconfig speak as it from now on."""
        client = self.client
        client.create(NAMESPACES, {"metadata": {"name": namespace}})
        account: JsonObject = {"metadata": {"namespace": namespace, "name": name}}
        client.create(SERVICE_ACCOUNTS, account, namespace=namespace)
        client.close()
        config = yaml.safe_load(self.kubeconfig.read_text())
        path = SERVICE_ACCOUNTS.path(namespace, name, "token")
        asked = urllib.request.Request(  # noqa: S310 - our own server, on this machine
            config["clusters"][0]["cluster"]["server"] + path,
            data=b'{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}',
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked) as answer:  # noqa: S310 - our own server
            config["users"][0]["user"] = {"token": json.load(answer)["status"]["token"]}
        self.kubeconfig.write_text(yaml.safe_dump(config))


@contextmanager
def served_cluster(directory: Path) -> Iterator[ServedCluster]:
    """Serve an empty cluster on a free port until the block ends."""
    policy = ChangeablePolicy()
    listener = listen(0)
    kubeconfig = directory / "kubeconfig"
    write_kubeconfig(kubeconfig, url=f"http://{LOOPBACK}:{listener.getsockname()[1]}")
    loop = asyncio.new_event_loop()
    stopping = asyncio.Event()

    async def serve_until_stopped() -> None:
        # SQLite allows a connection in the thread that opened it only.
        store = Store(directory / "cluster.db")
        cluster = EmbeddedCluster(store, policy, Signer.from_directory(directory))
        try:
            await serve(Api(cluster, stopping=stopping), listener, stopping=stopping)
        finally:
            store.close()

    server = threading.Thread(target=loop.run_until_complete, args=(serve_until_stopped(),))
    server.start()
    try:
        yield ServedCluster(kubeconfig, policy)
    finally:
        loop.call_soon_threadsafe(stopping.set)
        server.join(timeout=10)
        loop.close()
