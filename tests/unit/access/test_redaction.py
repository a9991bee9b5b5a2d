from dra_console.access.redaction import redacted
from dra_console.allocator.explanation.unfolding import HIDDEN_HOLDER, node_rows
from dra_console.allocator.model import Json, JsonObject


def a_holder(namespace: str) -> Json:
    return {"namespace": namespace, "name": "train", "uid": "1"}


def an_explanation() -> JsonObject:
    taken: Json = {
        "verdict": "taken",
        "evidence": "in use by another claim",
        "request": "gpu",
        "count": 2,
    }
    free: Json = {"verdict": "free", "evidence": "free for gpu", "request": "gpu", "count": 1}
    return {
        "headline": "2 taken",
        "funnel": {"considered": 3, "taken": 2, "free": 1},
        "groups": [
            {
                "names": ["gpu-01"],
                "reason": "count",
                "summary": "1 free, 2 wanted",
                "verdicts": [taken, free],
                "devices": ["d/gpu-01/gpu-0", "d/gpu-01/gpu-1", "d/gpu-01/gpu-2"],
                "judged": [0, 0, 1],
            }
        ],
        "holders": {
            "team-vision": {"train": ["d/gpu-01/gpu-0"]},
            "team-research": {"train": ["d/gpu-01/gpu-1"]},
        },
        "suggestions": [
            {"text": "Wait", "detail": "fits on gpu-01", "holder": a_holder("team-vision")},
            {"text": "Ask for 1", "detail": "fits on gpu-01", "holder": None},
        ],
    }


def said_of_devices(explanation: JsonObject) -> list[tuple[Json, Json]]:
    return [
        (device["evidence"], device["holder"])
        for row in node_rows(explanation)
        for device in (row["devices"] if isinstance(row["devices"], list) else [])
        if isinstance(device, dict)
    ]


def test_a_foreign_holder_is_another_namespace() -> None:
    seen = redacted(an_explanation(), namespaces=frozenset({"team-research"}))

    assert "team-vision" not in str(seen)
    assert said_of_devices(seen) == [
        (HIDDEN_HOLDER, None),
        ("in use by another claim", {"namespace": "team-research", "name": "train"}),
        ("free for gpu", None),
    ]


def test_foreign_holders_are_not_told_apart() -> None:
    explanation = an_explanation()

    seen = redacted(explanation, namespaces=frozenset())

    assert seen["holders"] == {"another namespace": {"": ["d/gpu-01/gpu-0", "d/gpu-01/gpu-1"]}}


def test_numbers_and_verdicts_stay_as_they_are() -> None:
    explanation = an_explanation()

    seen = redacted(explanation, namespaces=frozenset())

    assert seen["funnel"] == explanation["funnel"]
    assert seen["groups"] == explanation["groups"]
    assert str(seen["suggestions"]).count("fits on gpu-01") == 2


def test_who_may_list_everywhere_reads_everything() -> None:
    explanation = an_explanation()

    assert redacted(explanation, namespaces=None) == explanation
