"""The devcluster as a process: its start, its end, and what lies between two of them."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import urllib3
import yaml

from tests.integration.devclusters import Devcluster, devcluster, running_devcluster

__all__ = ["devcluster"]


class Http:
    """A client with kept connections."""

    def __init__(self, cluster: Devcluster) -> None:
        self._url = cluster.url
        self._pool = urllib3.PoolManager(maxsize=8, retries=False)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        response = self._pool.request(
            method,
            self._url + path,
            body=None if body is None else json.dumps(body),
            headers={"Content-Type": "application/json"},
        )
        return response.status, response.json()

    def watch(self, path: str) -> Iterator[dict[str, Any]]:
        response = self._pool.request("GET", self._url + path, preload_content=False)
        yield {"status": response.status}
        buffer = b""
        for chunk in response.stream(65536):
            *lines, buffer = (buffer + chunk).split(b"\n")
            yield from (json.loads(line) for line in lines if line)

    def close(self) -> None:
        self._pool.clear()


@pytest.fixture
def http(devcluster: Devcluster) -> Iterator[Http]:
    client = Http(devcluster)
    yield client
    client.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devcluster]:
    """A devcluster for the tests that leave it running."""
    with running_devcluster(tmp_path_factory.mktemp("devcluster")) as cluster:
        yield cluster


@pytest.fixture
def shared_http(shared: Devcluster) -> Iterator[Http]:
    client = Http(shared)
    yield client
    client.close()


def a_node(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


def names(listed: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


def test_kubeconfig_points_at_a_server_that_answers(shared: Devcluster, shared_http: Http) -> None:
    config = yaml.safe_load(shared.kubeconfig.read_text())

    assert config["clusters"][0]["cluster"]["server"] == shared.url
    assert shared_http.ask("GET", "/version")[1]["major"] == "1"


def test_nothing_is_lost_when_the_process_is_killed(devcluster: Devcluster, http: Http) -> None:
    bodies = [a_node(f"n{number:02}") for number in range(20)]
    created = [http.ask("POST", "/api/v1/nodes", body)[1] for body in bodies]
    version = int(created[-1]["metadata"]["resourceVersion"])

    devcluster.kill()
    devcluster.start()

    _, listed = http.ask("GET", "/api/v1/nodes")
    found = {item["metadata"]["name"]: item["metadata"]["uid"] for item in listed["items"]}
    assert found == {node["metadata"]["name"]: node["metadata"]["uid"] for node in created}
    _, after = http.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "later"}})
    assert int(after["metadata"]["resourceVersion"]) > version


def test_watch_goes_on_after_a_crash_from_where_it_was(devcluster: Devcluster, http: Http) -> None:
    _, first = http.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "a"}})
    http.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "b"}})
    devcluster.kill()
    devcluster.start()

    version = first["metadata"]["resourceVersion"]
    events = http.watch(f"/api/v1/namespaces?watch=1&resourceVersion={version}&timeoutSeconds=1")

    assert next(events)["status"] == 200
    assert next(events)["object"]["metadata"]["name"] == "b"


def test_watch_from_before_compaction_gets_410(tmp_path: Path) -> None:
    with running_devcluster(tmp_path, options=("--kept-events", "8")) as cluster:
        http = Http(cluster)
        for number in range(30):
            http.ask("POST", "/api/v1/namespaces", {"metadata": {"name": f"n{number}"}})

        events = http.watch("/api/v1/namespaces?watch=1&resourceVersion=2")

        assert next(events)["status"] == 200
        refusal = next(events)["object"]
        assert (refusal["code"], refusal["reason"]) == (410, "Expired")
        http.close()


def test_slow_watcher_does_not_hold_up_writes(shared: Devcluster, shared_http: Http) -> None:
    address = ("127.0.0.1", shared.port)
    with socket.create_connection(address) as slow:
        slow.sendall(b"GET /api/v1/namespaces?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n")
        big = "x" * 100_000
        for number in range(60):
            body = {"metadata": {"name": f"n{number}", "annotations": {"big": big}}}
            status, _ = shared_http.ask("POST", "/api/v1/namespaces", body)
            assert status == 201

    assert len(shared_http.ask("GET", "/api/v1/namespaces")[1]["items"]) >= 60


def test_many_writers_and_watchers_see_the_same(shared: Devcluster, shared_http: Http) -> None:
    seen: list[list[str]] = [[] for _ in range(4)]
    ready = threading.Barrier(5)

    def follow(into: list[str]) -> None:
        client = Http(shared)
        events = client.watch("/api/v1/nodes?watch=1")
        next(events)
        ready.wait(timeout=10)
        for event in events:
            into.append(event["object"]["metadata"]["name"])
            if len(into) == 80:
                break
        client.close()

    watchers = [threading.Thread(target=follow, args=(into,)) for into in seen]
    for watcher in watchers:
        watcher.start()
    ready.wait(timeout=10)
    with ThreadPoolExecutor(4) as writers:
        bodies = [a_node(f"n{number:02}") for number in range(80)]
        answers = list(
            writers.map(lambda body: shared_http.ask("POST", "/api/v1/nodes", body), bodies)
        )
    for watcher in watchers:
        watcher.join(timeout=20)

    assert {status for status, _ in answers} == {201}
    assert seen[0] == seen[1] == seen[2] == seen[3]
    order = sorted(answers, key=lambda answer: int(answer[1]["metadata"]["resourceVersion"]))
    first_seen = list(dict.fromkeys(seen[0]))
    assert first_seen == [node["metadata"]["name"] for _, node in order][: len(first_seen)]


def test_sigterm_ends_watches_and_the_process(devcluster: Devcluster, http: Http) -> None:
    events = http.watch("/api/v1/namespaces?watch=1")
    next(events)
    next(events)

    assert devcluster.stop() == 0
    assert list(events) is not None


def test_taken_port_is_said_in_one_line(shared: Devcluster, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "dra_console.devcluster"),
        *("--data-dir", str(tmp_path / "other"), "--port", str(shared.port)),
        *("--nodes-dir", str(tmp_path / "nodes"), "--kubeconfig", str(tmp_path / "config")),
    ]

    refused = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert refused.returncode == 3
    assert refused.stderr.strip() == (f"devcluster: port {shared.port}: Address already in use")
    assert not (tmp_path / "config").exists()


def test_taken_data_directory_is_said_in_one_line(shared: Devcluster, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "dra_console.devcluster"),
        *("--data-dir", str(shared.directory / "data"), "--port", "0"),
        *("--nodes-dir", str(tmp_path / "nodes"), "--kubeconfig", str(tmp_path / "config")),
    ]

    refused = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert refused.returncode == 3
    assert "another devcluster runs on this directory" in refused.stderr


def test_request_that_is_too_large_is_refused(shared_http: Http) -> None:
    body = {"metadata": {"name": "n", "annotations": {"big": "x" * (4 * 1024 * 1024)}}}

    status, refusal = shared_http.ask("POST", "/api/v1/nodes", body)

    assert (status, refusal["reason"]) == (413, "RequestEntityTooLarge")


def test_demo_has_its_nodes_classes_and_rights(tmp_path: Path) -> None:
    with running_devcluster(tmp_path, scenario="demo") as cluster:
        http = Http(cluster)

        assert "gpu-01" in names(http.ask("GET", "/api/v1/nodes")[1])
        classes = names(http.ask("GET", "/apis/resource.k8s.io/v1/deviceclasses")[1])
        assert classes == ["gpu.nvidia.com", "l4.nvidia.com", "mig.nvidia.com"]
        assert (cluster.nodes_dir / "gpu-01" / "plugins_registry").is_dir()
        http.close()
