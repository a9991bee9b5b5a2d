from dra_console.access.redaction import HIDDEN_HOLDER, redacted
from dra_console.allocator.model import Json, JsonObject


def a_holder(namespace: str) -> Json:
    return {"namespace": namespace, "name": "train", "uid": "1"}


def a_taken_device(namespace: str) -> Json:
    return {
        "device": "gpu-0",
        "verdict": "taken",
        "evidence": f"held by {namespace}/train",
        "holder": a_holder(namespace),
    }


def an_explanation() -> JsonObject:
    free: Json = {"device": "gpu-1", "verdict": "free", "evidence": "", "holder": None}
    devices: list[Json] = [a_taken_device("team-vision"), a_taken_device("team-research"), free]
    return {
        "headline": "2 taken",
        "funnel": {"considered": 3, "taken": 2, "free": 1},
        "nodes": [{"name": "gpu-01", "devices": devices}],
        "suggestions": [
            {"text": "Wait", "detail": "fits on gpu-01", "holder": a_holder("team-vision")},
            {"text": "Ask for 1", "detail": "fits on gpu-01", "holder": None},
        ],
    }


def test_a_foreign_holder_is_another_namespace() -> None:
    seen = redacted(an_explanation(), namespaces=frozenset({"team-research"}))

    assert "team-vision" not in str(seen)
    assert HIDDEN_HOLDER in str(seen)
    assert "team-research" in str(seen)


def test_numbers_and_verdicts_stay_as_they_are() -> None:
    explanation = an_explanation()

    seen = redacted(explanation, namespaces=frozenset())

    assert seen["funnel"] == explanation["funnel"]
    assert str(seen).count("fits on gpu-01") == 2
    assert str(seen).count("'verdict': 'taken'") == 2


def test_who_may_list_everywhere_reads_everything() -> None:
    explanation = an_explanation()

    assert redacted(explanation, namespaces=None) == explanation
