"""Rules for `metadata` that hold for every kind."""

from collections.abc import Iterator

from dra_console.allocator.reading import Fields
from dra_console.devcluster.errors import Cause
from dra_console.devcluster.selectors import LABEL_KEY, LABEL_VALUE

LABEL_NAME_LENGTH = 63
LABEL_PREFIX_LENGTH = 253
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
        if not _is_label_key(key):
            yield _invalid("metadata.labels", key, "name part or prefix is not a qualified name")
        if not LABEL_VALUE.fullmatch(value) or len(value) > LABEL_NAME_LENGTH:
            rule = (
                "a valid label must be an empty string or consist of alphanumeric characters, '-',"
                " '_' or '.', start and end with an alphanumeric character, and be no longer than"
                f" {LABEL_NAME_LENGTH} characters"
            )
            yield _invalid("metadata.labels", value, rule)
    for key in metadata.text_map("annotations"):
        if not _is_label_key(key.lower()):
            yield _invalid("metadata.annotations", key, "not a qualified name")
    for owner in metadata.children("ownerReferences"):
        for field in OWNER_FIELDS:
            if not owner.text(field):
                yield Cause(owner.path_of(field), "FieldValueRequired", "Required value")


def _is_label_key(key: str) -> bool:
    prefix, _, name = key.rpartition("/")
    return (
        LABEL_KEY.fullmatch(key) is not None
        and len(name) <= LABEL_NAME_LENGTH
        and len(prefix) <= LABEL_PREFIX_LENGTH
    )


def _invalid(field: str, value: str, rule: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f'Invalid value: "{value}": {rule}')
