"""Stepping into stored objects for typed reading."""

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.model import JsonObject


def inside(stored: JsonObject, *keys: str) -> Fields:
    """Return the object found by stepping through `keys`; one that is absent is empty.

    Raises:
        DecodeError: something on the way is not an object.

    """
    fields = Fields("", stored)
    for key in keys:
        fields = fields.child(key) or Fields(fields.path_of(key), {})
    return fields
