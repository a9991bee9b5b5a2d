"""Each kind of change that an explanation suggests does fit when it is opened in what-if."""

from typing import Any

import pytest

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.explanation.explain import explain
from dra_console.scheduling.whatif.rights import Rights
from dra_console.scheduling.whatif.scenario import Scenario
from dra_console.scheduling.whatif.suggested import pod_of_claims, suggested_scenario
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_node,
    a_request,
    a_result,
    a_slice,
    a_taint,
    an_allocated_claim,
)
from tests.unit.scheduling.whatif.asking import World

ELSEWHERE = Rights(claims=frozenset({"team-research"}), templates=frozenset())
SMALL = 'device.attributes["gpu.nvidia.com"].model == "small"'


def a_world(*claims: JsonObject, taints: list[Json] | None = None) -> World:
    devices = [
        a_device(f"gpu-{at}", attributes={"model": "big", "root": at}, taints=taints)
        for at in range(2)
    ]
    return World(a_class(), a_node("gpu-01"), a_slice(node="gpu-01", devices=devices), *claims)


def waiting(*, constraints: list[JsonObject] | None = None, **fields: Any) -> JsonObject:
    return a_claim(
        "waits",
        namespace="team-research",
        requests=[a_request(**fields)],
        constraints=constraints,
    )


def held(*devices: str, namespace: str = "team-vision") -> JsonObject:
    results = [a_result(each) for each in devices]
    return an_allocated_claim("holder", namespace=namespace, results=results)


WORLDS = {
    "Ask for": a_world(waiting(count=3)),
    "Drop the constraint": a_world(
        waiting(count=2, constraints=[{"matchAttribute": "gpu.nvidia.com/root"}])
    ),
    "Drop the condition": a_world(waiting(selectors=[SMALL])),
    "Tolerate taint": a_world(waiting(), taints=[a_taint()]),
    "Wait for the claim": a_world(waiting(), held("gpu-0", "gpu-1", namespace="team-research")),
    "Wait for the claim of others": a_world(waiting(), held("gpu-0", "gpu-1")),
}


@pytest.mark.parametrize("text", WORLDS)
def test_what_is_suggested_fits_in_what_if(text: str) -> None:
    world = WORLDS[text]
    claim = world.state.claims["team-research/waits"]
    explanation = explain(world.state.snapshot, [claim]).to_json()
    suggestions = explanation["suggestions"]
    assert isinstance(suggestions, list)
    kind = text.removesuffix(" of others")
    meant = [each for each in suggestions if str(each["text"]).startswith(kind)]  # type: ignore[index, call-overload]  # parsed JSON
    assert meant

    for suggestion in meant:
        scenario = suggested_scenario(
            suggestion,  # type: ignore[arg-type]  # parsed JSON
            Scenario(pod=pod_of_claims([("team-research", "waits")])),
            keys=["team-research/waits"],
            holders=explanation["holders"],  # type: ignore[arg-type]  # parsed JSON
            rights=ELSEWHERE,
        )
        assert scenario is not None
        assert "holder" not in str(scenario.to_json()) or "of others" not in text
        then = world.answer(scenario, rights=ELSEWHERE).then
        assert then is not None
        assert then.count >= 1


def test_every_kind_of_suggestion_is_tried_here() -> None:
    """A new kind has to be added to `WORLDS`."""
    found = set()
    for world in WORLDS.values():
        claim = world.state.claims["team-research/waits"]
        for suggestion in explain(world.state.snapshot, [claim]).suggestions:
            found |= {kind for kind in WORLDS if suggestion.text.startswith(kind)} or {
                suggestion.text
            }

    assert found == {kind for kind in WORLDS if not kind.endswith("of others")}
