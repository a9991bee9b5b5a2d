"""The client's contract with API servers, whichever versions of resource.k8s.io they serve.

Each kind lives a whole life through `Client` on a real server with v1, on one with v1beta2
and v1beta1, on one with v1beta1 alone, and on devcluster, which serves v1 only: older shapes
there would show how our own translation reads itself. The tests are the same, and so are
the objects that come back.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from dra_console.allocator.decoding.versions import as_v1
from dra_console.allocator.model import Json, JsonObject
from dra_console.kube import changed, served, transport
from dra_console.kube.client import Client
from dra_console.kube.errors import ConflictError, ExpiredError, InvalidError, NotFoundError
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NAMESPACES,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from dra_console.kube.listwatch import WatchEvent, watch
from tests.builders.objects import (
    a_claim_spec,
    a_class,
    a_device,
    a_prioritized_request,
    a_request,
    a_result,
    a_selector,
    a_slice,
    a_taint,
    a_taint_rule,
    a_wish,
    an_allocation,
    an_object,
    unborn,
)
from tests.cluster.conftest import StartCluster
from tests.cluster.rig import Cluster, running_cluster
from tests.integration.devclusters import running_devcluster
from tests.unit.allocator.test_conversion import RECORDS, part

NAMESPACE = "team-research"
DEVCLUSTER = "devcluster"
SERIES = {
    "v1": ("v1",),
    "v1beta2 and v1beta1": ("v1beta2", "v1beta1", "v1alpha3"),
    "v1beta1": ("v1beta1",),
    DEVCLUSTER: (),
}
ALL_VERSIONS = ("v1", "v1beta2", "v1beta1")
EVENT_SECONDS = 15

CLAIM_SPEC = a_claim_spec(
    [
        a_request(
            "gpu",
            selectors=['device.attributes["gpu.nvidia.com"].model == "H200"'],
            count=2,
            tolerations=[{"key": "gpu.nvidia.com/xid", "operator": "Exists"}],
        ),
        a_request("all", allocationMode="All"),
        a_prioritized_request("any", big=a_wish(count=2), small=a_wish()),
    ],
    constraints=[{"requests": ["gpu"], "matchAttribute": "gpu.nvidia.com/model"}],
    config=[{"opaque": {"driver": "gpu.nvidia.com", "parameters": {"sharing": {"ü": None}}}}],
)
DEVICES: list[JsonObject] = [
    a_device("gpu-0", attributes={"model": "H200", "index": 0, "ready": True}),
    a_device("gpu-1", attributes={"index": 1}, taints=[a_taint()]),
    {"name": "bare"},
]


@dataclass(frozen=True, slots=True)
class Life:
    """An object of a kind, and what changes in it."""

    kind: Kind
    born: JsonObject
    replaced: JsonObject = field(default_factory=dict)
    """Members of `spec` that a later version of the object has instead."""

    patched: JsonObject = field(default_factory=dict)
    """Members of `spec` that a merge patch sets after that."""

    @property
    def name(self) -> str:
        metadata = self.born["metadata"]
        assert isinstance(metadata, dict)
        return str(metadata["name"])

    @property
    def namespace(self) -> str | None:
        return NAMESPACE if self.kind.namespaced else None


def lives() -> list[Life]:
    template: JsonObject = {"metadata": {"labels": {"team": "vision"}}, "spec": CLAIM_SPEC}
    rule = a_taint_rule("drain", driver="gpu.nvidia.com", pool="gpu-01")
    return [
        Life(RESOURCE_CLAIMS, namespaced("ResourceClaim", CLAIM_SPEC)),
        Life(RESOURCE_CLAIM_TEMPLATES, namespaced("ResourceClaimTemplate", template)),
        Life(
            RESOURCE_SLICES,
            a_slice("gpu-01-slice", devices=DEVICES),
            replaced={
                "pool": {"name": "gpu-01", "generation": 2, "resourceSliceCount": 1},
                "devices": [
                    *DEVICES[1:],
                    a_device("gpu-9", attributes={"index": 9}, memory="141Gi"),
                ],
            },
            patched={"devices": [{"name": "gpu-7"}]},
        ),
        Life(
            DEVICE_CLASSES,
            a_class("h200.example.com"),
            replaced={"selectors": [a_selector("true")]},
            patched={"selectors": [a_selector("false")]},
        ),
        Life(DEVICE_TAINT_RULES, rule),
    ]


def namespaced(kind: str, spec: JsonObject) -> JsonObject:
    return an_object(kind, "train", namespace=NAMESPACE, spec=spec)


@dataclass(frozen=True, slots=True)
class Series:
    """A server and the versions that it serves."""

    client: Client
    versions: tuple[str, ...]

    def is_served(self, kind: Kind) -> bool:
        return kind is not DEVICE_TAINT_RULES or bool({*self.versions} - {"v1beta1"})


@pytest.fixture(scope="module", params=SERIES)
def series(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Series]:
    versions = SERIES[request.param]
    with contextlib.ExitStack() as running:
        if request.param == DEVCLUSTER:
            directory = tmp_path_factory.mktemp("devcluster")
            kubeconfig = running.enter_context(running_devcluster(directory)).kubeconfig
            versions = ("v1",)
        else:
            request.getfixturevalue("cluster_programs")
            cluster = running.enter_context(running_cluster(resource_versions=versions))
            kubeconfig = cluster.kubeconfig
        client = Client.from_kubeconfig(str(kubeconfig))
        client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        yield Series(client, versions)


@pytest.mark.parametrize("life", lives(), ids=lambda life: life.kind.plural)
def test_an_object_lives_its_life(series: Series, life: Life) -> None:
    client, kind, name, namespace = series.client, life.kind, life.name, life.namespace
    if not series.is_served(kind):
        with pytest.raises(NotFoundError, match=rf"in v1beta1, without {kind.plural}"):
            client.list(kind)
        return
    version = client.list(kind).resource_version

    tried = client.create(kind, unborn(life.born), namespace=namespace, dry_run=True)
    created = client.create(kind, unborn(life.born), namespace=namespace)
    replaced = client.replace(kind, with_spec(created, life.replaced))
    patch: JsonObject = {"metadata": {"labels": {"seen": "yes"}}}
    if life.patched:
        patch["spec"] = life.patched
    patched = client.merge_patch(kind, name, patch, namespace=namespace)
    with pytest.raises(ConflictError):
        client.replace(kind, with_spec(created, life.replaced))
    client.delete(kind, name, namespace=namespace, uid=uid_of(created))

    with pytest.raises(NotFoundError):
        client.get(kind, name, namespace=namespace)
    assert spec_of(tried) == spec_of(created) == spec_of(life.born)
    assert (created["apiVersion"], created["kind"]) == ("resource.k8s.io/v1", kind.kind)
    assert spec_of(replaced) == spec_of(life.born) | life.replaced
    assert spec_of(patched) == spec_of(replaced) | life.patched
    events = events_until("DELETED", client, kind, version)
    assert [event.type for event in events] == [
        "ADDED",
        *["MODIFIED"] * (len(events) - 2),
        "DELETED",
    ]
    assert events[0].object == created
    assert patched in [event.object for event in events]
    assert spec_of(events[-1].object) == spec_of(patched)


def test_status_is_written_by_itself(series: Series) -> None:
    client = series.client
    claim = client.create(
        RESOURCE_CLAIMS,
        unborn(an_object("ResourceClaim", "held", namespace=NAMESPACE, spec=a_claim_spec())),
        namespace=NAMESPACE,
    )
    allocation = an_allocation(a_result())

    written = client.replace(
        RESOURCE_CLAIMS, claim | {"status": {"allocation": allocation}}, subresource="status"
    )
    # A pod that is not there would be cleaned up by devcluster's controllers.
    consumers: list[Json] = [
        {"apiGroup": "example.com", "resource": "jobs", "name": "j", "uid": "1"}
    ]
    patched = client.merge_patch(
        RESOURCE_CLAIMS,
        "held",
        {"status": {"reservedFor": consumers}},
        namespace=NAMESPACE,
        subresource="status",
    )

    status = written["status"]
    assert isinstance(status, dict)
    stored = status["allocation"]
    assert isinstance(stored, dict)
    assert {key: stored[key] for key in allocation} == allocation
    assert patched["status"] == status | {"reservedFor": consumers}
    assert spec_of(patched) == spec_of(claim)
    assert client.list(RESOURCE_CLAIMS, namespace=NAMESPACE).items == [patched]


@pytest.mark.parametrize(
    ("kind", "obj", "field"),
    [
        (
            RESOURCE_CLAIMS,
            namespaced("ResourceClaim", a_claim_spec([a_request("gpu", howMany=2)])),
            "spec.devices.requests[0].exactly.howMany",
        ),
        (
            RESOURCE_CLAIM_TEMPLATES,
            namespaced(
                "ResourceClaimTemplate", {"spec": a_claim_spec([a_request("gpu", count=-1)])}
            ),
            "spec.spec.devices.requests[0].exactly.count",
        ),
        (
            RESOURCE_SLICES,
            a_slice("odd", devices=[a_device("gpu-0", attributes={"no identifier": 1})]),
            "spec.devices[0].attributes",
        ),
        (
            RESOURCE_SLICES,
            a_slice("odd", devices=[a_device("gpu-0", colour="green")]),
            "spec.devices[0].colour",
        ),
    ],
)
def test_refused_fields_are_named_as_v1_has_them(
    series: Series, kind: Kind, obj: JsonObject, field: str
) -> None:
    namespace = NAMESPACE if kind.namespaced else None

    with pytest.raises(InvalidError) as refused:
        series.client.create(kind, unborn(obj), namespace=namespace)

    assert field in [cause.field for cause in refused.value.causes]


def test_what_we_write_is_stored_alike_whichever_version_carries_it(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorded objects of v1beta1, lifted by us, through the three versions of one server."""
    client = Client.from_kubeconfig(str(cluster.kubeconfig))
    kinds = {
        kind.kind: kind for kind in (RESOURCE_CLAIMS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_SLICES)
    }
    unlike = []
    for record in RECORDS:
        written = as_v1(part(record, "v1beta1")) | {"metadata": {"name": "tried"}}
        stored = []
        for version in ALL_VERSIONS:
            speak_only(version, client, monkeypatch)
            stored.append(spec_or_refusal(client, kinds[str(written["kind"])], written))
        if stored[1:] != stored[:-1]:
            unlike.append((record["id"], stored))

    assert unlike == []


def spec_or_refusal(client: Client, kind: Kind, written: JsonObject) -> JsonObject | list[str]:
    namespace = "default" if kind.namespaced else None
    try:
        return spec_of(client.create(kind, written, namespace=namespace, dry_run=True))
    except InvalidError as refused:
        # A template's admin access is refused at a place of its own, without `exactly`.
        return [cause.field.replace(".exactly", "") for cause in refused.causes]


def test_cursors_and_list_positions_mean_the_same_in_every_version(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client.from_kubeconfig(str(cluster.kubeconfig))
    monkeypatch.setattr(changed, "PAGE_SIZE", 2)
    slices = [
        client.create(RESOURCE_SLICES, unborn(a_slice(f"s{number}", pool=f"p{number}")))
        for number in range(5)
    ]
    rest = client.changed_pages(RESOURCE_SLICES, is_known=lambda _: False)
    pages = []
    for version in ALL_VERSIONS:
        speak_only(version, client, monkeypatch)
        pages.append(next(rest))
    assert [item for page in pages for item in page.items] == slices
    assert next(rest, None) is None

    client.delete(RESOURCE_SLICES, "s0")
    cursor = pages[-1].resource_version
    for version in ALL_VERSIONS:
        speak_only(version, client, monkeypatch)
        [deleted] = events_until("DELETED", client, RESOURCE_SLICES, cursor)
        assert spec_of(deleted.object) == spec_of(slices[0])


def test_a_cursor_from_the_servers_future_is_expired_and_not_silent(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client.from_kubeconfig(str(cluster.kubeconfig))
    monkeypatch.setattr(transport, "ATTEMPTS", 1)
    now = client.list(RESOURCE_CLAIMS).resource_version

    with pytest.raises(ExpiredError, match="Too large resource version"):
        events_until("ADDED", client, RESOURCE_CLAIMS, str(int(now) + 1_000_000))


def test_a_client_follows_a_server_down_and_up(
    start_cluster: StartCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = start_cluster(resource_versions=("v1", "v1beta1"))
    client = Client.from_kubeconfig(str(cluster.kubeconfig))
    created = client.create(RESOURCE_SLICES, unborn(a_slice("old", devices=DEVICES)))
    spoken = [client.session.versions.of(RESOURCE_SLICES).version]

    cluster.apiserver.reconfigure(resource_versions=("v1beta1",))
    listed = client.list(RESOURCE_SLICES)
    later = client.create(RESOURCE_SLICES, unborn(a_slice("later", pool="other", node="gpu-02")))
    spoken.append(client.session.versions.of(RESOURCE_SLICES).version)
    [added] = events_until("ADDED", client, RESOURCE_SLICES, listed.resource_version)
    cluster.apiserver.reconfigure(resource_versions=("v1", "v1beta2"))
    monkeypatch.setattr(served, "FRESH_SECONDS", 0.0)
    listed_after = client.list(RESOURCE_SLICES)
    spoken.append(client.session.versions.of(RESOURCE_SLICES).version)

    assert spoken == ["v1", "v1beta1", "v1"]
    assert listed.items == [created]
    assert added.object == later
    assert listed_after.items == [later, created]


def speak_only(version: str, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client know no other version, and look anew."""
    monkeypatch.setattr(served, "_candidates", lambda _: (version,))
    assert client.session.versions.of(RESOURCE_SLICES).version == version


def events_until(last: str, client: Client, kind: Kind, version: str) -> list[WatchEvent]:
    """Return the events from a version on, up to the first of type `last`."""
    events: list[WatchEvent] = []
    for event in watch(client, kind, resource_version=version, window_seconds=EVENT_SECONDS):
        if event.type != "BOOKMARK":
            events.append(event)
        if event.type == last:
            break
    return events


def with_spec(obj: JsonObject, members: JsonObject) -> JsonObject:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    annotated: JsonObject = {**metadata, "annotations": {"changed": "yes"}}
    return obj | {"metadata": annotated, "spec": spec_of(obj) | members}


def spec_of(obj: JsonObject) -> JsonObject:
    spec = obj["spec"]
    assert isinstance(spec, dict)
    return spec


def uid_of(obj: JsonObject) -> str:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata["uid"])
