"""Rules for pods, as far as the console and the simulated kubelets rely on them.

Source: `dra-semantics.md` 1.12 and Kubernetes' pod validation.
"""

from collections.abc import Iterator
from typing import Final

from dra_console.allocator import names
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.model import JsonObject
from dra_console.devcluster.errors import Cause
from dra_console.devcluster.metadata import LABEL_LENGTH, LABEL_PATTERN

MUTABLE_SPEC_FIELDS: Final = frozenset(
    {"activeDeadlineSeconds", "schedulingGates", "terminationGracePeriodSeconds", "tolerations"}
)
LONGEST_DEADLINE_SECONDS: Final = 2**31 - 1
CLAIM_SOURCES: Final = ("resourceClaimName", "resourceClaimTemplateName")
CONTAINER_GROUPS: Final = ("initContainers", "containers")
RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")


def pod_causes(pod: Fields) -> Iterator[Cause]:
    """Yield what is wrong with a new pod.

    Raises:
        DecodeError: a field is of another type than the API declares.

    """
    spec = pod.child("spec")
    if spec is None or not spec.raw.get("containers"):
        yield Cause("spec.containers", "FieldValueRequired", "Required value")
        return
    policy = spec.text("restartPolicy")
    if policy not in RESTART_POLICIES:
        choices = ", ".join(f'"{choice}"' for choice in RESTART_POLICIES)
        message = f'Unsupported value: "{policy}": supported values: {choices}'
        yield Cause("spec.restartPolicy", "FieldValueNotSupported", message)
    deadline = spec.integer("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= LONGEST_DEADLINE_SECONDS:
        message = f"Invalid value: {deadline}: must be between 1 and {LONGEST_DEADLINE_SECONDS}"
        yield Cause("spec.activeDeadlineSeconds", "FieldValueInvalid", message)
    claim_names: set[str] = set()
    for claim in spec.children("resourceClaims"):
        yield from _claim_causes(claim, known=claim_names)
        claim_names.add(claim.text("name"))
    container_names: set[str] = set()
    for group in CONTAINER_GROUPS:
        for container in spec.children(group):
            yield from _name_causes(container, known=container_names)
            container_names.add(container.text("name"))
            if not container.text("image"):
                yield Cause(container.path_of("image"), "FieldValueRequired", "Required value")
            yield from _reference_causes(container, claim_names=claim_names)


def pod_change_causes(pod: JsonObject, *, old: JsonObject) -> Iterator[Cause]:
    """Yield what an update changes although it may not."""
    if _fixed_part(pod) != _fixed_part(old):
        message = (
            "Forbidden: pod updates may not change fields other than"
            " `spec.containers[*].image`,`spec.initContainers[*].image`,"
            "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing"
            " tolerations),`spec.terminationGracePeriodSeconds`"
        )
        yield Cause("spec", "FieldValueForbidden", message)


def _claim_causes(claim: Fields, *, known: set[str]) -> Iterator[Cause]:
    yield from _name_causes(claim, known=known)
    unknown = [field for field in claim.raw if field not in {"name", *CLAIM_SOURCES}]
    for field in unknown:
        hint = ": since 1.31 its fields stand in the claim itself" if field == "source" else ""
        yield Cause(claim.path_of(field), "UnknownField", f"unknown field{hint}")
    if unknown:
        return
    sources = [field for field in CLAIM_SOURCES if claim.optional_text(field) is not None]
    if len(sources) != 1:
        found = "at most one may be specified" if sources else "must specify one of"
        message = f"Invalid value: {found}: `resourceClaimName`, `resourceClaimTemplateName`"
        yield Cause(claim.path, "FieldValueInvalid", message)
    for field in sources:
        name = claim.text(field)
        for detail in names.dns_subdomain(name):
            message = f'Invalid value: "{name}": {detail}'
            yield Cause(claim.path_of(field), "FieldValueInvalid", message)


def _name_causes(named: Fields, *, known: set[str]) -> Iterator[Cause]:
    name, path = named.text("name"), named.path_of("name")
    if not name:
        yield Cause(path, "FieldValueRequired", "Required value")
    elif not LABEL_PATTERN.fullmatch(name) or len(name) > LABEL_LENGTH:
        message = f'Invalid value: "{name}": a lowercase RFC 1123 label is expected'
        yield Cause(path, "FieldValueInvalid", message)
    elif name in known:
        yield Cause(path, "FieldValueDuplicate", f'Duplicate value: "{name}"')


def _reference_causes(container: Fields, *, claim_names: set[str]) -> Iterator[Cause]:
    """Check which claims a container uses: all of a claim, or some of its requests."""
    resources = container.child("resources")
    whole: set[str] = set()
    parts: set[tuple[str, str]] = set()
    for claim in resources.children("claims") if resources else ():
        name, request = claim.text("name"), claim.text("request")
        if not name:
            yield Cause(claim.path, "FieldValueRequired", "Required value")
            continue
        if name not in claim_names:
            there_are = ", ".join(sorted(claim_names)) or "none"
            message = f'Not found: "{name}": pod.spec.resourceClaims has {there_are}'
            yield Cause(claim.path, "FieldValueNotFound", message)
        for detail in names.dns_label(request) if request else ():
            message = f'Invalid value: "{request}": {detail}'
            yield Cause(claim.path_of("request"), "FieldValueInvalid", message)
        is_used = name in whole or (name, request) in parts
        if is_used or (not request and any(each == name for each, _ in parts)):
            shown = f"{name}/{request}" if request else name
            yield Cause(claim.path, "FieldValueDuplicate", f'Duplicate value: "{shown}"')
        if request:
            parts.add((name, request))
        else:
            whole.add(name)


def _fixed_part(pod: JsonObject) -> JsonObject:
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        return {}
    fixed = {key: value for key, value in spec.items() if key not in MUTABLE_SPEC_FIELDS}
    for group in CONTAINER_GROUPS:
        containers = spec.get(group)
        if isinstance(containers, list):
            fixed[group] = [
                {key: value for key, value in container.items() if key != "image"}
                if isinstance(container, dict)
                else container
                for container in containers
            ]
    return fixed
