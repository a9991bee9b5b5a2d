"""`batch`: an answer for every line, whatever is in it."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dra_console.allocator.command import scenario as scenario_module
from dra_console.allocator.command.batch import batch
from dra_console.allocator.command.scenario import answer_to
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.search.first_fit import FirstFit
from tests.builders.objects import a_taint_rule
from tests.unit.allocator.test_scenario import a_line
from tests.unit.allocator.worlds import claim, dev, every, pool, r, used

OUTCOMES = {"allocated", "unallocatable", "error", "budget"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "one JSON object a line"),
        (b"\n", "one JSON object a line"),
        (b"nonsense", "one JSON object a line"),
        (b"null", "got null"),
        (b"[]", "got a list"),
        (b'{"id": "x"', "one JSON object a line"),
        (b"\xff\xfe\xfd", "one JSON object a line"),
        (b"[" * 100_000, "one JSON object a line"),
        (b'{"objects": []} {}', "got more from column 16 on"),
        (b'{"objects": NaN}', "NaN is not JSON"),
        (b"{}", "objects: expected a list"),
        (b'{"objects": 5}', "objects: expected a list, got a number"),
        (b'{"objects": [5]}', "objects[0]: expected an object, got a number"),
        (b'{"objects": [], "claims": "t/c"}', "claims: expected a list, got a text"),
        (b'{"objects": [], "claims": [7]}', "claims[0]: expected a text, got a number"),
        (b'{"objects": [], "node": 7}', "node: expected a text, got a number"),
        (b'{"objects": [], "features": [7]}', "features[0]: expected a text, got a number"),
        (
            b'{"objects": [{"kind": "Node", "metadata": 3}]}',
            "Node: metadata: expected an object, got a number",
        ),
        (
            b'{"objects": [{"apiVersion": "resource.k8s.io/v7", "kind": "DeviceClass"}]}',
            "DeviceClass without a name: apiVersion: resource.k8s.io/v7 is not known",
        ),
        (
            json.dumps({"objects": [claim(r(count="two"))]}).encode(),
            "ResourceClaim t/c: spec.devices.requests[0].exactly.count: expected a whole number",
        ),
    ],
)
def test_a_bad_line_gets_an_error_as_its_answer(line: bytes, reason: str) -> None:
    answered = answer_to(line)

    assert answered["outcome"] == "error"
    assert reason in str(answered["error"])


@pytest.mark.parametrize("name", ["b-17", "", 17, None, ["a", {"b": 1}], "\U0001f600"])
def test_the_id_comes_back_whatever_it_is(name: Json) -> None:
    good, bad = a_line(id=name), json.dumps({"id": name, "objects": 5})

    assert answer_to(good)["id"] == name
    assert answer_to(bad)["id"] == name


def test_half_a_surrogate_pair_is_read_as_go_reads_it() -> None:
    assert answer_to(b'{"id": "\\ud800x"}')["id"] == "\ufffdx"


class CountingOutput(StringIO):
    """Remembers how many lines were written whenever it was flushed."""

    def __init__(self) -> None:
        super().__init__()
        self.flushed: list[int] = []

    def flush(self) -> None:
        self.flushed.append(self.getvalue().count("\n"))


def test_batch_answers_line_by_line_in_order_and_at_once() -> None:
    lines = [a_line(id=1).encode(), b"nonsense\n", b"\n", a_line(id=4).encode()]
    output, errors = CountingOutput(), StringIO()

    batch(lines, output, errors)

    answers = [json.loads(line) for line in output.getvalue().splitlines()]
    assert [each["id"] for each in answers] == [1, None, None, 4]
    assert [each["outcome"] for each in answers] == ["allocated", "error", "error", "allocated"]
    assert output.flushed == [1, 2, 3, 4]
    assert errors.getvalue() == ""


def test_batch_survives_a_fault_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object, **_kwargs: object) -> FirstFit:
        raise ZeroDivisionError("a bug")

    output, errors = StringIO(), StringIO()
    monkeypatch.setattr(scenario_module, "first_fit", broken)

    batch([a_line(id=1).encode(), b"nonsense"], output, errors)

    answers = [json.loads(line) for line in output.getvalue().splitlines()]
    assert [each["outcome"] for each in answers] == ["error", "error"]
    assert "internal error" in answers[0]["error"]
    assert "ZeroDivisionError" in errors.getvalue()


def test_a_program_can_talk_to_batch_over_a_pipe() -> None:
    command = [sys.executable, "-m", "dra_console.allocator", "batch"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"LC_ALL": "C"}
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for name in ("ä", "b"):
            process.stdin.write(a_line(pool("p", "x"), claim(r()), id=name).encode() + b"\n")
            process.stdin.flush()
            answered = json.loads(process.stdout.readline())
            assert (answered["id"], answered["outcome"]) == (name, "allocated")
        process.stdin.close()
        assert process.wait(timeout=20) == 0


SOUND: JsonObject = json.loads(
    a_line(
        pool("p", dev("x", mem="8Gi", attributes={"model": "m", "n": 1}), dev("y")),
        pool("q", dev("s", mem="8Gi", allowMultipleAllocations=True), driver="b", node="m"),
        used("p/y"),
        a_taint_rule(device="z"),
        claim(
            r("r", "A", 'device.attributes["a"].model == "m"'),
            every("all", "B"),
            match=[("a/model", ["r"])],
        ),
    )
)
ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "a/b", "\x00", "\ud800", "1e99", "-1", "All", "In", "v7", "1Ki"]),
    st.just([]),
    st.just({}),
    st.just([{}]),
    st.just([None]),
    st.just({"x": {}}),
)


def places(value: Json, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """List every place inside a value."""
    entries: list[tuple[str | int, Json]] = []
    if isinstance(value, dict):
        entries += value.items()
    if isinstance(value, list):
        entries += enumerate(value)
    return [each for key, entry in entries for each in ((*path, key), *places(entry, (*path, key)))]


def with_value(whole: Json, path: Sequence[str | int], value: Json) -> Json:
    """Copy a value with another one at a place inside."""
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(whole, dict):
        return {**whole, str(key): with_value(whole[str(key)], rest, value)}
    assert isinstance(whole, list)
    return [
        with_value(each, rest, value) if number == key else each
        for number, each in enumerate(whole)
    ]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(places(SOUND)), ODD_VALUES)
def test_no_line_breaks_the_allocator(path: tuple[str | int, ...], value: Json) -> None:
    answered = answer_to(json.dumps(with_value(SOUND, path, value)))

    assert answered["outcome"] in OUTCOMES
    assert json.loads(json.dumps(answered)) == answered


@pytest.mark.parametrize("path", places(SOUND), ids=lambda path: ".".join(map(str, path)))
def test_no_missing_field_breaks_the_allocator(path: tuple[str | int, ...]) -> None:
    # The API treats null as missing.
    assert answer_to(json.dumps(with_value(SOUND, path, None)))["outcome"] in OUTCOMES
