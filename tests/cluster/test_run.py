"""`make run` on a real cluster, as an identity with the console's rights and no more."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from dra_console.running.preflight import has_rights, look_at
from dra_console.running.rights import PEOPLE, rights_yaml
from tests.cluster.rig import Cluster
from tests.e2e.demos import children_of
from tests.settings import free_port

READY_SECONDS = 180
SEEN_SECONDS = 60
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"
CLAIM = {"metadata": {"name": "train"}, "spec": {}}

CONSOLE_RULES = (
    {
        "apiGroups": ["", "resource.k8s.io"],
        "resources": ["*"],
        "verbs": ["get", "list", "watch"],
    },
    {
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["subjectaccessreviews"],
        "verbs": ["create"],
    },
    {"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]},
)


@contextmanager
def running(home: Path, kubeconfig: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Run it until the block ends, with Ctrl-C's signal; yields it and its output."""
    output = home.parent / "output.txt"
    command = [sys.executable, "-m", "dra_console.running", "--kubeconfig", str(kubeconfig)]
    with output.open("w") as sink:
        process = subprocess.Popen(
            [*command, "--dir", str(home), "--port", str(free_port())],
            stdout=sink,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
    try:
        yield process, output
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)


def eventually(
    look: Callable[[], object], *, seconds: float, process: subprocess.Popen[str], output: Path
) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        if look():
            return
        time.sleep(0.2)
    pytest.fail(f"not within {seconds} s; it said:\n{output.read_text()}")


def apply(cluster: Cluster, manifests: str) -> None:
    for each in yaml.safe_load_all(manifests):
        namespace = each["metadata"].get("namespace")
        within = f"/namespaces/{namespace}" if namespace else ""
        path = f"/apis/{each['apiVersion']}{within}/{each['kind'].lower()}s"
        cluster.api.create(path, each)


def names_seen(summary: dict[str, Any], username: str) -> list[str]:
    """Ask the console as one of its users for claims."""
    url = urlsplit(summary["url"])
    connection = HTTPConnection(str(url.hostname), url.port, timeout=10)
    token = summary["users"][username]["token"]
    connection.request(
        "GET", "/api/v1/resourceclaims/", headers={"Authorization": f"Bearer {token}"}
    )
    answer = connection.getresponse()
    body = json.loads(answer.read())
    connection.close()
    assert answer.status == HTTPStatus.OK, body
    return [f"{each['metadata']['namespace']}/{each['metadata']['name']}" for each in body["items"]]


def test_what_is_missing_is_said_before_anything_starts(cluster: Cluster) -> None:
    nobody = cluster.service_account("nobody")

    _, finding = look_at(nobody.kubeconfig, context="")

    who = "system:serviceaccount:default:nobody"
    assert finding.identity == who
    assert finding.warnings == (
        f"{who} may not list resourceclaims.resource.k8s.io: nothing of it can be shown.",
        (
            f"{who} may not create subjectaccessreviews.authorization.k8s.io: nobody's rights can"
            " be asked for, so pages stay empty."
        ),
        f"{who} may not impersonate users: nobody can create or delete anything.",
        f"{who} may not impersonate groups: nobody can create or delete anything.",
    )


@pytest.mark.timeout(420)
def test_claims_of_the_cluster_appear_for_whoever_has_rights(
    cluster: Cluster, tmp_path: Path
) -> None:
    home = tmp_path / "state"
    account = cluster.service_account("dra-console", *CONSOLE_RULES)
    client, finding = look_at(account.kubeconfig, context="")
    had_rights = [has_rights(client, person) for person in PEOPLE]
    apply(cluster, rights_yaml(PEOPLE))
    cluster.create_namespace("elsewhere")
    cluster.api.create(CLAIMS.format("default"), CLAIM)

    with running(home, account.kubeconfig) as (process, output):
        eventually(
            lambda: "Ctrl-C ends" in output.read_text(),
            seconds=READY_SECONDS,
            process=process,
            output=output,
        )
        summary = json.loads((home / "run.json").read_text())
        children = children_of(process.pid)
        cluster.api.create(CLAIMS.format("elsewhere"), CLAIM)
        everything = ["default/train", "elsewhere/train"]
        eventually(
            lambda: names_seen(summary, "admin") == everything,
            seconds=SEEN_SECONDS,
            process=process,
            output=output,
        )
        seen_by_researcher = names_seen(summary, "researcher")

    said = output.read_text()
    assert finding.warnings == ()
    assert had_rights == [False, False]
    assert [has_rights(client, person) for person in PEOPLE] == [True, True]
    assert seen_by_researcher == ["default/train"]
    assert "as system:serviceaccount:default:dra-console" in said
    assert "admin acts as Kubernetes user dra-console:admin of group dra-console-admins" in said
    assert "Without rights" not in said
    assert process.returncode == 0
    assert len(children) == 4
    assert not [pid for pid, _ in children if Path(f"/proc/{pid}").exists()]
    assert not (home / "run.json").exists()
