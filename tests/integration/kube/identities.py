"""Who asks, and what a test changes about that while a client runs."""

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube import connection, credentials
from dra_console.kube.client import Client
from dra_console.kube.kinds import PODS
from dra_console.kube.session import Session
from dra_console.kube.transport import Transport
from tests.cluster.rig.certificates import KeyPair
from tests.integration.kube.scripted import Answer, ScriptedServer, a_status

VERSION = "client.authentication.k8s.io/v1"
REFUSED = Answer(a_status(401, "Unauthorized"), status=401)
POD = Answer({"kind": "Pod", "metadata": {"name": "train"}})


@dataclass(slots=True)
class Clock:
    """Counts seconds as a test says."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True, slots=True)
class Plugin:
    """A program that gives the credential that a file holds, and notes each time it ran."""

    directory: Path

    @property
    def spec(self) -> JsonObject:
        source = (
            "import os, pathlib; here = pathlib.Path(os.environ['HERE']);"
            "log = here / 'runs'; log.open('a').write(os.environ['KUBERNETES_EXEC_INFO'] + '\\n');"
            "print((here / 'answer').read_text())"
        )
        arguments: list[Json] = ["-c", source]
        environment: list[Json] = [{"name": "HERE", "value": str(self.directory)}]
        return {
            "apiVersion": VERSION,
            "command": sys.executable,
            "args": arguments,
            "env": environment,
            "interactiveMode": "Never",
            "provideClusterInfo": True,
        }

    def will_give(self, status: JsonObject, *, lasts_seconds: float | None = None) -> None:
        status = dict(status)
        if lasts_seconds is not None:
            moment = datetime.now(UTC) + timedelta(seconds=lasts_seconds)
            status["expirationTimestamp"] = moment.isoformat().replace("+00:00", "Z")
        answer = {"apiVersion": VERSION, "kind": "ExecCredential", "status": status}
        (self.directory / "answer").write_text(json.dumps(answer))

    @property
    def runs(self) -> list[JsonObject]:
        log = self.directory / "runs"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def ask(client: Client) -> None:
    client.get(PODS, "train", namespace="lab")


def tokens(server: ScriptedServer) -> list[str]:
    return [token for asked in server.asked for token in asked.values_of("Authorization")]


def client_at(clock: Clock, load: credentials.Load) -> Client:
    return Client(Session.over(Transport(connection.Connection(load, clock=clock))))


def pem_of(pair: KeyPair) -> JsonObject:
    return {
        "clientCertificateData": pair.certificate.read_text(),
        "clientKeyData": pair.key.read_text(),
    }
