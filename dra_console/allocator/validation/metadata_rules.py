"""Rules for `metadata`, the same for every kind.

Source: `ValidateObjectMeta` of apimachinery, for kinds whose name is a DNS subdomain.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from dra_console.allocator import names
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import check_format, check_required

ANNOTATIONS_LIMIT_BYTES: Final = 256 * 1024
TEMPLATE_METADATA: Final = frozenset({"labels", "annotations"})
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
STANDARD_FINALIZERS: Final = frozenset({ORPHAN, FOREGROUND, "kubernetes"})
LONGEST_PREFIX: Final = 58
GENERATED: Final = "x" * 5


def metadata_of(obj: Fields) -> Fields:
    """Return the metadata, empty if there is none."""
    return obj.child("metadata") or Fields(obj.path_of("metadata"), {})


def check_metadata(obj: Fields, errors: FieldErrors, *, is_namespaced: bool) -> None:
    """Check the metadata of a whole object.

    The namespace comes from the address of the request: a namespaced object may leave it out, and
    another kind's is dropped.
    """
    metadata = metadata_of(obj)
    name, prefix = metadata.text("name"), metadata.text("generateName")
    if not name and not prefix:
        errors.required(metadata.path_of("name"), "name or generateName is required")
    else:
        # What is checked is the name that the server makes of the prefix.
        generated = name or f"{prefix[:LONGEST_PREFIX]}{GENERATED}"
        check_format(generated, names.dns_subdomain, errors, path=metadata.path_of("name"))
    if prefix:
        # A dash at the end is fine, since something follows.
        whole = f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
        check_format(whole, names.dns_subdomain, errors, path=metadata.path_of("generateName"))
    namespace = metadata.text("namespace")
    if is_namespaced and namespace:
        check_format(namespace, names.dns_label, errors, path=metadata.path_of("namespace"))
    if (metadata.integer("generation") or 0) < 0:
        detail = "must be greater than or equal to 0"
        errors.invalid(metadata.path_of("generation"), metadata.raw["generation"], detail)
    check_labels_and_annotations(metadata, errors)
    _check_owners(metadata, errors)
    _check_finalizers(metadata, errors)


def check_template_metadata(spec: Fields, errors: FieldErrors) -> None:
    """Check what a template hands on to its claims: labels and annotations, nothing else."""
    metadata = metadata_of(spec)
    check_labels_and_annotations(metadata, errors)
    for field in metadata.raw:
        if field not in TEMPLATE_METADATA and metadata.raw[field] not in (None, "", 0):
            detail = "only labels and annotations may be set here"
            errors.forbidden(metadata.path_of(field), detail)


def check_labels_and_annotations(metadata: Fields, errors: FieldErrors) -> None:
    """Check labels and annotations of an object or of what it will stamp out."""
    path = metadata.path_of("labels")
    for key, value in metadata.text_map("labels").items():
        check_format(key, names.label_key, errors, path=path)
        check_format(value, names.label_value, errors, path=path)
    path = metadata.path_of("annotations")
    annotations = metadata.text_map("annotations")
    for key in annotations:
        check_format(key.lower(), names.label_key, errors, path=path)
    if _size_bytes(annotations) > ANNOTATIONS_LIMIT_BYTES:
        errors.too_long(path, ANNOTATIONS_LIMIT_BYTES)


def _check_owners(metadata: Fields, errors: FieldErrors) -> None:
    controllers = 0
    for owner in metadata.children("ownerReferences"):
        for field in ("kind", "name", "uid"):
            if not owner.text(field):
                errors.required(owner.path_of(field), "must not be empty")
        check_required(
            owner.text("apiVersion"), _api_version, errors, path=owner.path_of("apiVersion")
        )
        if owner.text("apiVersion") == "v1" and owner.text("kind") == "Event":
            errors.invalid(owner.path, "v1, Kind=Event", "an event cannot own anything")
        if owner.boolean("controller"):
            controllers += 1
            if controllers > 1:
                detail = "only one owner can be the controller"
                errors.invalid(metadata.path_of("ownerReferences"), owner.text("name"), detail)


def _api_version(text: str) -> Iterator[str]:
    if text.count("/") > 1 or text.endswith("/"):
        yield "must be <group>/<version> or <version>"


def _check_finalizers(metadata: Fields, errors: FieldErrors) -> None:
    path = metadata.path_of("finalizers")
    finalizers = metadata.texts("finalizers")
    for index, finalizer in enumerate(finalizers):
        check_format(finalizer, names.label_key, errors, path=path)
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            errors.invalid(f"{path}[{index}]", finalizer, "must be fully qualified")
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        errors.invalid(path, [*finalizers], f"{ORPHAN} and {FOREGROUND} cannot be both set")


def _size_bytes(texts: Mapping[str, str]) -> int:
    return sum(names.size_bytes(key) + names.size_bytes(value) for key, value in texts.items())
