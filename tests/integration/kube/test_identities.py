"""As whom requests arrive at a server with TLS, while credentials change under the client."""

import json
import ssl
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube import connection, credentials
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, KubeconfigError
from dra_console.kube.kinds import PODS
from dra_console.kube.session import Session
from dra_console.kube.transport import Transport
from tests.cluster.rig.certificates import Authority, KeyPair
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


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "authority")


@pytest.fixture(scope="module")
def people(authority: Authority) -> tuple[KeyPair, KeyPair]:
    return authority.for_user("first"), authority.for_user("second")


@pytest.fixture(scope="module")
def tls(authority: Authority) -> ssl.SSLContext:
    pair = authority.for_server("server")
    context = ssl.create_default_context(
        ssl.Purpose.CLIENT_AUTH, cafile=str(authority.pair.certificate)
    )
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(str(pair.certificate), str(pair.key))
    return context


@pytest.fixture
def secure(tmp_path: Path, tls: ssl.SSLContext) -> Iterator[ScriptedServer]:
    server = ScriptedServer(tmp_path, tls=tls)
    server.will_answer(POD)
    yield server
    server.close()


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


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


def ask(client: Client) -> None:
    client.get(PODS, "train", namespace="lab")


def tokens(server: ScriptedServer) -> list[str]:
    return [token for asked in server.asked for token in asked.values_of("Authorization")]


class TestPrograms:
    def test_a_program_gives_the_token_and_is_told_about_the_cluster(
        self, secure: ScriptedServer, authority: Authority, plugin: Plugin
    ) -> None:
        plugin.will_give({"token": "one"}, lasts_seconds=3600)
        secure.write_kubeconfig(authority=authority.pair.certificate, exec=plugin.spec)
        client = secure.client()

        ask(client)
        ask(client)

        assert tokens(secure) == ["Bearer one", "Bearer one"]
        [told] = plugin.runs
        assert told["apiVersion"] == VERSION
        assert told["spec"] == {"interactive": False, "cluster": {"server": secure.url}}

    def test_it_runs_again_before_its_token_expires(
        self, secure: ScriptedServer, authority: Authority, plugin: Plugin, clock: Clock
    ) -> None:
        plugin.will_give({"token": "one"}, lasts_seconds=credentials.EARLY_SECONDS + 1)
        secure.write_kubeconfig(authority=authority.pair.certificate, exec=plugin.spec)
        client = client_at(clock, credentials.from_kubeconfig(str(secure.kubeconfig), context=""))
        ask(client)
        plugin.will_give({"token": "two"}, lasts_seconds=3600)

        ask(client)
        clock.now = 1.5
        ask(client)
        ask(client)

        assert tokens(secure) == ["Bearer one", "Bearer one", "Bearer two", "Bearer two"]
        assert len(plugin.runs) == 2

    def test_it_runs_again_when_its_token_is_refused(
        self, secure: ScriptedServer, authority: Authority, plugin: Plugin
    ) -> None:
        plugin.will_give({"token": "one"})
        secure.write_kubeconfig(authority=authority.pair.certificate, exec=plugin.spec)
        client = secure.client()
        plugin.will_give({"token": "two"})
        secure.answers.clear()
        secure.will_answer(REFUSED, POD)

        ask(client)

        assert tokens(secure) == ["Bearer one", "Bearer two"]

    def test_it_may_give_a_client_certificate_and_later_another(
        self,
        secure: ScriptedServer,
        authority: Authority,
        plugin: Plugin,
        people: tuple[KeyPair, KeyPair],
    ) -> None:
        first, second = people
        plugin.will_give(pem_of(first))
        secure.write_kubeconfig(authority=authority.pair.certificate, exec=plugin.spec)
        client = secure.client()
        ask(client)
        plugin.will_give(pem_of(second))
        secure.answers.clear()
        secure.will_answer(REFUSED, POD)

        ask(client)

        assert [asked.certificate for asked in secure.asked] == ["first", "first", "second"]
        assert tokens(secure) == []

    def test_a_program_that_fails_later_is_an_error_with_its_words(
        self, secure: ScriptedServer, authority: Authority, plugin: Plugin
    ) -> None:
        plugin.will_give({"token": "one"})
        secure.write_kubeconfig(authority=authority.pair.certificate, exec=plugin.spec)
        client = secure.client()
        ran = len(plugin.runs)
        (plugin.directory / "answer").unlink()
        secure.answers.clear()
        secure.will_answer(REFUSED)

        with pytest.raises(KubeconfigError, match="No such file or directory") as failed:
            ask(client)

        assert str(secure.kubeconfig) in str(failed.value)
        assert len(plugin.runs) == ran + 1, "it was asked again and again"

    @pytest.mark.parametrize(
        ("changed", "words"),
        [
            ({"command": "/nowhere/login", "installHint": "get it"}, "no such program; get it"),
            ({"command": "", "args": None}, "expected a program"),
            ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "exec.apiVersion"),
            ({"interactiveMode": "Always"}, "wants a terminal"),
            ({"args": ["-c", "import sys; sys.exit('log in first')"]}, "ended with 1: log in"),
            ({"args": ["-c", "print('hello')"]}, "expected JSON"),
            ({"args": ["-c", "print('{}')"]}, "expected an ExecCredential"),
        ],
    )
    def test_a_program_that_cannot_be_used_is_an_error(
        self, server: ScriptedServer, plugin: Plugin, changed: JsonObject, words: str
    ) -> None:
        server.write_kubeconfig(exec=plugin.spec | changed)

        with pytest.raises(KubeconfigError, match=words):
            server.client()

    @pytest.mark.parametrize(
        ("status", "words"),
        [
            ({}, "neither a token nor"),
            ({"clientCertificateData": "x"}, "without the other"),
            ({"token": "x", "expirationTimestamp": "soon"}, "expected a time, got 'soon'"),
        ],
    )
    def test_an_answer_that_cannot_be_used_is_an_error(
        self, server: ScriptedServer, plugin: Plugin, status: JsonObject, words: str
    ) -> None:
        plugin.will_give(status)
        server.write_kubeconfig(exec=plugin.spec)

        with pytest.raises(KubeconfigError, match=words):
            server.client()


class TestFiles:
    def test_a_token_file_is_read_again_after_a_minute(
        self, secure: ScriptedServer, authority: Authority, tmp_path: Path
    ) -> None:
        token_file = tmp_path / "token"
        token_file.write_text("one\n")
        # A relative path is one from the kubeconfig.
        secure.write_kubeconfig(authority=authority.pair.certificate, tokenFile="token")
        load = credentials.from_kubeconfig(str(secure.kubeconfig), context="")

        assert tokens_over_a_minute(secure, load, token_file) == ["one", "one", "two"]

    def test_the_pods_own_token_is_read_again_after_a_minute(
        self, secure: ScriptedServer, authority: Authority, tmp_path: Path
    ) -> None:
        token_file = tmp_path / "token"
        token_file.write_text("one")
        host, port = secure.url.removeprefix("https://").split(":")
        load = credentials.in_cluster(
            token_file=str(token_file),
            authority_file=str(authority.pair.certificate),
            environment={"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port},
        )

        assert tokens_over_a_minute(secure, load, token_file) == ["one", "one", "two"]

    def test_a_token_that_is_away_for_a_moment_is_used_on(
        self, secure: ScriptedServer, authority: Authority, tmp_path: Path, clock: Clock
    ) -> None:
        token_file = tmp_path / "token"
        token_file.write_text("one")
        secure.write_kubeconfig(authority=authority.pair.certificate, tokenFile=str(token_file))
        client = client_at(clock, credentials.from_kubeconfig(str(secure.kubeconfig), context=""))
        token_file.unlink()

        clock.now = credentials.TOKEN_FILE_SECONDS + 1
        ask(client)
        token_file.write_text("two")
        clock.now += connection.RETRY_SECONDS
        ask(client)

        assert tokens(secure) == ["Bearer one", "Bearer two"]

    def test_client_certificates_may_rotate_in_their_files(
        self,
        secure: ScriptedServer,
        authority: Authority,
        tmp_path: Path,
        people: tuple[KeyPair, KeyPair],
    ) -> None:
        first, second = people
        certificate, key = tmp_path / "mine.crt", tmp_path / "mine.key"
        copy_pair(first, certificate, key)
        secure.write_kubeconfig(
            authority=authority.pair.certificate,
            **{"client-certificate": "mine.crt", "client-key": "mine.key"},
        )
        client = secure.client()
        ask(client)
        copy_pair(second, certificate, key)
        secure.answers.clear()
        secure.will_answer(REFUSED, POD)

        ask(client)

        assert [asked.certificate for asked in secure.asked] == ["first", "first", "second"]


class TestTrust:
    def test_a_server_of_another_authority_is_not_spoken_to(
        self, secure: ScriptedServer, tmp_path: Path
    ) -> None:
        other = Authority(tmp_path / "other")
        secure.write_kubeconfig(authority=other.pair.certificate, token="secret")

        with pytest.raises(ApiError, match="does not fit the authority that") as failed:
            ask(secure.client())

        assert str(secure.kubeconfig) in str(failed.value)
        assert secure.asked == []

    def test_credentials_that_stay_refused_are_named(
        self, secure: ScriptedServer, authority: Authority
    ) -> None:
        secure.write_kubeconfig(authority=authority.pair.certificate, token="wrong")
        secure.answers.clear()
        secure.will_answer(REFUSED)

        with pytest.raises(ApiError, match="does not accept the credentials of") as failed:
            ask(secure.client())

        assert (failed.value.status, len(secure.asked)) == (401, 2)


def client_at(clock: Clock, load: credentials.Load) -> Client:
    return Client(Session.over(Transport(connection.Connection(load, clock=clock))))


def tokens_over_a_minute(
    server: ScriptedServer, load: credentials.Load, token_file: Path
) -> list[str]:
    """Change the token, and return with which one is asked at once, before and after a minute."""
    clock = Clock()
    client = client_at(clock, load)
    ask(client)
    token_file.write_text("two")
    for clock.now in (credentials.TOKEN_FILE_SECONDS - 1, credentials.TOKEN_FILE_SECONDS + 1):
        ask(client)
    return [token.split()[-1] for token in tokens(server)]


def pem_of(pair: KeyPair) -> JsonObject:
    return {
        "clientCertificateData": pair.certificate.read_text(),
        "clientKeyData": pair.key.read_text(),
    }


def copy_pair(pair: KeyPair, certificate: Path, key: Path) -> None:
    certificate.write_bytes(pair.certificate.read_bytes())
    key.write_bytes(pair.key.read_bytes())
