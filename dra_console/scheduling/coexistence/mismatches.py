"""Whether a held device still is what the claim asks for.

A class may change and a driver may publish other attributes while a claim holds a device. The
claim stays valid: allocations are never looked at again (`dra-semantics.md` 1.7). So this is
told, and nothing more.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from dra_console.allocator.cel.selectors import (
    CompileFault,
    EvaluationFault,
    default_engine,
)
from dra_console.allocator.facts import DeviceFacts, facts_of
from dra_console.allocator.model import Device, DeviceClass, DeviceResult, DeviceWish
from dra_console.scheduling.coexistence.facts import HeldClaim, Mismatch, World
from dra_console.scheduling.coexistence.findings import (
    ClaimRef,
    Finding,
    FindingKind,
    Severity,
)

GONE: Final = "does not exist any more"


def mismatch_findings(world: World) -> Iterator[Finding]:
    """Tell which claims hold something else than they ask for."""
    for claim in world.claims:
        found = world.mismatches.get(claim.uid, ())
        if not found:
            continue
        first = found[0]
        yield Finding(
            kind=FindingKind.NO_MATCH,
            key=claim.uid,
            severity=Severity.INFORMATION,
            claims=(ClaimRef(claim.namespace, claim.name, claim.uid, f"request {first.request}"),),
            pool=str(first.device.pool_id),
            device=first.device,
            facts={"reason": first.reason, "devices": str(len(found))},
        )


def why_no_match(
    claim: HeldClaim,
    result: DeviceResult,
    *,
    device: Device | None,
    classes: Mapping[str, DeviceClass],
) -> Mismatch | None:
    """Say why a device of the claim is not what its request asks for; None: it is.

    Without the device only its class is looked at: that it vanished is told elsewhere.
    """
    wish = claim.wishes.get(result.request)
    if wish is None:
        # Results of extended resources and of unreadable claims name requests of their own.
        return None
    reason = _class_gone(wish, classes)
    if not reason and device is not None:
        facts = facts_of(device, driver=result.driver)
        device_class = classes[wish.device_class_name]
        reason = _first_no(
            facts, device_class.selectors, of=f"class {device_class.name}"
        ) or _first_no(facts, wish.selectors, of="the request")
    return Mismatch(result.request, result.device_id, reason) if reason else None


def _class_gone(wish: DeviceWish, classes: Mapping[str, DeviceClass]) -> str:
    name = wish.device_class_name
    return "" if name in classes else f"class {name} {GONE}"


def _first_no(facts: DeviceFacts, selectors: tuple[str | None, ...], *, of: str) -> str:
    for index, expression in enumerate(selectors):
        if expression is None:
            continue
        program = default_engine().compile(expression)
        if isinstance(program, CompileFault):
            return f"selector {index} of {of} cannot be compiled"
        answer = program.evaluate(facts)
        if isinstance(answer, EvaluationFault):
            return f"selector {index} of {of} cannot be evaluated on it: {answer}"
        if not answer:
            return f"selector {index} of {of} does not match it: {expression}"
    return ""
