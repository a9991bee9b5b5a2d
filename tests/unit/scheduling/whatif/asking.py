"""Ask scenarios of worlds that no mirror holds."""

from dataclasses import replace
from datetime import UTC, datetime

from dra_console.allocator.api_json import Json, JsonObject, object_of
from dra_console.allocator.decoding.decode import decode_snapshot
from dra_console.scheduling.whatif.answering import Answer, Sources, answer
from dra_console.scheduling.whatif.decoding import decode_scenario
from dra_console.scheduling.whatif.rights import Rights
from dra_console.scheduling.whatif.scenario import Scenario
from dra_console.scheduling.whatif.states import Chosen, State
from tests.builders.objects import (
    a_class,
    a_device,
    a_node,
    a_request,
    a_result,
    a_slice,
    a_template,
    an_allocated_claim,
)

EVERYTHING = Rights(claims=None, templates=None)


class World:
    """Objects as the mirror would have them."""

    def __init__(self, *objects: JsonObject, unusable: dict[str, str] | None = None) -> None:
        self.objects = objects
        templates = {key_of(one): one for one in objects if one["kind"] == "ResourceClaimTemplate"}
        self.state = State(
            "state",
            datetime(2026, 11, 30, 12, 3, tzinfo=UTC),
            decode_snapshot(objects),
            templates,
            unusable or {},
        )

    def ask(
        self, *edits: JsonObject, pod: JsonObject | None = None, rights: Rights = EVERYTHING
    ) -> Answer:
        """Answer a scenario, given as the JSON that people send."""
        raw: JsonObject = {"edits": [*edits]}
        if pod is not None:
            raw["pod"] = pod
        return self.answer(decode_scenario(raw), rights=rights)

    def answer(self, scenario: Scenario, *, rights: Rights = EVERYTHING) -> Answer:
        return answer(
            Chosen(self.state, is_current=True),
            scenario,
            rights=rights,
            sources=Sources(self._stored, lambda _: {}),
        )

    def _stored(self, namespace: str, name: str, uid: str) -> JsonObject | None:
        for one in self.objects:
            is_named = key_of(one) == (namespace, name)
            if one["kind"] == "ResourceClaim" and is_named:
                return one if object_of(one["metadata"])["uid"] == uid else None
        return None

    def fresh(self) -> "World":
        """Take the same objects, of which nothing is known yet."""
        again = World(*self.objects)
        again.state = replace(again.state, unusable=self.state.unusable)
        return again


def key_of(one: JsonObject) -> tuple[str, str]:
    metadata = object_of(one["metadata"])
    return str(metadata.get("namespace", "")), str(metadata["name"])


def of_template(name: str = "one-gpu", *, namespace: str = "team-research") -> JsonObject:
    """Describe a pod with one claim of a template."""
    return {"claims": [{"template": {"namespace": namespace, "name": name}}]}


def of_claim(name: str, *, namespace: str = "team-research") -> JsonObject:
    """Describe a pod with one claim like another one."""
    return {"claims": [{"claim": {"namespace": namespace, "name": name}}]}


def of_spec(spec: Json) -> JsonObject:
    """Describe a pod with one claim of this spec."""
    return {"claims": [{"spec": spec}]}


def a_fleet(*more: JsonObject) -> list[JsonObject]:
    """Two nodes of four GPUs; one of gpu-01 is held by each of two teams."""
    return [
        a_class(),
        *(a_node(name) for name in ("gpu-01", "gpu-02")),
        *(
            a_slice(node=name, devices=[a_device(f"gpu-{at}") for at in range(4)])
            for name in ("gpu-01", "gpu-02")
        ),
        an_allocated_claim("held", namespace="team-research", results=[a_result("gpu-0")]),
        an_allocated_claim("secret", namespace="team-vision", results=[a_result("gpu-1")]),
        a_template("one-gpu", namespace="team-research"),
        a_template("four", namespace="team-research", requests=[a_request(count=4)]),
        *more,
    ]
