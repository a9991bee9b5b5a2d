"""The console as it runs in production, on a rig: PostgreSQL, Redis, worker and beat.

It is to the API server a service account with the rights that the documents name, and none
beside them.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from dra_console.sync.advice import mirror_role_yaml
from tests.cluster.chaos.servers import Database, RedisServer
from tests.cluster.rig import Account, Cluster
from tests.cluster.rig.process import free_ports
from tests.integration.sync.console import ROOT, Console
from tests.postgresql import running_postgresql

ACCOUNT: Final = "dra-console"
NAMESPACE: Final = "dra-console"
ALLOCATING: Final = ROOT / "deploy" / "allocating.yaml"
CLUSTER: Final = "rig"
QUEUES: Final = "sync,schedule,default"


@dataclass(frozen=True, slots=True)
class RunningConsole:
    """The console's processes, its database, and who it is in the cluster."""

    console: Console
    database: Database
    account: Account

    @property
    def username(self) -> str:
        return f"system:serviceaccount:{self.account.namespace}:{self.account.name}"

    def logs(self) -> str:
        """Return what worker and beat have written."""
        return self.console.logs()


@contextmanager
def running_console(cluster: Cluster, *, workers: int = 1) -> Iterator[RunningConsole]:
    """Run the console on a cluster until the block ends."""
    # Not pytest's own folder: PostgreSQL's user must be able to pass through.
    directory = Path(tempfile.mkdtemp(prefix="dra-console-"))
    redis_port, database_port = free_ports(2)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, directory)
        stack.enter_context(running_postgresql(directory / "database", port=database_port))
        redis = RedisServer(directory, redis_port)
        redis.start()
        stack.callback(redis.kill)
        database = Database(database_port)
        os.environ.setdefault("DRA_CONSOLE_SECRET_KEY", "of-a-test-rig")
        console = Console(directory, redis.url, database.url)
        stack.callback(console.kill_all)
        account = _account(cluster)
        _manage(console, "migrate")
        _manage(console, "cluster", "add", CLUSTER, "--kubeconfig", str(account.kubeconfig))
        for number in range(workers):
            console.start_worker(f"worker-{number}", queues=QUEUES)
        console.start_beat("beat")
        yield RunningConsole(console, database, account)


def _account(cluster: Cluster) -> Account:
    """Make the service account, with what the page of a cluster and `deploy` say to grant."""
    cluster.create_namespace(NAMESPACE)
    account = cluster.service_account(ACCOUNT, namespace=NAMESPACE)
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    username = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
    for text in (mirror_role_yaml(username), ALLOCATING.read_text()):
        role = next(iter(yaml.safe_load_all(text)))
        cluster.grant(role["metadata"]["name"], subject, *role["rules"])
    return account


def _manage(console: Console, *arguments: str) -> None:
    done = console.manage(*arguments)
    assert done.returncode == 0, done.stderr
