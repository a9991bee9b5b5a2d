"""Rules for `metadata` that hold for every kind."""

from collections.abc import Iterator

from dra_console.allocator import names
from dra_console.allocator.decoding.reading import Fields
from dra_console.devcluster.errors import Cause

OWNER_FIELDS = ("apiVersion", "kind", "name", "uid")


def metadata_causes(obj: Fields) -> Iterator[Cause]:
    """Yield what is wrong with labels, annotations and owners.

    Raises:
        DecodeError: a field is of another type than the API declares.

    """
    metadata = obj.child("metadata")
    if metadata is None:
        return
    for key, value in metadata.text_map("labels").items():
        for detail in names.label_key(key):
            yield _invalid("metadata.labels", key, detail)
        for detail in names.label_value(value):
            yield _invalid("metadata.labels", value, detail)
    for key in metadata.text_map("annotations"):
        for detail in names.label_key(key.lower()):
            yield _invalid("metadata.annotations", key, detail)
    for owner in metadata.children("ownerReferences"):
        for field in OWNER_FIELDS:
            if not owner.text(field):
                yield Cause(owner.path_of(field), "FieldValueRequired", "Required value")


def _invalid(field: str, value: str, rule: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f'Invalid value: "{value}": {rule}')
