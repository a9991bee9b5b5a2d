"""The console allocates on a real control plane: its own processes, its own rights, no more."""

import http.client
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from dra_console.allocator.api_json import JsonObject, object_of, objects_of
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from tests.cluster.chaos.http import MERGE_PATCH, Connection
from tests.cluster.rig import Cluster
from tests.cluster.scheduling import split_devices
from tests.cluster.scheduling.audit import Audit
from tests.cluster.scheduling.console import RunningConsole, running_console
from tests.cluster.scheduling.control_plane import ADMIN_ACCESS, options
from tests.cluster.scheduling.split_devices import Books
from tests.cluster.scheduling.watching import Watching
from tests.cluster.tools.recipes import locate

pytestmark = pytest.mark.timeout(900)

NODES: Final = 64
MANAGED: Final = 32
"""Of the nodes, these have devices that the console alone may give away."""

COUNT: Final = 500
SIDE_BY_SIDE: Final = 250
"""Pods of each scheduler, made in waves."""

SIDE_WAVE: Final = 50
AHEAD: Final = 24
WRITERS: Final = 4
TEMPLATES: Final = (*["quarter"] * 5, "half", "half", "pair", "choice", "quarter")
OURS: Final = "dra-console"
NAMESPACE: Final = "team"
PATIENCE_SECONDS: Final = 300
GOLDEN: Final = Path(__file__).with_name("described_claim.txt")
MASKS: Final = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
    (r"e-0-gpu-\w{5}", "e-0-gpu-NAME"),
    (r"gpu-\d\d", "gpu-NN"),
    (r"b\d-half-\d", "bN-half-N"),
    (r"(Resource Version: +)\d+", r"\1VERSION"),
)


@dataclass(slots=True)
class Stage:
    """The one control plane of all tests here, with the console at work on it."""

    cluster: Cluster
    audit: Audit
    console: RunningConsole
    watching: Watching
    books: Books

    def create(self, kind: Kind, bodies: Sequence[JsonObject]) -> list[JsonObject]:
        """Make objects, several at a time; return them in whatever order."""
        shares = [bodies[number::WRITERS] for number in range(WRITERS)]
        with ThreadPoolExecutor(WRITERS) as writers:
            made = writers.map(lambda share: self._create(kind, share), shares)
            return [each for share in made for each in share]

    def _create(self, kind: Kind, bodies: Sequence[JsonObject]) -> list[JsonObject]:
        connection = Connection(self.cluster.kubeconfig)
        made = []
        for body in bodies:
            namespace = object_of(body["metadata"]).get("namespace")
            path = kind.path(str(namespace) if namespace else None)
            status, answer = connection.send("POST", path, body)
            assert status == http.client.CREATED, answer
            made.append(answer)
        connection.close()
        return made

    def pods(self, prefix: str) -> list[JsonObject]:
        """List the pods whose names begin so."""
        return [each for each in self.watching.all(PODS) if _name(each).startswith(prefix)]

    def bound(self, prefix: str) -> list[JsonObject]:
        """List those of them that have a node."""
        return [each for each in self.pods(prefix) if object_of(each["spec"]).get("nodeName")]

    def claims_of(self, prefix: str) -> list[JsonObject]:
        """List the claims that were made for pods whose names begin so."""
        return [
            each for each in self.watching.all(RESOURCE_CLAIMS) if _name(each).startswith(prefix)
        ]

    def devices(self, uid: str) -> list[tuple[str, str]]:
        """List pool and device of what a claim holds now."""
        claim = self.watching.of(RESOURCE_CLAIMS, uid)
        return [] if claim is None else split_devices.devices_of(claim)

    def consumers(self, uid: str) -> list[str]:
        """Name the pods that a claim is reserved for now."""
        claim = self.watching.of(RESOURCE_CLAIMS, uid) or {}
        status = object_of(claim.get("status"))
        return [str(each["name"]) for each in objects_of(status.get("reservedFor"))]

    def finish(self, pods: Sequence[JsonObject]) -> None:
        """Let pods end, as their kubelets would say it."""
        connection = Connection(self.cluster.kubeconfig)
        for pod in pods:
            path = PODS.path(NAMESPACE, _name(pod), "status")
            body: JsonObject = {"status": {"phase": "Succeeded"}}
            status, answer = connection.send("PATCH", path, body, content_type=MERGE_PATCH)
            assert status == http.client.OK, answer
        connection.close()

    def until(self, look: Callable[[], Any]) -> Any:
        """Wait for something; say what the console had to say if it does not come."""
        try:
            return self.watching.until(look, seconds=PATIENCE_SECONDS)
        except AssertionError as error:
            logs = "\n".join(self.console.logs().splitlines()[-60:])
            raise AssertionError(f"{error}\n{logs}") from error

    def described(self, kind: str, name: str, *, wanted: str) -> str:
        """Ask kubectl to describe an object; empty until a word is in it."""
        told = self.kubectl("-n", NAMESPACE, "describe", kind, name)
        return told if wanted in told else ""

    def kubectl(self, *arguments: str) -> str:
        """Ask as a person does."""
        words = [str(locate("kubectl")), f"--kubeconfig={self.cluster.kubeconfig}", *arguments]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return done.stdout


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    return Audit(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="module")
def cluster_options(audit: Audit) -> dict[str, Any]:
    return options(filter_seconds=10) | {"apiserver_flags": audit.flags()}


@pytest.fixture(scope="module")
def stage(cluster: Cluster, audit: Audit) -> Iterator[Stage]:
    cluster.create_namespace(NAMESPACE, labels=ADMIN_ACCESS)
    connection = Connection(cluster.kubeconfig)
    worlds = [
        *((DEVICE_CLASSES, each) for each in split_devices.classes()),
        *((RESOURCE_CLAIM_TEMPLATES, each) for each in split_devices.templates(NAMESPACE)),
    ]
    for number in range(NODES):
        name = _node(number)
        cluster.add_node(name)
        worlds += [(RESOURCE_SLICES, each) for each in split_devices.slices(name)]
    for kind, body in worlds:
        namespace = NAMESPACE if kind.namespaced else None
        status, answer = connection.send("POST", kind.path(namespace), body)
        assert status == http.client.CREATED, answer
    connection.close()
    watching = Watching(cluster.kubeconfig, PODS, RESOURCE_CLAIMS)
    books = Books()
    watching.listeners[RESOURCE_CLAIMS.plural].append(books.take)
    watching.start()
    with running_console(cluster) as console:
        yield Stage(cluster, audit, console, watching, books)
    watching.stop()


def test_pods_that_name_the_console_are_bound_by_it_and_by_its_rights_alone(stage: Stage) -> None:
    began = time.monotonic()
    before = stage.audit.writes_of(stage.console.username)
    stage.create(
        PODS,
        [
            split_devices.pod(
                f"b-{number:03}", NAMESPACE, TEMPLATES[number % len(TEMPLATES)], scheduler=OURS
            )
            for number in range(COUNT)
        ],
    )
    created_seconds = time.monotonic() - began
    stage.until(lambda: len(stage.bound("b-")) == COUNT)
    bound_seconds = time.monotonic() - began
    reserved = [
        each
        for each in stage.claims_of("b-")
        if objects_of(object_of(each["status"]).get("reservedFor"))
    ]
    writes = stage.audit.writes_of(stage.console.username) - before
    refused = stage.audit.refusals_of(stage.console.username)

    print(  # noqa: T201 - figures for the document
        f"{COUNT} pods made in {created_seconds:.0f} s, bound after {bound_seconds:.0f} s; {writes}"
    )
    assert len(reserved) == COUNT
    assert stage.books.faults == []
    assert writes["create", "pods/binding", 201] == COUNT
    conflicts = {each for each in writes if each[2] == http.client.CONFLICT}
    others = [line for line in refused if f": {http.client.CONFLICT}" not in line]
    assert others == [], "conflicts are part of the game, everything else is a fault of ours"
    assert sum(writes[each] for each in conflicts) <= COUNT // 10

    # kube-controller-manager sees our reservations as it sees kube-scheduler's.
    stage.finish(stage.bound("b-"))
    stage.until(lambda: not stage.claims_of("b-"))
    assert stage.books.faults == []


def test_kubectl_describes_pod_and_claim_as_after_kube_scheduler(stage: Stage) -> None:
    stage.create(PODS, [split_devices.pod("e-0", NAMESPACE, "half", scheduler=OURS)])
    (pod,) = stage.until(lambda: stage.bound("e-"))
    node = object_of(pod["spec"])["nodeName"]
    # Events are written in the background.
    described = stage.until(lambda: stage.described("pod", "e-0", wanted="Scheduled"))
    claim = stage.kubectl("-n", NAMESPACE, "describe", "resourceclaim", _claim_name(pod))

    assert re.search(rf"^Node: +{node}/?$", described, re.MULTILINE)
    assert re.search(r"^ +PodScheduled +True", described, re.MULTILINE)
    event = rf"^ +Normal +Scheduled +\S+ +dra-console +Successfully assigned team/e-0 to {node}$"
    assert re.search(event, described, re.MULTILINE)
    assert _masked(claim) == GOLDEN.read_text()
    stage.finish([pod])
    stage.until(lambda: not stage.claims_of("e-"))


def test_two_schedulers_on_split_devices_never_meet(stage: Stage) -> None:
    """The rules come first: what is marked is no longer kube-scheduler's to give."""
    stage.create(
        DEVICE_TAINT_RULES, [split_devices.managed(_node(each)) for each in range(MANAGED)]
    )
    changes_before = stage.books.changes
    bodies = [
        split_devices.pod(
            f"{prefix}-{number:03}",
            NAMESPACE,
            TEMPLATES[number % len(TEMPLATES)],
            scheduler=scheduler,
        )
        for number in range(SIDE_BY_SIDE)
        for prefix, scheduler in (("c-ours", OURS), ("c-kube", "default-scheduler"))
    ]
    began = time.monotonic()
    for start in range(0, len(bodies), SIDE_WAVE):
        stage.create(PODS, bodies[start : start + SIDE_WAVE])
        # Some give back what others are about to get.
        stage.finish([each for each in stage.bound("c-") if _number(each) % 2])
    stage.until(lambda: len(stage.bound("c-")) == len(bodies))

    nodes = {
        prefix: {str(object_of(each["spec"])["nodeName"]) for each in stage.bound(prefix)}
        for prefix in ("c-ours", "c-kube")
    }
    print(  # noqa: T201 - figures for the document
        f"{len(bodies)} pods of two schedulers after {time.monotonic() - began:.0f} s, "
        f"{stage.books.changes - changes_before} changes of what is held"
    )
    assert stage.books.faults == []
    assert nodes["c-ours"] <= {_node(each) for each in range(MANAGED)}
    assert nodes["c-kube"] <= {_node(each) for each in range(MANAGED, NODES)}
    assert min(map(len, nodes.values())) > 1
    stage.finish(stage.bound("c-"))
    stage.until(lambda: not stage.claims_of("c-"))
    for number in range(MANAGED):
        stage.cluster.api.delete(DEVICE_TAINT_RULES.path(None, f"managed-{_node(number)}"))


def test_kube_scheduler_honours_what_was_reserved_ahead(stage: Stage) -> None:
    claims = stage.create(
        RESOURCE_CLAIMS,
        [
            split_devices.reserved_ahead(f"d-{number:02}", NAMESPACE, "half")
            for number in range(AHEAD)
        ],
    )
    uids = [str(object_of(each["metadata"])["uid"]) for each in claims]
    stage.until(lambda: all(stage.devices(uid) for uid in uids))
    held = {uid: stage.devices(uid) for uid in uids}
    assert not any(map(stage.consumers, uids)), "nobody uses them yet"

    stage.create(
        PODS,
        [
            split_devices.pod_with_claim(f"d-{number:02}", NAMESPACE, f"d-{number:02}")
            for number in range(AHEAD)
        ],
    )
    stage.until(lambda: len(stage.bound("d-")) == AHEAD)
    for pod in stage.bound("d-"):
        (claim,) = stage.claims_of(_name(pod))
        uid = str(object_of(claim["metadata"])["uid"])
        assert object_of(pod["spec"])["nodeName"] == held[uid][0][0], "where its device is"
        assert stage.devices(uid) == held[uid]
        assert stage.consumers(uid) == [_name(pod)]

    # kube-controller-manager frees them, and the console reserves again as long as it is asked to.
    freed: set[str] = set()
    stage.watching.listeners[RESOURCE_CLAIMS.plural].append(
        lambda _, claim: (
            freed.add(str(object_of(claim["metadata"])["uid"]))
            if not split_devices.devices_of(claim)
            else None
        )
    )
    stage.finish(stage.bound("d-"))
    stage.until(lambda: freed.issuperset(uids))
    # As long as pods that have ended name it, kube-controller-manager would take a claim back.
    for pod in stage.bound("d-"):
        stage.cluster.api.delete(PODS.path(NAMESPACE, _name(pod)))
    stage.until(lambda: all(stage.devices(uid) and not stage.consumers(uid) for uid in uids))
    assert stage.books.faults == []
    for claim in claims:
        stage.cluster.api.delete(RESOURCE_CLAIMS.path(NAMESPACE, _name(claim)))


def _node(number: int) -> str:
    return f"gpu-{number:02}"


def _number(pod: JsonObject) -> int:
    return int(_name(pod).rsplit("-", 1)[1])


def _masked(described: str) -> str:
    """Take out of kubectl's text what is another one each time."""
    for pattern, mask in MASKS:
        described = re.sub(pattern, mask, described)
    return described


def _claim_name(pod: JsonObject) -> str:
    (status,) = objects_of(object_of(pod["status"])["resourceClaimStatuses"])
    return str(status["resourceClaimName"])


def _name(one: JsonObject) -> str:
    return str(object_of(one["metadata"])["name"])
