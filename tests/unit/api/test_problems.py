import pytest

from dra_console.api.problems import pointer_to


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        ("", ""),
        ("spec.devices.requests[0].name", "/spec/devices/requests/0/name"),
        ("metadata.annotations[example.com/a]", "/metadata/annotations/example.com~1a"),
        ('metadata.labels["a.b/c~d"]', "/metadata/labels/a.b~1c~0d"),
        ("[0]", "/0"),
    ],
)
def test_a_field_path_becomes_a_json_pointer(path: str, pointer: str) -> None:
    assert pointer_to(path) == pointer
