"""Strategic merge patch: a merge patch that knows which lists are keyed.

Source: `patchStrategy` and `patchMergeKey` of the Kubernetes types that are served here. The
field's name alone says how its list merges, as no two served kinds use one name differently.
"""

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.errors import BadRequestError

MERGE_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "addresses": "type",
        "conditions": "type",
        "containers": "name",
        "env": "name",
        "ephemeralContainers": "name",
        "hostAliases": "ip",
        "hostIPs": "ip",
        "imagePullSecrets": "name",
        "initContainers": "name",
        "ownerReferences": "uid",
        "podIPs": "ip",
        "ports": "containerPort",
        "reservedFor": "uid",
        "resourceClaimStatuses": "name",
        "resourceClaims": "name",
        "schedulingGates": "name",
        "secrets": "name",
        "topologySpreadConstraints": "topologyKey",
        "volumeDevices": "devicePath",
        "volumeMounts": "mountPath",
        "volumes": "name",
    }
)
MERGED_SETS: Final = frozenset({"finalizers", "podCIDRs"})

DIRECTIVE: Final = "$patch"
RETAIN_KEYS: Final = "$retainKeys"
DELETE_FROM_SET: Final = "$deleteFromPrimitiveList/"
ELEMENT_ORDER: Final = "$setElementOrder/"


def strategic_merge(target: Json, patch: Json, *, path: str = "") -> Json:
    """Apply a strategic merge patch and return the new value.

    Raises:
        BadRequestError: a directive or a keyed list that cannot be read; the message has its path.

    """
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    directive = patch.get(DIRECTIVE)
    if directive == "delete":
        return {}
    if directive == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != DIRECTIVE}
    if directive not in {None, "merge"}:
        raise BadRequestError(f"{path}.{DIRECTIVE}: unknown directive {directive!r}")
    merged = _retained(dict(target) if isinstance(target, dict) else {}, patch, path)
    for key, value in patch.items():
        if not key.startswith("$"):
            _merge_field(merged, key, value, f"{path}.{key}" if path else key)
    for key, value in patch.items():
        if key.startswith(DELETE_FROM_SET):
            _delete_from_set(merged, key.removeprefix(DELETE_FROM_SET), value, path)
        elif key.startswith(ELEMENT_ORDER):
            _put_in_order(merged, key.removeprefix(ELEMENT_ORDER), value)
    return merged


def _merge_field(merged: JsonObject, field: str, value: Json, path: str) -> None:
    if value is None:
        merged.pop(field, None)
    elif isinstance(value, list):
        merged[field] = _merge_list(field, merged.get(field), value, path)
    else:
        merged[field] = strategic_merge(merged.get(field), value, path=path)


def _retained(merged: JsonObject, patch: JsonObject, path: str) -> JsonObject:
    keys = patch.get(RETAIN_KEYS)
    if keys is None:
        return merged
    if not isinstance(keys, list):
        raise BadRequestError(f"{path}.{RETAIN_KEYS}: expected a list of names")
    return {key: value for key, value in merged.items() if key in keys}


def _merge_list(field: str, target: Json, patch: list[Json], path: str) -> list[Json]:
    current = list(target) if isinstance(target, list) else []
    if field in MERGED_SETS:
        return current + [copy.deepcopy(item) for item in patch if item not in current]
    merge_key = MERGE_KEYS.get(field)
    items = [item for item in patch if not _is_list_directive(item)]
    if merge_key is None or len(items) < len(patch):
        return [copy.deepcopy(item) for item in items]
    for index, item in enumerate(items):
        if not isinstance(item, dict) or merge_key not in item:
            raise BadRequestError(f"{path}[{index}].{merge_key}: required, it is the merge key")
        _merge_item(current, item, merge_key, f"{path}[{index}]")
    return current


def _is_list_directive(item: Json) -> bool:
    return isinstance(item, dict) and item.keys() == {DIRECTIVE} and item[DIRECTIVE] == "replace"


def _merge_item(current: list[Json], item: JsonObject, merge_key: str, path: str) -> None:
    position = next(
        (
            index
            for index, known in enumerate(current)
            if isinstance(known, dict) and known.get(merge_key) == item[merge_key]
        ),
        None,
    )
    if item.get(DIRECTIVE) == "delete":
        if position is not None:
            del current[position]
        return
    if position is None:
        current.append(strategic_merge({}, item, path=path))
    else:
        current[position] = strategic_merge(current[position], item, path=path)


def _delete_from_set(merged: JsonObject, field: str, values: Json, path: str) -> None:
    if not isinstance(values, list):
        raise BadRequestError(f"{path}.{DELETE_FROM_SET}{field}: expected a list")
    current = merged.get(field)
    if isinstance(current, list):
        merged[field] = [item for item in current if item not in values]


def _put_in_order(merged: JsonObject, field: str, order: Json) -> None:
    current = merged.get(field)
    if not isinstance(current, list) or not isinstance(order, list):
        return
    merge_key = MERGE_KEYS.get(field)

    def identity(item: Json) -> Json:
        return item.get(merge_key) if merge_key and isinstance(item, dict) else item

    wanted = [identity(item) for item in order]
    # Items that the patch does not name keep their place behind the named ones.
    current.sort(
        key=lambda item: wanted.index(identity(item)) if identity(item) in wanted else len(wanted)
    )
