"""What the other tests of this folder stand on: the rig itself."""

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import StartCluster, pytest_runtest_makereport
from tests.cluster.rig import Api, ApiError, Cluster, StartError, User, running_cluster
from tests.cluster.rig.guard import MARK
from tests.cluster.tools.recipes import KUBERNETES_VERSION

CLAIMS = "/apis/resource.k8s.io/{version}/namespaces/default/resourceclaims"
GONE_SECONDS = 30
BOB = User(name="bob", token="bobs-token", groups=("team-b",))


@pytest.fixture(scope="module")
def cluster_options() -> dict[str, Any]:
    return {"users": (BOB,)}


def processes_of(folder: Path) -> list[int]:
    """Return the processes that carry the rig's mark."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if f"{MARK}={folder}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def served_versions(cluster: Cluster) -> list[str]:
    return [each["version"] for each in cluster.api.get("/apis/resource.k8s.io")["versions"]]


def watch(cluster: Cluster, path: str) -> tuple[int, str]:
    """Start a watch and return its status and first line."""
    try:
        answer = cluster.api.request("GET", path)
    except ApiError as refused:
        return refused.status, str(refused)
    return http.client.OK, str(answer)


def test_the_server_is_verified_and_says_its_stamped_version(cluster: Cluster) -> None:
    assert cluster.api.get("/version")["gitVersion"] == KUBERNETES_VERSION
    assert "insecure" not in cluster.kubeconfig.read_text()


def test_a_service_account_may_do_what_its_rules_say_and_no_more(cluster: Cluster) -> None:
    rule = {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["list"]}
    account = cluster.service_account("reader", rule)

    assert account.api.get(CLAIMS.format(version="v1"))["items"] == []
    with pytest.raises(ApiError, match="reader") as refused:
        account.api.get("/api/v1/nodes")
    assert refused.value.status == http.client.FORBIDDEN


def test_a_person_with_a_token_is_known_from_the_start(cluster: Cluster) -> None:
    bob = Api(cluster.url, authority=cluster.authority, token=BOB.token)
    told = bob.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})["status"]["userInfo"]
    assert (told["username"], told["groups"][0]) == ("bob", "team-b")


def test_feature_gates_and_admission_are_as_asked(start_cluster: StartCluster) -> None:
    cluster = start_cluster(
        feature_gates={"DRAPartitionableDevices": False}, admission_on=("AlwaysPullImages",)
    )
    counters = [{"name": "memory", "counters": {"bytes": {"value": "80Gi"}}}]
    pool = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example", "nodeName": "n", "pool": pool, "sharedCounters": counters}
    container = {"name": "main", "image": "none", "imagePullPolicy": "Never"}
    slices = "/apis/resource.k8s.io/v1/resourceslices"

    stored = cluster.api.create(slices, {"metadata": {"name": "slice"}, "spec": spec})
    pod = cluster.api.create(
        "/api/v1/namespaces/default/pods",
        {"metadata": {"name": "pod"}, "spec": {"containers": [container]}},
    )

    assert "sharedCounters" not in stored["spec"], "a field whose gate is off is dropped"
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == "Always"


def test_a_person_is_known_by_certificate_with_groups(cluster: Cluster) -> None:
    _, alice = cluster.user("alice", groups=("team-a",))
    review = alice.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    told = review["status"]["userInfo"]
    assert (told["username"], told["groups"][0]) == ("alice", "team-a")

    subject = {"kind": "Group", "name": "team-a"}
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    cluster.grant("pods-of-a", subject, rule, namespace="default")
    assert alice.get("/api/v1/namespaces/default/pods")["items"] == []
    with pytest.raises(ApiError, match="forbidden"):
        alice.get("/api/v1/pods")


def test_kubectl_works_with_the_kubeconfig(cluster: Cluster) -> None:
    from tests.cluster.tools.recipes import locate

    finished = subprocess.run(
        [locate("kubectl"), "--kubeconfig", cluster.kubeconfig, "get", "namespaces", "-o", "name"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "namespace/kube-system" in finished.stdout


def test_versions_that_are_off_are_not_served_and_an_upgrade_brings_them(
    start_cluster: StartCluster,
) -> None:
    cluster = start_cluster(resource_versions=("v1beta1",))
    assert served_versions(cluster) == ["v1beta1"]
    url = cluster.url
    cluster.api.create(CLAIMS.format(version="v1beta1"), {"metadata": {"name": "kept"}, "spec": {}})

    cluster.apiserver.reconfigure(resource_versions=("v1", "v1beta2"))

    assert cluster.url == url
    assert served_versions(cluster) == ["v1", "v1beta2"]
    items = cluster.api.get(CLAIMS.format(version="v1"))["items"]
    assert [each["metadata"]["name"] for each in items] == ["kept"]


def test_a_watch_from_before_a_compaction_gets_410(start_cluster: StartCluster) -> None:
    cluster = start_cluster(watch_cache=False)
    claims = CLAIMS.format(version="v1")
    before = cluster.api.get(claims)["metadata"]["resourceVersion"]
    for name in ("one", "two"):
        cluster.api.create(claims, {"metadata": {"name": name}, "spec": {}})

    cluster.compact()

    path = f"{claims}?watch=true&resourceVersion={before}&timeoutSeconds=1"
    told = watch(cluster, path)
    assert "410" in str(told), told


def test_a_killed_server_comes_back_with_data_and_port(start_cluster: StartCluster) -> None:
    cluster = start_cluster()
    cluster.create_namespace("stays")
    for server in (cluster.apiserver, cluster.etcd):
        server.kill()
        assert not server.is_running
        server.start()
    cluster.apiserver.wait_ready()
    assert cluster.api.get("/api/v1/namespaces/stays")["metadata"]["name"] == "stays"


def test_a_failed_test_tells_what_its_servers_said_last(cluster: Cluster) -> None:
    report = pytest.TestReport("a.py::test_it", ("a.py", 1, "test_it"), {}, "failed", None, "call")
    hook = pytest_runtest_makereport()

    next(hook)
    with pytest.raises(StopIteration):
        hook.send(report)

    told = dict(report.sections)
    assert told["Log of kube-apiserver"].splitlines()[-1] in cluster.apiserver.log.read_text()
    assert Path(told["All logs"], "etcd.log").exists()


def test_an_end_leaves_no_process_and_no_file() -> None:
    with running_cluster() as cluster:
        folder = cluster.home.folder
        assert len(processes_of(folder)) == 2
    assert processes_of(folder) == []
    assert not folder.exists()


def test_a_failing_start_leaves_nothing_but_readable_logs() -> None:
    with (
        pytest.raises(StartError, match="no-such-flag") as failed,
        running_cluster(apiserver_flags=("--no-such-flag",)),
    ):
        pass
    logs = Path(str(failed.value).rpartition("All logs: ")[2])
    assert "no-such-flag" in (logs / "kube-apiserver.log").read_text()
    # The folder of logs has the name of the rig's folder.
    assert not list(Path("/tmp").glob(logs.name))  # noqa: S108 - where temporary folders are


@pytest.fixture
def other_process() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Run a cluster in another process; yields it and the rig's folder."""
    # A shell starts what it runs in the background with Ctrl-C ignored; a terminal does not.
    program = (
        "import signal, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from tests.cluster.rig import running_cluster\n"
        "with running_cluster() as cluster:\n"
        "    print(cluster.home.folder, flush=True)\n"
        "    time.sleep(600)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    yield process, Path(process.stdout.readline().strip())
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.usefixtures("cluster_programs")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_however_its_process_ends_nothing_is_left(
    other_process: tuple[subprocess.Popen[str], Path], number: signal.Signals
) -> None:
    process, folder = other_process
    assert len(processes_of(folder)) == 2

    os.killpg(process.pid, number)
    process.wait(timeout=GONE_SECONDS)

    deadline = time.monotonic() + GONE_SECONDS
    while (processes_of(folder) or folder.exists()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_of(folder) == []
    assert not folder.exists()
