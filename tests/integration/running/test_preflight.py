"""What `make run` says when a cluster cannot be used; on a real one: tests/cluster/test_run.py."""

from pathlib import Path

import pytest

from dra_console.running.preflight import kubeconfig_path, look_at
from tests.integration.kube.scripted import Answer, ScriptedServer, a_status, scripted_server


def test_without_a_kubeconfig_the_usage_is_said() -> None:
    with pytest.raises(SystemExit, match="make run KUBECONFIG=path"):
        kubeconfig_path("")


def test_several_files_are_not_guessed_at() -> None:
    with pytest.raises(SystemExit, match="kubectl config view --flatten"):
        kubeconfig_path("/a/config:/b/config")


def test_the_home_directory_may_be_abbreviated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")

    assert kubeconfig_path("~/.kube/config") == Path("/home/somebody/.kube/config")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (None, "there is no file"),
        ("[", "while parsing"),
        ("", "expected a kubeconfig, found no document"),
        ("clusters: []", "names no current-context"),
        ("current-context: a", "has no context named 'a'"),
        (
            "{current-context: a, contexts: [{name: a, context: {cluster: b}}]}",
            "has no cluster named 'b'",
        ),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_named_with_the_reason(
    tmp_path: Path, document: str | None, words: str
) -> None:
    path = tmp_path / "kubeconfig"
    if document is not None:
        path.write_text(document)

    with pytest.raises(SystemExit, match=words) as ended:
        look_at(path, context="")

    assert str(ended.value).startswith(f"{path}: this cluster cannot be used:\n")


def test_a_server_that_is_away_is_an_end(tmp_path: Path) -> None:
    with scripted_server(tmp_path) as server:
        kubeconfig = server.kubeconfig

    with pytest.raises(SystemExit, match=r"http://127\.0\.0\.1:\d+: nobody listens there"):
        look_at(kubeconfig, context="")


def test_credentials_that_are_refused_are_an_end(tmp_path: Path) -> None:
    with scripted_server(tmp_path) as server:
        server.will_answer(Answer(a_status(401, "Unauthorized"), status=401))

        with pytest.raises(SystemExit, match="does not accept the credentials of"):
            look_at(server.kubeconfig, context="it")


def test_a_cluster_without_dra_is_usable_and_said_to_be_empty(tmp_path: Path) -> None:
    with scripted_server(tmp_path) as server:
        server.plurals_by_version = {}
        server.will_answer(
            Answer({"gitVersion": "v1.31.0"}),
            Answer({"status": {"userInfo": {"username": "somebody"}}}),
            Answer({"status": {"allowed": True}}),
        )

        _, finding = look_at(server.kubeconfig, context="")

    assert (finding.server, finding.identity) == ("v1.31.0", "somebody")
    unverified, empty = finding.warnings
    assert "not verified" in unverified
    assert "has nothing of resource.k8s.io" in empty
    assert "stay empty" in empty
    assert said_by(server) == [
        "/version",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        *["/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"] * 4,
    ]


def said_by(server: ScriptedServer) -> list[str]:
    return [asked.path for asked in server.asked]
