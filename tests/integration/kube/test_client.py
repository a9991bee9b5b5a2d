import time
from pathlib import Path

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.client import Client, User
from dra_console.kube.errors import (
    ApiError,
    Cause,
    ConflictError,
    ExpiredError,
    InvalidError,
    KubeconfigError,
    NotFoundError,
)
from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from tests.builders.objects import a_claim
from tests.integration.kube.scripted import Answer, ScriptedServer, a_status


def a_page(*names: str, version: str = "10", following: str = "") -> Answer:
    items: list[Json] = [{"metadata": {"name": name}} for name in names]
    metadata: JsonObject = {"resourceVersion": version}
    if following:
        metadata["continue"] = following
    return Answer({"kind": "ResourceClaimList", "metadata": metadata, "items": items})


class TestReading:
    def test_an_object_is_returned_as_it_was_sent(self, server: ScriptedServer) -> None:
        claim = {**a_claim(), "fromTheFuture": 1}
        server.will_answer(Answer(claim))

        assert server.client().get(RESOURCE_CLAIMS, "train", namespace="lab") == claim
        [asked] = server.asked
        assert (asked.method, asked.path) == (
            "GET",
            "/apis/resource.k8s.io/v1/namespaces/lab/resourceclaims/train",
        )
        assert asked.values_of("Authorization") == ["Bearer first"]

    def test_a_list_is_read_page_by_page_at_one_version(self, server: ScriptedServer) -> None:
        server.will_answer(a_page("a", "b", following="next"), a_page("c"))

        listed = server.client().list(RESOURCE_CLAIMS, label_selector="team=vision")

        names = [item["metadata"] for item in listed.items]
        assert names == [{"name": "a"}, {"name": "b"}, {"name": "c"}]
        assert listed.resource_version == "10"
        first, second = server.asked
        assert first.query == {"limit": "500", "labelSelector": "team=vision"}
        assert second.query == first.query | {"continue": "next"}

    def test_items_of_a_list_say_what_they_are_as_single_objects_do(
        self, server: ScriptedServer
    ) -> None:
        server.will_answer(a_page("a"))

        [item] = server.client().list(RESOURCE_SLICES).items

        assert (item["apiVersion"], item["kind"]) == ("resource.k8s.io/v1", "ResourceSlice")

    def test_a_list_without_items_is_empty(self, server: ScriptedServer) -> None:
        server.will_answer(Answer({"metadata": {"resourceVersion": "3"}, "items": None}))

        assert server.client().list(RESOURCE_SLICES).items == []

    def test_a_list_that_was_forgotten_in_its_middle_is_expired(
        self, server: ScriptedServer
    ) -> None:
        gone = Answer(a_status(410, "too old"), status=410)
        server.will_answer(a_page("a", following="next"), gone)

        with pytest.raises(ExpiredError):
            server.client().list(RESOURCE_CLAIMS)

    @pytest.mark.parametrize("raw", [b"<html>", b"[]", b"7", b"", b'{"a": '])
    def test_an_answer_that_is_no_json_object_is_an_error(
        self, server: ScriptedServer, raw: bytes
    ) -> None:
        server.will_answer(Answer(raw=raw))

        with pytest.raises(ApiError, match="JSON"):
            server.client().create(PODS, {}, namespace="lab")


class TestRefusals:
    def test_a_missing_object_is_not_found(self, server: ScriptedServer) -> None:
        server.will_answer(Answer(a_status(404, "no such claim"), status=404))

        with pytest.raises(NotFoundError, match="no such claim"):
            server.client().get(RESOURCE_CLAIMS, "x", namespace="lab")

    def test_an_invalid_object_names_its_fields(self, server: ScriptedServer) -> None:
        cause: JsonObject = {
            "field": "spec.x",
            "reason": "FieldValueRequired",
            "message": "missing",
        }
        server.will_answer(Answer(a_status(422, "invalid", causes=[cause]), status=422))

        with pytest.raises(InvalidError) as refused:
            server.client().create(RESOURCE_CLAIMS, a_claim(), namespace="lab")

        assert refused.value.causes == (Cause("spec.x", "FieldValueRequired", "missing"),)

    def test_a_conflict_is_not_tried_again(self, server: ScriptedServer) -> None:
        server.will_answer(Answer(a_status(409, "changed"), status=409))

        with pytest.raises(ConflictError):
            server.client().replace(RESOURCE_CLAIMS, a_claim())

        assert len(server.asked) == 1


class TestFurtherAttempts:
    def test_a_read_is_tried_again_while_the_server_is_overloaded(
        self, server: ScriptedServer
    ) -> None:
        busy = Answer(a_status(429, "slow down"), status=429, headers={"Retry-After": "1"})
        server.will_answer(busy, Answer(status=503, raw=b"nobody home"), Answer(a_claim()))
        began_at = time.monotonic()

        assert server.client().get(RESOURCE_CLAIMS, "train", namespace="lab") == a_claim()
        assert len(server.asked) == 3
        assert time.monotonic() - began_at >= 1

    def test_a_write_is_not_tried_again(self, server: ScriptedServer) -> None:
        server.will_answer(Answer(a_status(503, "try later"), status=503))

        with pytest.raises(ApiError, match="try later"):
            server.client().create(RESOURCE_CLAIMS, a_claim(), namespace="lab")

        assert len(server.asked) == 1

    def test_a_read_gives_up_after_some_attempts(self, server: ScriptedServer) -> None:
        server.will_answer(Answer(a_status(500, "broken"), status=500))

        with pytest.raises(ApiError, match="broken"):
            server.client().get(RESOURCE_CLAIMS, "train", namespace="lab")

        assert len(server.asked) == 4

    def test_a_server_that_asks_for_a_long_pause_is_not_waited_for(
        self, server: ScriptedServer
    ) -> None:
        server.will_answer(
            Answer(a_status(429, "later"), status=429, headers={"Retry-After": "600"})
        )

        with pytest.raises(ApiError) as refused:
            server.client().get(RESOURCE_CLAIMS, "train", namespace="lab")

        assert refused.value.retry_after_seconds == 600
        assert len(server.asked) == 1

    def test_a_server_that_is_away_is_an_error_that_names_it(self, server: ScriptedServer) -> None:
        client = server.client()
        server.close()

        with pytest.raises(ApiError, match=r"http://127\.0\.0\.1:") as failed:
            client.get(RESOURCE_CLAIMS, "train", namespace="lab")

        assert failed.value.status == 0


class TestWriting:
    def test_a_dry_run_says_so(self, server: ScriptedServer) -> None:
        server.will_answer(Answer(a_claim()))

        server.client().create(RESOURCE_CLAIMS, a_claim(), namespace="lab", dry_run=True)

        [asked] = server.asked
        assert (asked.method, asked.query["dryRun"]) == ("POST", "All")
        assert asked.body == a_claim()

    def test_an_object_is_replaced_where_its_metadata_says(self, server: ScriptedServer) -> None:
        server.will_answer(Answer(a_claim()))

        server.client().replace(RESOURCE_CLAIMS, a_claim(namespace="lab"), subresource="status")

        [asked] = server.asked
        assert asked.path.endswith("/namespaces/lab/resourceclaims/train/status")

    def test_a_merge_patch_is_sent_as_one(self, server: ScriptedServer) -> None:
        server.will_answer(Answer(a_claim()))

        server.client().merge_patch(
            RESOURCE_CLAIMS, "train", {"metadata": {"labels": {"a": None}}}, namespace="lab"
        )

        [asked] = server.asked
        assert asked.values_of("Content-Type") == ["application/merge-patch+json"]
        assert asked.body == {"metadata": {"labels": {"a": None}}}

    def test_a_deletion_carries_its_preconditions(self, server: ScriptedServer) -> None:
        server.will_answer(Answer({"kind": "Status"}))

        server.client().delete(PODS, "train", namespace="lab", uid="u1", resource_version="7")

        [asked] = server.asked
        assert asked.body == {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": "u1", "resourceVersion": "7"},
        }

    def test_a_pod_is_bound_by_its_binding(self, server: ScriptedServer) -> None:
        server.will_answer(Answer({"kind": "Status"}))

        server.client().bind_pod("lab", "train", node_name="gpu-01", uid="u1")

        [asked] = server.asked
        assert asked.path == "/api/v1/namespaces/lab/pods/train/binding"
        assert asked.body == {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": "lab", "name": "train", "uid": "u1"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "gpu-01"},
        }


class TestIdentities:
    def test_every_request_of_a_user_is_impersonated_whole(self, server: ScriptedServer) -> None:
        server.will_answer(Answer(a_claim()))
        user = User(
            "jürgen",
            groups=("team-research", "system:authenticated"),
            uid="u1",
            extra={"example.com/Floor": ("3", "4")},
        )

        server.client().as_user(user).get(RESOURCE_CLAIMS, "train", namespace="lab")

        [asked] = server.asked
        [username] = asked.values_of("Impersonate-User")
        assert username.encode("latin-1").decode() == "jürgen"
        assert asked.values_of("Impersonate-Group") == ["team-research", "system:authenticated"]
        assert asked.values_of("Impersonate-Uid") == ["u1"]
        assert asked.values_of("Impersonate-Extra-example.com%2Ffloor") == ["3", "4"]

    def test_the_console_itself_impersonates_nobody(self, server: ScriptedServer) -> None:
        server.will_answer(Answer(a_claim()))
        client = server.client()
        client.as_user(User("somebody"))

        client.get(RESOURCE_CLAIMS, "train", namespace="lab")

        assert server.asked[0].values_of("Impersonate-User") == []

    def test_a_token_that_was_replaced_in_its_file_is_taken_up(
        self, server: ScriptedServer
    ) -> None:
        client = server.client()
        server.will_answer(Answer(a_status(401, "who?"), status=401), Answer(a_claim()))
        server.write_kubeconfig(token="second")

        client.create(RESOURCE_CLAIMS, a_claim(), namespace="lab")

        assert [asked.values_of("Authorization") for asked in server.asked] == [
            ["Bearer first"],
            ["Bearer second"],
        ]

    @pytest.mark.parametrize("document", ["", "[", "clusters: 7", "current-context: nowhere"])
    def test_a_kubeconfig_that_cannot_be_used_is_named(self, tmp_path: Path, document: str) -> None:
        path = tmp_path / "kubeconfig"
        path.write_text(document)

        with pytest.raises(KubeconfigError, match=str(path)):
            Client.from_kubeconfig(str(path))

    def test_a_kubeconfig_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(KubeconfigError, match="nowhere"):
            Client.from_kubeconfig(str(tmp_path / "nowhere"))

    def test_outside_a_pod_there_are_no_credentials_of_one(self) -> None:
        with pytest.raises(KubeconfigError, match="in-cluster"):
            Client.in_cluster()
