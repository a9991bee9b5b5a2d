"""A whole cluster on 127.0.0.1, below one temporary folder, for as long as a `with` block."""

import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.cluster.rig import guard
from tests.cluster.rig.api import Api, Json
from tests.cluster.rig.apiserver import ApiServer
from tests.cluster.rig.certificates import Authority
from tests.cluster.rig.etcd import Etcd
from tests.cluster.rig.home import Home
from tests.cluster.rig.options import ClusterOptions
from tests.cluster.rig.process import Server, StartError
from tests.cluster.tools.recipes import cache_folder

PREFIX: Final = "dra-rig-"
GUARD_SECONDS: Final = 60
KEPT_FAILURES: Final = 5
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"

Rule = Mapping[str, Sequence[str]]
"""An RBAC rule: `apiGroups`, `resources`, `verbs`."""


class LeftBehindError(Exception):
    """Something of a rig could not be taken away; the message names it."""


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
        self.api = Api(self.url, authority=self.authority, token=admin.token)

    @property
    def authority(self) -> Path:
        """File with the certificate that the API server's own is signed by."""
        return self.home.authority.pair.certificate

    def start(self) -> None:
        """Start every process that the options ask for, and wait until it serves.

        Raises:
            StartError: one did not come up; the message holds the end of its log.

        """
        for server in self.servers:
            server.start()

    @property
    def servers(self) -> tuple[Server, ...]:
        """Every process, in the order of their start."""
        return (self.etcd, self.apiserver)

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

    def create_namespace(self, name: str) -> Json:
        """Make a namespace."""
        return self.api.create("/api/v1/namespaces", {"metadata": {"name": name}})


@contextlib.contextmanager
def running_cluster(**options: Any) -> Iterator[Cluster]:
    """Run a cluster with these `ClusterOptions` until the block ends, then leave nothing.

    Raises:
        MissingProgramError: its programs are not built.
        StartError: a process did not come up. All logs are kept where the message says.
        LeftBehindError: something stayed; it is a defect of the rig.

    """
    wanted = ClusterOptions(**options)
    servers: tuple[Server, ...] = ()
    try:
        with _guarded_folder() as folder:
            (folder / "logs").mkdir()
            authority = Authority(folder / "certificates")
            cluster = Cluster(Home(folder, authority, authority.for_server("server")), wanted)
            servers = cluster.servers
            try:
                cluster.start()
            except StartError as error:
                kept = _keep_logs(folder)
                raise StartError(f"{error}\nAll logs: {kept}") from None
            yield cluster
    finally:
        for server in servers:
            server.reap()


@contextlib.contextmanager
def _guarded_folder() -> Iterator[Path]:
    """Make a folder that goes, with all processes marked by it, when this process does."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    keeper = subprocess.Popen(
        [sys.executable, "-I", guard.__file__, folder],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        start_new_session=True,
    )
    try:
        yield folder
    finally:
        _, told = keeper.communicate(timeout=GUARD_SECONDS)
    if keeper.returncode != 0:
        raise LeftBehindError(told.strip())


def _keep_logs(folder: Path) -> Path:
    """Copy the logs of a failed start out of the folder that goes; only the last few are kept."""
    kept = cache_folder() / "failed" / folder.name
    shutil.copytree(folder / "logs", kept, dirs_exist_ok=True)
    earlier = sorted(kept.parent.iterdir(), key=lambda path: path.stat().st_mtime)
    for path in earlier[:-KEPT_FAILURES]:
        shutil.rmtree(path, ignore_errors=True)
    return kept


def _file_name(user: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]", "_", user)
