"""As whom requests arrive at a server with TLS, while credentials change in their files."""

from pathlib import Path

import pytest

from dra_console.kube import connection, credentials
from dra_console.kube.errors import ApiError
from tests.cluster.rig.certificates import Authority, KeyPair
from tests.integration.kube.identities import POD, REFUSED, Clock, ask, client_at, tokens
from tests.integration.kube.scripted import ScriptedServer


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


def copy_pair(pair: KeyPair, certificate: Path, key: Path) -> None:
    certificate.write_bytes(pair.certificate.read_bytes())
    key.write_bytes(pair.key.read_bytes())
