from typing import Any

import pytest

from nodeagent.fields import JsonObject
from nodeagent.publish.compare import REMEMBERED_ALTERATIONS, Alterations, is_same


def spec_of(**device: Any) -> JsonObject:
    return {"pool": {"generation": 1}, "devices": [{"name": "a", **device}]}


def test_quantities_are_compared_by_value() -> None:
    assert is_same(
        spec_of(capacity={"memory": {"value": "1Gi"}}),
        spec_of(capacity={"memory": {"value": "1073741824"}}),
    )
    assert not is_same(
        spec_of(capacity={"memory": {"value": "1Gi"}}),
        spec_of(capacity={"memory": {"value": "1G"}}),
    )
    assert is_same(
        spec_of(capacity={"memory": {"requestPolicy": {"default": "2048Mi"}}}),
        spec_of(capacity={"memory": {"requestPolicy": {"default": "2Gi"}}}),
    )
    sets: list[JsonObject] = [
        {"sharedCounters": [{"name": "5", "counters": {"memory": {"value": amount}}}]}
        for amount in ("4Gi", "4096Mi")
    ]
    assert is_same(*sets)


@pytest.mark.parametrize("name", ["capacity", "counters", "x"])
def test_an_attribute_is_no_quantity_whatever_its_name(name: str) -> None:
    assert not is_same(
        spec_of(attributes={name: {"string": "1Gi"}}),
        spec_of(attributes={name: {"string": "1024Mi"}}),
    )


def test_names_that_look_like_numbers_are_names() -> None:
    one, other = (
        spec_of(consumesCounters=[{"counterSet": name, "counters": {}}]) for name in ("1k", "1000")
    )

    assert not is_same(one, other)


def test_devices_count_in_their_order_and_empty_is_like_absent() -> None:
    assert not is_same(
        {"devices": [{"name": "a"}, {"name": "b"}]}, {"devices": [{"name": "b"}, {"name": "a"}]}
    )
    assert is_same({"devices": []}, {})
    assert is_same(spec_of(taints=[]), spec_of())


def test_the_time_of_a_taint_is_the_servers_matter() -> None:
    one, other = (
        spec_of(taints=[{"key": "xid", "effect": "NoSchedule", **time}])
        for time in ({}, {"timeAdded": "2026-11-30T09:00:00Z"})
    )

    assert is_same(one, other)


def test_an_alteration_by_the_server_counts_as_published_until_it_is_forgotten() -> None:
    alterations = Alterations()
    sent, kept = spec_of(), spec_of(attributes={"rack": {"string": "r7"}})

    assert alterations.note(sent, kept)

    assert alterations.is_published(kept, sent)
    assert not alterations.is_published(kept, spec_of(attributes={"x": {"int": 1}}))
    assert not alterations.is_published({**kept, "pool": {"generation": 2}}, sent)
    alterations.forget()
    assert not alterations.is_published(kept, sent)


def test_what_came_back_as_sent_is_no_alteration() -> None:
    assert not Alterations().note(spec_of(), spec_of(taints=None))


def test_the_memory_of_alterations_is_bounded() -> None:
    alterations = Alterations()
    for number in range(REMEMBERED_ALTERATIONS + 1):
        sent = spec_of(attributes={"n": {"int": number}})
        alterations.note(sent, {**sent, "x": 1})

    first, last = (spec_of(attributes={"n": {"int": n}}) for n in (0, REMEMBERED_ALTERATIONS))
    assert not alterations.is_published({**first, "x": 1}, first)
    assert alterations.is_published({**last, "x": 1}, last)
