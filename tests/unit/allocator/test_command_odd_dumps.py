"""Dumps with one odd value somewhere: always an answer, and a reason where it is broken."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_console.allocator.model import Json, JsonObject
from tests.builders.objects import a_pod, a_request, a_template
from tests.unit.allocator.command_line import CommandLine
from tests.unit.allocator.test_command_batch import ODD_VALUES, SOUND, places, with_value


def a_dump() -> JsonObject:
    """Build a dump with a pod of each kind."""
    asking: JsonObject = {
        "name": "m",
        "resources": {"limits": {"deviceclass.resource.kubernetes.io/A": "1"}},
    }
    objects = SOUND["objects"]
    assert isinstance(objects, list)
    return {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            *objects,
            a_template(namespace="t", requests=[a_request(device_class="A")]),
            a_pod("by-claim", namespace="t", claim="c"),
            a_pod("by-template", namespace="t", template="one-gpu"),
            a_pod("by-resource", namespace="t") | {"spec": {"containers": [asking]}},
        ],
    }


DUMP = a_dump()


@pytest.mark.parametrize("command", ["explain", "allocate"])
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(path=st.sampled_from(places(DUMP)), value=ODD_VALUES)
def test_no_dump_breaks_the_command(
    command_line: CommandLine, command: str, path: tuple[str | int, ...], value: Json
) -> None:
    changed = json.dumps(with_value(DUMP, path, value))

    ended = command_line.run(command, command_line.file(changed))

    assert ended.status in {0, 1, 2, 3}, ended.errors
    assert bool(ended.errors) or ended.status != 2
    assert "Traceback" not in ended.errors
