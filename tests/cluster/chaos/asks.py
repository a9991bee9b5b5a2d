"""What is asked of both API servers, by theme; each theme uses names of its own."""

from collections.abc import Mapping, Sequence
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_result,
    a_slice,
    a_taint_rule,
    a_template,
    an_allocation,
    unborn,
)
from tests.cluster.chaos.alike import Ask

V1: Final = "/api/v1"
DRA: Final = "/apis/resource.k8s.io/v1"
MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
SPACE: Final = "alike"
CLAIMS: Final = f"{DRA}/namespaces/{SPACE}/resourceclaims"
PODS: Final = f"{V1}/namespaces/{SPACE}/pods"


def claim(name: str, **metadata: Json) -> JsonObject:
    body = unborn(a_claim(name, namespace=SPACE))
    own = body["metadata"]
    assert isinstance(own, dict)
    own.update(metadata)
    return body


def label(value: str | None) -> JsonObject:
    return {"metadata": {"labels": {"team": value}}}


def born(name: str, path: str, body: JsonObject, **query: str) -> Ask:
    return Ask(name, "POST", path, unborn(body), query=query)


def watch(name: str, path: str, since: str, **query: str) -> Ask:
    return Ask(
        name,
        "GET",
        path,
        query={"resourceVersion": since, "timeoutSeconds": "2", **query},
        is_watch=True,
    )


def quota(name: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"hard": {"count/pods": "10", "requests.cpu": "1e3"}},
    }


def the_life_of_each_kind() -> list[Ask]:
    subjects: Mapping[str, JsonObject] = {
        f"{V1}/namespaces": {"metadata": {"name": "alike-life"}},
        f"{V1}/nodes": a_node("alike-life"),
        f"{DRA}/deviceclasses": a_class("alike-life"),
        f"{DRA}/resourceslices": a_slice("alike-life", devices=[a_device()]),
        f"{DRA}/devicetaintrules": a_taint_rule("alike-life", driver="gpu.nvidia.com"),
        f"{DRA}/namespaces/{SPACE}/resourceclaimtemplates": a_template(
            "alike-life", namespace=SPACE
        ),
        CLAIMS: claim("alike-life"),
        PODS: a_pod("alike-life", namespace=SPACE, template="alike-life"),
        f"{V1}/namespaces/{SPACE}/resourcequotas": quota("alike-life"),
    }
    asks = []
    for path, subject in subjects.items():
        plural, one = path.rpartition("/")[2], f"{path}/alike-life"
        asks += [
            born(f"{plural}: tried", path, subject, dryRun="All"),
            born(f"{plural}: created", path, subject),
            born(f"{plural}: created again", path, subject),
            Ask(f"{plural}: read", "GET", one),
            Ask(f"{plural}: labelled", "PATCH", one, label("a"), MERGE),
            Ask(f"{plural}: labelled the same", "PATCH", one, label("a"), MERGE),
            Ask(
                f"{plural}: of an old version",
                "PATCH",
                one,
                {
                    "metadata": {
                        "resourceVersion": f"{{version:{plural}: read}}",
                        "labels": {"x": "y"},
                    }
                },
                MERGE,
            ),
            Ask(
                f"{plural}: another UID",
                "PATCH",
                one,
                {"metadata": {"uid": "8f9a7c1e-0000-4000-8000-000000000000"}},
                MERGE,
            ),
            Ask(f"{plural}: label off", "PATCH", one, label(None), STRATEGIC),
            Ask(
                f"{plural}: finalizer",
                "PATCH",
                one,
                {"metadata": {"finalizers": ["example.com/hold"]}},
                MERGE,
            ),
            Ask(
                f"{plural}: deleted as another",
                "DELETE",
                one,
                {"preconditions": {"uid": "8f9a7c1e-0000-4000-8000-000000000000"}},
            ),
            Ask(f"{plural}: deleted", "DELETE", one, {"gracePeriodSeconds": 0}),
            Ask(f"{plural}: deleted again", "DELETE", one, {"gracePeriodSeconds": 0}),
            Ask(
                f"{plural}: held by one more",
                "PATCH",
                one,
                {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}},
                MERGE,
            ),
            Ask(f"{plural}: let go", "PATCH", one, {"metadata": {"finalizers": None}}, MERGE),
            Ask(f"{plural}: read when gone", "GET", one),
            Ask(f"{plural}: changed when gone", "PATCH", one, label("b"), MERGE),
            Ask(f"{plural}: deleted when gone", "DELETE", one),
            watch(f"{plural}: all that happened", path, f"{{version:{plural}: created}}"),
        ]
    return asks


def lists() -> list[Ask]:
    path = f"{DRA}/namespaces/{SPACE}/resourceclaims"
    asks = [
        born(f"list {number}", path, claim(f"list-{number}", labels={"odd": str(number % 2)}))
        for number in range(5)
    ]
    page = {"limit": "2", "labelSelector": "odd"}
    return [
        *asks,
        Ask("all", "GET", path, query={"labelSelector": "odd"}),
        Ask("first page", "GET", path, query=page),
        Ask("second page", "GET", path, query=page | {"continue": "{continue:first page}"}),
        Ask("last page", "GET", path, query=page | {"continue": "{continue:second page}"}),
        Ask("a bad token", "GET", path, query=page | {"continue": "bad"}),
        Ask("from memory", "GET", path, query={"labelSelector": "odd", "resourceVersion": "0"}),
        Ask(
            "not older",
            "GET",
            path,
            query={
                "labelSelector": "odd",
                "resourceVersion": "{version:list 2}",
                "resourceVersionMatch": "NotOlderThan",
            },
        ),
        Ask(
            "exactly then",
            "GET",
            path,
            query={
                "labelSelector": "odd",
                "resourceVersion": "{version:list 2}",
                "resourceVersionMatch": "Exact",
            },
        ),
        Ask("match without version", "GET", path, query={"resourceVersionMatch": "Exact"}),
        Ask("in the future", "GET", path, query={"limit": "1", "resourceVersion": "99999999"}),
        Ask("no version", "GET", path, query={"resourceVersion": "abc"}),
        Ask("one of them", "GET", path, query={"fieldSelector": "metadata.name=list-1"}),
        Ask("a field that is none", "GET", path, query={"fieldSelector": "spec.x=1"}),
        Ask("a selector that is none", "GET", path, query={"labelSelector": "a b"}),
        Ask("no number", "GET", path, query={"limit": "x"}),
        Ask("even ones gone", "DELETE", path, query={"labelSelector": "odd=0"}),
        Ask("the others", "GET", path, query={"labelSelector": "odd"}),
    ]


def watches() -> list[Ask]:
    odd = {"labelSelector": "odd=1"}
    return [
        born("begin", CLAIMS, claim("watch-1", labels={"odd": "1"})),
        born("unseen", CLAIMS, claim("watch-2", labels={"odd": "0"})),
        Ask(
            "comes in", "PATCH", f"{CLAIMS}/watch-2", {"metadata": {"labels": {"odd": "1"}}}, MERGE
        ),
        Ask(
            "goes out", "PATCH", f"{CLAIMS}/watch-1", {"metadata": {"labels": {"odd": "0"}}}, MERGE
        ),
        Ask("is deleted", "DELETE", f"{CLAIMS}/watch-2"),
        born("born again", CLAIMS, claim("watch-2", labels={"odd": "1"})),
        watch("by label", CLAIMS, "{version:begin}", **odd),
        watch("in all namespaces", f"{DRA}/resourceclaims", "{version:begin}", **odd),
        watch("from now", CLAIMS, "{version:born again}"),
        watch("from memory", CLAIMS, "0", **odd),
        watch("from anywhere", CLAIMS, "", **odd),
        watch("no version", CLAIMS, "abc"),
        watch("of one", CLAIMS, "{version:begin}", fieldSelector="metadata.name=watch-1"),
        watch("initial events", CLAIMS, "", sendInitialEvents="true", **odd),
    ]


def mistakes() -> list[Ask]:
    path = CLAIMS
    return [
        Ask("no such path", "GET", "/apis/resource.k8s.io/v9/resourceclaims"),
        Ask("no such kind", "GET", f"{DRA}/frobs"),
        Ask("no such object", "GET", f"{path}/nobody"),
        Ask(
            "no such namespace",
            "POST",
            f"{DRA}/namespaces/nowhere/resourceclaims",
            {**claim("x"), "metadata": {"name": "x"}},
        ),
        Ask("no such namespace, listed", "GET", f"{DRA}/namespaces/nowhere/resourceclaims"),
        Ask(
            "another version", "POST", path, {**claim("x"), "apiVersion": "resource.k8s.io/v1beta1"}
        ),
        Ask("another kind", "POST", path, {**claim("x"), "kind": "Pod"}),
        Ask(
            "another namespace",
            "POST",
            path,
            {**claim("x"), "metadata": {"name": "x", "namespace": "default"}},
        ),
        Ask("no name", "POST", path, {**claim("x"), "metadata": {}}),
        Ask("a bad name", "POST", path, claim("Not A Name")),
        Ask("a version at birth", "POST", path, claim("x", resourceVersion="7")),
        Ask("a bad label", "POST", path, claim("x", labels={"a b": "c"})),
        Ask(
            "an owner without UID",
            "POST",
            path,
            claim("x", ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p"}]),
        ),
        Ask("a bad finalizer", "POST", path, claim("x", finalizers=["nodomain"])),
        Ask("another name", "PUT", f"{path}/x", claim("y")),
        Ask("no object", "POST", path, []),
        Ask("wrong type", "POST", path, {**claim("x"), "spec": {"devices": 7}}),
        Ask("strict", "POST", path, {**claim("x"), "frob": 1}, query={"fieldValidation": "Strict"}),
        born("to be changed", path, claim("changed")),
        Ask("unknown dropped", "POST", path, {**claim("odd-field"), "frob": 1}),
        Ask("not a media type", "POST", path, claim("x"), "text/plain"),
        Ask("not a patch", "PATCH", f"{path}/changed", {}, "application/json"),
        Ask(
            "a bad patch",
            "PATCH",
            f"{path}/changed",
            [{"op": "remove", "path": "/nope"}],
            JSON_PATCH,
        ),
        Ask(
            "a good patch",
            "PATCH",
            f"{path}/changed",
            [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}],
            JSON_PATCH,
        ),
        Ask("not allowed", "PUT", path, claim("x")),
        Ask("dry run of nothing", "POST", path, claim("x"), query={"dryRun": "Some"}),
        Ask(
            "unknown class",
            "POST",
            path,
            {**claim("x"), "spec": {"devices": {"requests": [{"name": "r", "exactly": {}}]}}},
        ),
        Ask("a generated name", "POST", path, {**claim("x"), "metadata": {"generateName": "Bad_"}}),
        Ask(
            "deleted in the future",
            "DELETE",
            f"{path}/changed",
            {"preconditions": {"resourceVersion": "1"}},
        ),
        Ask("an odd propagation", "DELETE", f"{path}/changed", {"propagationPolicy": "Sideways"}),
    ]


def namespaces() -> list[Ask]:
    one = f"{V1}/namespaces/alike-end"
    inside = f"{DRA}/namespaces/alike-end/resourceclaims"
    body = unborn(a_claim("late", namespace="alike-end"))
    return [
        born("made", f"{V1}/namespaces", {"metadata": {"name": "alike-end"}}),
        born("filled", inside, a_claim("early", namespace="alike-end")),
        Ask("ended", "DELETE", one),
        Ask("read while ending", "GET", one),
        Ask("ended again", "DELETE", one),
        Ask("too late", "POST", inside, body),
        Ask("a change is not too late", "PATCH", f"{inside}/early", label("a"), MERGE),
        Ask("emptied", "DELETE", f"{inside}/early"),
        Ask(
            "finalized",
            "PUT",
            f"{one}/finalize",
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "alike-end"},
                "spec": {"finalizers": []},
            },
        ),
        Ask("gone", "GET", one),
        Ask(
            "its label cannot go",
            "PATCH",
            f"{V1}/namespaces/{SPACE}",
            {"metadata": {"labels": {"kubernetes.io/metadata.name": "other"}}},
            MERGE,
        ),
    ]


def claims() -> list[Ask]:
    one = f"{CLAIMS}/alike-claim"
    results = [a_result("gpu-0", tolerations=[]), a_result("gpu-1")]
    allocated: JsonObject = {"status": {"allocation": an_allocation(*results)}}
    pod: JsonObject = {"resource": "pods", "name": "p", "uid": "u-1"}
    device: JsonObject = {"driver": "gpu.nvidia.com", "pool": "gpu-01", "device": "gpu-0"}
    return [
        born(
            "created",
            CLAIMS,
            claim("alike-claim", finalizers=["resource.kubernetes.io/delete-protection"]),
        ),
        Ask("another spec", "PATCH", one, {"spec": {"devices": {"requests": []}}}, MERGE),
        Ask("status by the main path", "PATCH", one, allocated, MERGE),
        Ask(
            "reserved before it is allocated",
            "PATCH",
            f"{one}/status",
            {"status": {"reservedFor": [pod]}},
            MERGE,
        ),
        Ask("allocated", "PATCH", f"{one}/status", allocated, MERGE),
        Ask("reserved", "PATCH", f"{one}/status", {"status": {"reservedFor": [pod]}}, MERGE),
        Ask(
            "reserved twice",
            "PATCH",
            f"{one}/status",
            {"status": {"reservedFor": [pod, pod]}},
            MERGE,
        ),
        Ask(
            "another allocation",
            "PATCH",
            f"{one}/status",
            {"status": {"allocation": an_allocation(a_result("gpu-7"))}},
            MERGE,
        ),
        Ask(
            "deallocated while reserved",
            "PATCH",
            f"{one}/status",
            {"status": {"allocation": None}},
            MERGE,
        ),
        Ask("device status", "PATCH", f"{one}/status", {"status": {"devices": [device]}}, MERGE),
        Ask(
            "status of a device not held",
            "PATCH",
            f"{one}/status",
            {"status": {"devices": [{**device, "device": "gpu-9"}]}},
            MERGE,
        ),
        Ask("labels by the status path", "PATCH", f"{one}/status", label("status"), MERGE),
        Ask(
            "released",
            "PATCH",
            f"{one}/status",
            {"status": {"reservedFor": None, "allocation": None}},
            MERGE,
        ),
        Ask("deleted", "DELETE", one),
        Ask("allocated while it is deleted", "PATCH", f"{one}/status", allocated, MERGE),
        Ask("let go", "PATCH", one, {"metadata": {"finalizers": None}}, MERGE),
        watch("its life", CLAIMS, "{version:created}", fieldSelector="metadata.name=alike-claim"),
    ]


def slices() -> list[Ask]:
    path = f"{DRA}/resourceslices"
    one = f"{path}/alike-slice"
    return [
        born(
            "published", path, a_slice("alike-slice", node="n-1", devices=[a_device(memory="1e3")])
        ),
        Ask("another driver", "PATCH", one, {"spec": {"driver": "other.example.com"}}, MERGE),
        Ask("another pool", "PATCH", one, {"spec": {"pool": {"name": "other"}}}, MERGE),
        Ask("another node", "PATCH", one, {"spec": {"nodeName": "n-2"}}, MERGE),
        Ask("a new generation", "PATCH", one, {"spec": {"pool": {"generation": 2}}}, MERGE),
        Ask(
            "a device twice",
            "PATCH",
            one,
            {"spec": {"devices": [a_device("a"), a_device("a")]}},
            MERGE,
        ),
        Ask(
            "a bad amount",
            "PATCH",
            one,
            {"spec": {"devices": [a_device("a", memory="many")]}},
            MERGE,
        ),
        Ask(
            "a bare amount",
            "PATCH",
            one,
            {"spec": {"devices": [{"name": "a", "capacity": {"memory": {"value": 5}}}]}},
            MERGE,
        ),
        Ask(
            "by driver",
            "GET",
            path,
            query={"fieldSelector": "spec.driver=gpu.nvidia.com,spec.nodeName=n-1"},
        ),
        Ask("withdrawn", "DELETE", one),
        watch("its life", path, "{version:published}", fieldSelector="spec.nodeName=n-1"),
    ]


def pods() -> list[Ask]:
    one = f"{PODS}/alike-pod"
    binding: JsonObject = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "alike-pod"},
        "target": {"kind": "Node", "name": "n-1"},
    }
    statuses: JsonObject = {
        "status": {
            "phase": "Running",
            "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}],
        }
    }
    return [
        born("created", PODS, a_pod("alike-pod", namespace=SPACE, claim="c")),
        Ask(
            "another claim",
            "PATCH",
            one,
            {"spec": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "d"}]}},
            MERGE,
        ),
        Ask("bound", "POST", f"{one}/binding", binding),
        Ask("read", "GET", one),
        Ask("bound again", "POST", f"{one}/binding", binding),
        Ask("running", "PATCH", f"{one}/status", statuses, MERGE),
        Ask("by node", "GET", PODS, query={"fieldSelector": "spec.nodeName=n-1"}),
        Ask("asked to go", "DELETE", one, {"gracePeriodSeconds": 20}),
        Ask("asked again", "DELETE", one, {"gracePeriodSeconds": 10}),
        Ask("read while it goes", "GET", one),
        Ask("gone at once", "DELETE", one, {"gracePeriodSeconds": 0}),
        Ask("read when gone", "GET", one),
        watch("its life", PODS, "{version:created}", fieldSelector="metadata.name=alike-pod"),
    ]


THEMES: Final[Mapping[str, Sequence[Ask]]] = {
    "the life of each kind": the_life_of_each_kind(),
    "lists": lists(),
    "watches": watches(),
    "mistakes": mistakes(),
    "namespaces": namespaces(),
    "claims": claims(),
    "slices": slices(),
    "pods": pods(),
}
