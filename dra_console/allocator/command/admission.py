"""Would the API server have taken what somebody wrote by hand?

What came from a server carries a UID and was checked there, perhaps by other rules than
today's, so it is taken as it is. A manifest without one is checked as when it is applied:
an answer about a claim that can never exist would be worth nothing.
"""

from collections.abc import Iterator

from dra_console.allocator.api_json import object_of
from dra_console.allocator.command.dump import Dump
from dra_console.allocator.command.gathering import ObjectName
from dra_console.allocator.command.inquiries import Inquiry
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.rules import Rules
from dra_console.allocator.validation.validate import (
    validate_claim,
    validate_class,
    validate_template,
)


def refusals(dump: Dump, inquiry: Inquiry, *, rules: Rules) -> Iterator[str]:
    """Say what is wrong with the claims, templates and classes that are asked about."""
    names = [_named("ResourceClaimTemplate", key) for key in inquiry.templates.values()]
    for claim in inquiry.claims:
        names.append(_named("ResourceClaim", claim.key))
        names.extend(ObjectName("DeviceClass", "", each) for each in _classes_of(claim))
    for name in dict.fromkeys(names):
        yield from _refusals(dump, name, rules)


def _refusals(dump: Dump, name: ObjectName, rules: Rules) -> Iterator[str]:
    place, obj = dump.places.get(name, ("", None))
    if obj is None or object_of(obj.get("metadata")).get("uid"):
        return
    match name.kind:
        case "ResourceClaim":
            errors = validate_claim(obj, rules=rules)
        case "ResourceClaimTemplate":
            errors = validate_template(obj, rules=rules)
        case _:
            errors = validate_class(obj, rules=rules)
    for error in errors:
        yield f"{place}: {name}: {error}"


def _named(kind: str, key: str) -> ObjectName:
    namespace, _, name = key.partition("/")
    return ObjectName(kind, namespace, name)


def _classes_of(claim: ResourceClaim) -> Iterator[str]:
    for request in claim.spec.requests:
        if request.exactly is not None:
            yield request.exactly.device_class_name
        for alternative in request.first_available:
            yield alternative.wish.device_class_name
