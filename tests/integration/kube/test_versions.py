"""Requests to servers of older versions; what a real one makes of them is in tests/cluster."""

from typing import ClassVar

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.client import User
from dra_console.kube.errors import ConflictError, ExpiredError, InvalidError, NotFoundError
from dra_console.kube.kinds import DEVICE_TAINT_RULES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.kube.listwatch import watch
from tests.builders.objects import a_slice, an_object
from tests.integration.kube.scripted import ALL_PLURALS, Answer, ScriptedServer, a_status

V1 = "resource.k8s.io/v1"
V1BETA1 = "resource.k8s.io/v1beta1"
NO_SUCH_PATH = Answer(a_status(404, "the server could not find the requested resource"), status=404)
NEW: JsonObject = {"name": "a", "exactly": {"deviceClassName": "gpu", "count": 2}}
OLD: JsonObject = {"name": "a", "deviceClassName": "gpu", "count": 2}


def claim_of(*requests: Json, api_version: str = V1, **spec: Json) -> JsonObject:
    spec["devices"] = {"requests": [*requests]}
    return an_object("ResourceClaim", "c", api_version=api_version, namespace="lab", spec=spec)


def a_page(*items: Json, version: str = "7", following: str = "") -> Answer:
    return Answer(
        {"metadata": {"resourceVersion": version, "continue": following}, "items": [*items]}
    )


@pytest.fixture
def old(server: ScriptedServer) -> ScriptedServer:
    server.plurals_by_version = {"v1beta1": ALL_PLURALS}
    return server


def test_objects_come_in_the_shape_of_v1_with_what_is_unknown(old: ScriptedServer) -> None:
    old.will_answer(Answer(claim_of(OLD | {"new": 1}, api_version=V1BETA1, alsoNew=[{}])))

    read = old.client().get(RESOURCE_CLAIMS, "c", namespace="lab")

    assert read == claim_of(NEW | {"new": 1}, alsoNew=[{}])
    assert old.asked[0].path == "/apis/resource.k8s.io/v1beta1/namespaces/lab/resourceclaims/c"


def test_so_do_the_items_of_lists_and_the_objects_of_watches(old: ScriptedServer) -> None:
    bare = {key: claim_of(OLD)[key] for key in ("metadata", "spec")}
    event: Json = {"type": "ADDED", "object": claim_of(OLD, api_version=V1BETA1)}
    bookmark: Json = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}
    old.will_answer(
        a_page(bare),
        Answer(lines=(event, bookmark)),
    )
    client = old.client()

    listed = client.list(RESOURCE_CLAIMS)
    [added, _] = watch(client, RESOURCE_CLAIMS, resource_version="7", window_seconds=5)

    assert listed.items == [claim_of(NEW)]
    assert added.object == claim_of(NEW)


def test_an_object_that_breaks_its_versions_shape_does_not_stop_the_others(
    old: ScriptedServer,
) -> None:
    odd = claim_of(NEW, api_version=V1BETA1)
    old.will_answer(
        Answer(
            {
                "metadata": {"resourceVersion": "7"},
                "items": [odd, claim_of(OLD, api_version=V1BETA1)],
            }
        )
    )

    assert old.client().list(RESOURCE_CLAIMS).items == [odd, claim_of(NEW)]


def test_writes_go_out_in_the_served_shape(old: ScriptedServer) -> None:
    old.will_answer(Answer(claim_of(OLD, api_version=V1BETA1)))
    client = old.client()

    created = client.create(RESOURCE_CLAIMS, claim_of(NEW), namespace="lab", dry_run=True)
    client.replace(RESOURCE_CLAIMS, claim_of(NEW), subresource="status")

    assert created == claim_of(NEW)
    assert [asked.body for asked in old.asked] == [claim_of(OLD, api_version=V1BETA1)] * 2
    assert old.asked[0].query == {"dryRun": "All", "fieldValidation": "Strict"}
    assert old.asked[1].query == {"fieldValidation": "Strict"}


def test_what_the_served_version_cannot_say_is_not_sent(old: ScriptedServer) -> None:
    old.will_answer(Answer({}))
    future: JsonObject = {"name": "a", "exactly": {"count": 1, "newField": {}}}

    with pytest.raises(InvalidError, match=r"newField.* cannot be written in .*v1beta1") as refused:
        old.client().create(RESOURCE_CLAIMS, claim_of(future), namespace="lab")

    [cause] = refused.value.causes
    assert cause.field == "spec.devices.requests[0].exactly.newField"
    assert old.asked == []


def test_refusals_name_fields_where_v1_has_them(old: ScriptedServer) -> None:
    spoken = ("spec.devices[3].basic.attributes", "spec.devices.requests[0].count")
    causes: list[Json] = [{"field": each, "reason": "x", "message": "bad"} for each in spoken]
    old.will_answer(Answer(a_status(422, f"{spoken[1]}: bad", causes=causes), status=422))

    with pytest.raises(InvalidError) as refused:
        old.client().create(RESOURCE_CLAIMS, claim_of(NEW), namespace="lab")

    assert [cause.field for cause in refused.value.causes] == [
        "spec.devices[3].attributes",
        "spec.devices.requests[0].exactly.count",
    ]
    assert refused.value.message == "spec.devices.requests[0].exactly.count: bad"


def test_a_field_that_the_server_does_not_know_is_invalid_and_named(
    server: ScriptedServer,
) -> None:
    message = (
        'ResourceClaim in version "v1" cannot be handled as a ResourceClaim: strict decoding'
        ' error: unknown field "spec.a[0].b", duplicate field "spec.c"'
    )
    server.will_answer(Answer(a_status(400, message), status=400))

    with pytest.raises(InvalidError) as refused:
        server.client().create(RESOURCE_CLAIMS, claim_of(NEW), namespace="lab")

    named = [(cause.field, cause.message) for cause in refused.value.causes]
    assert named == [("spec.a[0].b", "unknown field"), ("spec.c", "duplicate field")]


class TestPatches:
    DEVICE: ClassVar[JsonObject] = {"name": "b", "taints": [], "allowMultipleAllocations": True}
    PATCH: ClassVar[JsonObject] = {
        "spec": {"devices": [DEVICE]},
        "metadata": {"labels": {"x": None}},
    }

    def test_a_patch_of_what_has_another_shape_replaces_what_was_read(
        self, old: ScriptedServer
    ) -> None:
        stored = a_slice("s", devices=[{"name": "a", "basic": {}}], keep=1)
        changed = Answer(a_status(409, "changed"), status=409)
        old.will_answer(Answer(stored | {"apiVersion": V1BETA1}), changed)
        old.will_answer(Answer(stored | {"apiVersion": V1BETA1}))

        old.client().merge_patch(RESOURCE_SLICES, "s", self.PATCH)

        assert [asked.method for asked in old.asked] == ["GET", "PUT", "GET", "PUT"]
        basic: JsonObject = {"name": "b", "basic": {"taints": [], "allowMultipleAllocations": True}}
        sent = a_slice("s", devices=[basic], keep=1) | {"apiVersion": V1BETA1}
        metadata = sent["metadata"]
        assert isinstance(metadata, dict)
        assert old.asked[-1].body == sent | {"metadata": metadata | {"labels": {}}}

    def test_a_patch_that_names_a_version_is_tried_once(self, old: ScriptedServer) -> None:
        changed = Answer(a_status(409, "changed"), status=409)
        old.will_answer(Answer(a_slice("s", devices=[]) | {"apiVersion": V1BETA1}), changed)

        with pytest.raises(ConflictError):
            old.client().merge_patch(
                RESOURCE_SLICES, "s", self.PATCH | {"metadata": {"resourceVersion": "1"}}
            )

        assert len(old.asked) == 2

    def test_other_patches_are_sent_as_they_are(self, old: ScriptedServer) -> None:
        old.will_answer(Answer(claim_of(OLD, api_version=V1BETA1)))
        patch: JsonObject = {"apiVersion": V1, "status": {"reservedFor": None}}

        old.client().merge_patch(RESOURCE_CLAIMS, "c", patch, namespace="lab", subresource="status")

        [asked] = old.asked
        assert (asked.method, asked.body) == ("PATCH", patch | {"apiVersion": V1BETA1})


class TestSteps:
    def test_a_list_goes_on_in_an_older_version_when_the_newer_one_goes(
        self, server: ScriptedServer
    ) -> None:
        server.plurals_by_version = {"v1": ALL_PLURALS, "v1beta1": ALL_PLURALS}
        last = a_page(claim_of(OLD, api_version=V1BETA1))
        server.will_answer(a_page(claim_of(NEW), following="k"), NO_SUCH_PATH, last)
        client = server.client()
        pages = client.changed_pages(RESOURCE_CLAIMS, is_known=lambda _: False)
        next(pages)
        del server.plurals_by_version["v1"]

        [page] = pages

        assert page.items == [claim_of(NEW)]
        assert [asked.path.split("/")[3] for asked in server.asked] == ["v1", "v1", "v1beta1"]
        assert server.asked[-1].query["continue"] == "k"

    def test_discovery_is_asked_as_the_console_itself(self, server: ScriptedServer) -> None:
        server.plurals_by_version = {}
        client = server.client().as_user(User("somebody"))

        with pytest.raises(NotFoundError, match=r"has nothing of resource\.k8s\.io"):
            client.list(DEVICE_TAINT_RULES)

        assert server.looks == 1
        assert server.asked == []

    def test_users_share_what_was_found_out(self, server: ScriptedServer) -> None:
        server.will_answer(Answer(claim_of(NEW)))
        client = server.client()

        for name in ("a", "b", "c"):
            client.as_user(User(name)).get(RESOURCE_CLAIMS, "c", namespace="lab")

        assert server.looks == 1


def test_a_list_that_is_forgotten_in_its_middle_is_read_in_one_answer(
    server: ScriptedServer,
) -> None:
    forgotten = Answer(a_status(410, "too old"), status=410)
    server.will_answer(a_page({}, following="k"), forgotten, a_page({}, {}, version="9"))

    listed = server.client().list(PODS, label_selector="a=b")

    assert (len(listed.items), listed.resource_version) == (2, "9")
    assert server.asked[-1].query == {"labelSelector": "a=b"}


def test_a_watch_from_a_version_that_the_server_never_was_at_is_expired(
    server: ScriptedServer,
) -> None:
    server.newest_version = 6

    with pytest.raises(ExpiredError, match="Too large"):
        list(watch(server.client(), PODS, resource_version="7", window_seconds=5))
