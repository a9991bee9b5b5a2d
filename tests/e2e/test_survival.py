"""`kill -9` of each process while pods come and go: nothing is lost, nothing held twice."""

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from tests.e2e.demos import Demo, eventually, running_demo
from tests.settings import free_port

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(420)]

NAMESPACE = "team-vision"
VICTIMS = (
    ("celery", "worker"),
    ("uvicorn",),
    ("dra_console.devcluster",),
    ("nodeagent", "--node-name gpu-01"),
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """Run a demo of its own, since its processes get killed."""
    home: Path = tmp_path_factory.mktemp("survival") / ".demo"
    with running_demo(home, port=free_port()) as running:
        yield running


@pytest.fixture(scope="module")
def long_running(demo: Demo) -> JsonObject:
    """Start a pod that runs through all the kills, and return it when it runs."""
    client = demo.client()
    client.create(RESOURCE_CLAIM_TEMPLATES, _template("keeper"), namespace=NAMESPACE)
    client.create(PODS, _pod("keeper", "keeper", seconds=3600), namespace=NAMESPACE)
    return eventually(lambda: _running(client, "keeper"), what="the long-running pod runs")


@pytest.mark.parametrize("victim", VICTIMS, ids=lambda words: words[0])
def test_killing_one_process_loses_nothing(
    demo: Demo, long_running: JsonObject, victim: tuple[str, ...]
) -> None:
    client = demo.client()
    churn = Churn(client)
    churn.start()

    eventually(lambda: churn.created >= 4, what="pods come and go")
    killed = demo.kill(*victim)
    eventually(lambda: _other_pid(demo, victim, killed), what=f"{victim} is started again")
    seen = churn.created
    eventually(lambda: churn.created >= seen + 4, seconds=90, what="pods come and go again")
    churn.stop()

    _assert_no_device_is_held_twice(client)
    eventually(lambda: _mirror_is_equal(demo), seconds=90, what="the mirror equals the API server")
    _assert_prepared_claim_is_whole(demo, client, long_running)
    eventually(lambda: _all_settled(client), seconds=90, what="every pod runs or is gone")
    _assert_no_device_is_held_twice(client)


class Churn(threading.Thread):
    """Creates and deletes pods with claims until it is told to stop, whatever is away."""

    def __init__(self, client: Client) -> None:
        super().__init__(daemon=True)
        self._client = client
        self._end = threading.Event()
        self._chance = random.Random(7)
        self._alive: list[str] = []
        self.created = 0

    def run(self) -> None:
        self._ensure_template()
        while not self._end.wait(0.4):
            try:
                self._step()
            except ApiError:
                continue  # the API server was killed: the next step tries again
        for name in list(self._alive):
            eventually(partial(self._give_back, name), what=f"pod {name} is deleted")

    def stop(self) -> None:
        self._end.set()
        self.join(timeout=60)

    def _ensure_template(self) -> None:
        names = self._client.list(RESOURCE_CLAIM_TEMPLATES, namespace=NAMESPACE).items
        if not any(_name(template) == "churn" for template in names):
            self._client.create(RESOURCE_CLAIM_TEMPLATES, _template("churn"), namespace=NAMESPACE)

    def _step(self) -> None:
        if len(self._alive) >= 6:
            self._give_back(self._chance.choice(self._alive))
            return
        pod = _pod("churn-", "churn", seconds=3600)
        created = self._client.create(PODS, pod, namespace=NAMESPACE)
        self._alive.append(_name(created))
        self.created += 1

    def _give_back(self, name: str) -> bool:
        try:
            self._client.delete(PODS, name, namespace=NAMESPACE)
        except ApiError as error:
            if error.status != 404:
                return False
        self._alive.remove(name)
        return True


def _other_pid(demo: Demo, victim: tuple[str, ...], killed: int) -> bool:
    try:
        return demo.pid_of(*victim) != killed
    except AssertionError:
        return False


def _mirror_is_equal(demo: Demo) -> bool:
    try:
        demo.manage("sync_check")
    except SystemExit:
        return False
    return True


def _assert_no_device_is_held_twice(client: Client) -> None:
    held: Counter[tuple[str, str, str]] = Counter()
    for claim in client.list(RESOURCE_CLAIMS).items:
        for result in _results(claim):
            held[(result["driver"], result["pool"], result["device"])] += 1
    twice = [device for device, claims in held.items() if claims > 1]
    assert not twice


def _assert_prepared_claim_is_whole(demo: Demo, client: Client, pod: JsonObject) -> None:
    now: Any = client.get(PODS, _name(pod), namespace=NAMESPACE)
    before: Any = pod
    assert now["metadata"]["uid"] == before["metadata"]["uid"]
    assert now["status"]["phase"] == "Running"
    claim_name = now["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
    claim: Any = client.get(RESOURCE_CLAIMS, claim_name, namespace=NAMESPACE)
    uid = claim["metadata"]["uid"]
    root = demo.layout.nodes / now["spec"]["nodeName"]
    checkpoint = json.loads((root / "plugins/gpu.nvidia.com/checkpoint.json").read_text())
    assert checkpoint["claims"][uid]["state"] == "completed"
    assert list((root / "cdi").glob(f"*{uid}*.json"))


def _all_settled(client: Client) -> bool:
    pods: Any = client.list(PODS, namespace=NAMESPACE).items
    return all(pod["status"].get("phase") == "Running" for pod in pods)


def _running(client: Client, name: str) -> JsonObject | None:
    pod: Any = client.get(PODS, name, namespace=NAMESPACE)
    return pod if pod["status"].get("phase") == "Running" else None


def _results(claim: Any) -> list[dict[str, str]]:
    allocation = claim.get("status", {}).get("allocation") or {}
    return [
        result
        for result in allocation.get("devices", {}).get("results", [])
        if not result.get("adminAccess")
    ]


def _name(thing: Any) -> str:
    return str(thing["metadata"]["name"])


def _template(name: str) -> JsonObject:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "spec": {
                "devices": {
                    "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]
                }
            }
        },
    }


def _pod(name: str, template: str, *, seconds: int) -> JsonObject:
    key = "generateName" if name.endswith("-") else "name"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {key: name, "namespace": NAMESPACE},
        "spec": {
            "schedulerName": "dra-console",
            "restartPolicy": "Never",
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template}],
            "containers": [
                {
                    "name": "work",
                    "image": "registry.k8s.io/pause:3.10",
                    "args": ["sleep", str(seconds)],
                    "resources": {"claims": [{"name": "gpu"}]},
                }
            ],
        },
    }
