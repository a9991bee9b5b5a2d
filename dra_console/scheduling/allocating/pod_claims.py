"""Which claims a pod has, by the names that it and its status give."""

from collections.abc import Mapping

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import JsonObject


def claim_names_of(pod: JsonObject) -> list[tuple[str, str]]:
    """Pair the pod's own name of each claim that it needs with the claim's name.

    The claim's name is empty until the claim of a template is made. Entries that turned out to
    need none are left out (`status.resourceClaimStatuses` without a name).

    Raises:
        DecodeError: an entry is none.

    """
    entries = object_of(pod.get("spec")).get("resourceClaims")
    references = objects_of(entries)
    if isinstance(entries, list) and len(references) < len(entries):
        raise DecodeError("spec.resourceClaims", "expected objects")
    made = _made(pod)
    names: list[tuple[str, str]] = []
    for index, reference in enumerate(references):
        own_name, direct = reference.get("name"), reference.get("resourceClaimName") or ""
        if not isinstance(own_name, str) or not isinstance(direct, str):
            raise DecodeError(f"spec.resourceClaims[{index}]", f"expected names, got {reference}")
        if direct or own_name not in made:
            names.append((own_name, direct))
        elif made[own_name]:
            names.append((own_name, made[own_name]))
    return names


def _made(pod: JsonObject) -> Mapping[str, str]:
    statuses = objects_of(object_of(pod.get("status")).get("resourceClaimStatuses"))
    return {str(each.get("name")): str(each.get("resourceClaimName") or "") for each in statuses}
