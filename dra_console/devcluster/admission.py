"""Rules of the kinds: what a create or an update turns into, or why it is refused.

The order is the API server's: types, defaults, then the parts that the request may not touch are
taken from the stored object, then validation of what is left.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import JsonObject
from dra_console.devcluster.admission_claims import drop_freed_devices
from dra_console.devcluster.admission_devices import (
    DEVICE_KINDS,
    device_causes,
    drop_disabled_fields,
)
from dra_console.devcluster.admission_metadata import metadata_causes
from dra_console.devcluster.admission_pods import pod_causes, pod_change_causes
from dra_console.devcluster.defaults import set_defaults
from dra_console.devcluster.errors import BadRequestError, Cause, InvalidError
from dra_console.devcluster.fields import inside
from dra_console.devcluster.metadata import metadata_of, now, text, timestamp
from dra_console.devcluster.shapes import check_shape
from dra_console.kube.kinds import (
    DEVICE_TAINT_RULES,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_QUOTAS,
    Kind,
)

NAMESPACE_FINALIZER: Final = "kubernetes"

FIRST_STATUS: Final[Mapping[Kind, JsonObject]] = MappingProxyType(
    {
        PODS: {"phase": "Pending"},
        NAMESPACES: {"phase": "Active"},
        RESOURCE_CLAIMS: {},
        RESOURCE_QUOTAS: {},
        DEVICE_TAINT_RULES: {},
    }
)
"""Status of a new object, whatever the client sent. A node alone brings its own."""

KINDS_WITH_STATUS: Final = frozenset({*FIRST_STATUS, NODES})


def admit_create(kind: Kind, obj: JsonObject, *, namespace: JsonObject | None) -> None:
    """Complete a new object in place, or refuse it.

    `namespace` is the Namespace it goes to, `None` for cluster-scoped kinds.

    Raises:
        BadRequestError: a field is of another type than the API declares.
        InvalidError: the object breaks rules of its kind.

    """
    try:
        check_shape(kind, obj)
        set_defaults(kind, obj)
        if kind in FIRST_STATUS:
            obj["status"] = dict(FIRST_STATUS[kind])
        if kind == NAMESPACES:
            spec = obj.setdefault("spec", {})
            if isinstance(spec, dict):
                spec["finalizers"] = [NAMESPACE_FINALIZER]
        causes = tuple(_create_causes(kind, obj, namespace=namespace))
    except DecodeError as error:
        raise _unreadable(kind, error) from error
    if causes:
        raise InvalidError.of(kind, text(metadata_of(obj), "name"), causes)
    drop_disabled_fields(kind, obj)


def admit_update(
    kind: Kind,
    obj: JsonObject,
    *,
    old: JsonObject,
    subresource: str,
    namespace: JsonObject | None,
) -> None:
    """Keep of `obj` what `subresource` may change, take the rest from `old`, and check it.

    Raises:
        BadRequestError: a field is of another type than the API declares.
        InvalidError: the change breaks rules of the kind.

    """
    try:
        check_shape(kind, obj)
        set_defaults(kind, obj)
        _keep_other_parts(kind, obj, old=old, subresource=subresource)
        causes = tuple(
            _update_causes(kind, obj, old=old, subresource=subresource, namespace=namespace)
        )
    except DecodeError as error:
        raise _unreadable(kind, error) from error
    if causes:
        raise InvalidError.of(kind, text(metadata_of(old), "name"), causes)
    drop_disabled_fields(kind, obj, old=old)


def _create_causes(kind: Kind, obj: JsonObject, *, namespace: JsonObject | None) -> Iterator[Cause]:
    if kind in DEVICE_KINDS:
        yield from device_causes(kind, obj, namespace=namespace)
        return
    yield from metadata_causes(Fields("", obj))
    if kind == PODS:
        yield from pod_causes(Fields("", obj))


def _update_causes(
    kind: Kind,
    obj: JsonObject,
    *,
    old: JsonObject,
    subresource: str,
    namespace: JsonObject | None,
) -> Iterator[Cause]:
    if kind in DEVICE_KINDS:
        yield from device_causes(kind, obj, old=old, subresource=subresource, namespace=namespace)
        return
    yield from metadata_causes(Fields("", obj))
    if kind == PODS and not subresource:
        yield from pod_change_causes(obj, old=old)


def _keep_other_parts(kind: Kind, obj: JsonObject, *, old: JsonObject, subresource: str) -> None:
    if not subresource:
        if kind in KINDS_WITH_STATUS:
            _take(obj, "status", old)
        if kind == NAMESPACES:
            _take(obj, "spec", old)
        if kind == DEVICE_TAINT_RULES:
            _renew_taint_time(obj, old)
        return
    changed = {key: obj[key] for key in ("spec", "status") if key in obj}
    obj.clear()
    obj.update(old)
    if subresource in {"status", "binding"}:
        obj["status"] = changed.get("status") or {}
    if subresource in {"binding", "finalize"} and "spec" in changed:
        obj["spec"] = changed["spec"]
    if kind == RESOURCE_CLAIMS:
        drop_freed_devices(obj, old=old)


def _take(obj: JsonObject, field: str, old: JsonObject) -> None:
    if field in old:
        obj[field] = old[field]
    else:
        obj.pop(field, None)


def _renew_taint_time(rule: JsonObject, old: JsonObject) -> None:
    taint, before = inside(rule, "spec", "taint"), inside(old, "spec", "taint")
    changed = taint.text("effect") != before.text("effect")
    if changed and taint.text("timeAdded") == before.text("timeAdded"):
        taint.raw["timeAdded"] = timestamp(now())


def _unreadable(kind: Kind, error: DecodeError) -> BadRequestError:
    return BadRequestError(
        f'{kind.kind} in version "{kind.api_version}" cannot be handled as a {kind.kind}: {error}'
    )
