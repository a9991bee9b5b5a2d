"""Programs that give credentials (`users[].user.exec`), against a server with TLS."""

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.kube import credentials
from dra_console.kube.errors import KubeconfigError
from tests.cluster.rig.certificates import Authority, KeyPair
from tests.integration.kube.identities import (
    POD,
    REFUSED,
    VERSION,
    Clock,
    Plugin,
    ask,
    client_at,
    pem_of,
    tokens,
)
from tests.integration.kube.scripted import ScriptedServer


def test_a_program_gives_the_token_and_is_told_about_the_cluster(
    secure: ScriptedServer, authority: Authority, plugin: Plugin
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
    secure: ScriptedServer, authority: Authority, plugin: Plugin, clock: Clock
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
    secure: ScriptedServer, authority: Authority, plugin: Plugin
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
    secure: ScriptedServer, authority: Authority, plugin: Plugin
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
    server: ScriptedServer, plugin: Plugin, changed: JsonObject, words: str
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
    server: ScriptedServer, plugin: Plugin, status: JsonObject, words: str
) -> None:
    plugin.will_give(status)
    server.write_kubeconfig(exec=plugin.spec)

    with pytest.raises(KubeconfigError, match=words):
        server.client()
