"""Claims made ready for the search, as far as no node has a say in it.

Every alternative of every request becomes an `Ask`: its class looked up and its selectors in
the order of evaluation (class first, which is what protects a request's selectors from
foreign devices). Alternatives that the search may never reach are prepared as well, so what
is broken about them is found here, for all nodes at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dra_console.allocator.cel.selectors import default_engine
from dra_console.allocator.inventory import DeviceId
from dra_console.allocator.model import (
    ALL_DEVICES,
    DEVICES_PER_CLAIM,
    EXACT_COUNT,
    DeviceClass,
    DeviceWish,
    ResourceClaim,
)
from dra_console.allocator.outcomes import BrokenInput, BrokenInputError
from dra_console.allocator.rules import DEFAULT_RULES, Feature, Rules
from dra_console.allocator.search.matching import Selector, Test, tests_of
from dra_console.allocator.search.wants import Want, wants_of

UNSUPPORTED_REQUEST: Final = "missing device class name (unsupported request type?)"
NOTHING_DERIVED: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """One alternative of a request, checked. `label` is `request` or `request/subrequest`."""

    number: int
    """Its place among all asks of the pod."""

    claim: ResourceClaim
    request: str
    label: str
    path: str
    wish: DeviceWish
    device_class: DeviceClass
    tests: tuple[Test, ...]
    """Its selectors in the order of evaluation: the class shields the request's."""

    derived: Mapping[str, str]
    """Expressions of derived attributes, by the attribute's name."""

    @property
    def takes_all(self) -> bool:
        """Tell whether all devices that match are to be taken."""
        return self.wish.allocation_mode == ALL_DEVICES

    def broken(
        self, message: str, *, field: str = "", device: DeviceId | None = None
    ) -> BrokenInputError:
        """Say that something is wrong with it, perhaps on one device."""
        path = f"{self.path}.{field}" if field else ""
        where = f"claim {self.claim.key}, request {self.label}"
        return BrokenInputError(BrokenInput(f"{where}: {message}", path, device))


@dataclass(frozen=True, slots=True, eq=False)
class PreparedRequest:
    """A request with its alternatives in order of preference; `exactly` has one."""

    name: str
    asks: tuple[Ask, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PreparedClaim:
    """A claim with its requests in order."""

    claim: ResourceClaim
    requests: tuple[PreparedRequest, ...]

    def check_size(self, least: Sequence[int]) -> None:
        """Refuse a claim whose requests need more devices than one claim may have.

        `least` is how many each request needs with its smallest alternative.

        Raises:
            BrokenInputError: they are too many.

        """
        if sum(least) > DEVICES_PER_CLAIM:
            raise broken(
                self.claim,
                f"number of requested devices {sum(least)} exceeds the claim limit "
                f"of {DEVICES_PER_CLAIM}",
                field="spec.devices.requests",
            )


def prepare(
    claims: Sequence[ResourceClaim],
    *,
    classes: Mapping[str, DeviceClass],
    rules: Rules = DEFAULT_RULES,
) -> tuple[PreparedClaim, ...]:
    """Look up and check everything that the search takes for granted.

    Raises:
        BrokenInputError: a claim cannot be allocated on any node as it is.

    """
    prepared: list[PreparedClaim] = []
    count = 0
    for claim in claims:
        for path in claim.spec.unknown_fields:
            raise broken(claim, f"{path} is not supported yet", field=path)
        of_request: list[list[Ask]] = [[] for _ in claim.spec.requests]
        for want in wants_of(claim, classes=classes):
            of_request[want.request_index].append(_ask(want, number=count, rules=rules))
            count += 1
        prepared.append(
            PreparedClaim(
                claim,
                tuple(
                    PreparedRequest(request.name, tuple(asks))
                    for request, asks in zip(claim.spec.requests, of_request, strict=True)
                ),
            )
        )
        _check_whole(prepared[-1])
    return tuple(prepared)


def _check_whole(prepared: PreparedClaim) -> None:
    claim = prepared.claim
    for index, request in enumerate(prepared.requests):
        if not request.asks:
            raise broken(
                claim,
                UNSUPPORTED_REQUEST,
                request=request.name,
                field=f"spec.devices.requests[{index}]",
            )
    prepared.check_size(
        [
            min(0 if ask.takes_all else ask.wish.count for ask in request.asks)
            for request in prepared.requests
        ]
    )
    for index, constraint in enumerate(claim.spec.constraints):
        if constraint.match_attribute is None and constraint.distinct_attribute is None:
            raise broken(
                claim,
                f"constraint #{index}: empty constraint (unsupported constraint type?)",
                field=f"spec.devices.constraints[{index}]",
            )


def _ask(want: Want, *, number: int, rules: Rules) -> Ask:
    _check_features(want, rules)
    for selector in want.request_selectors:
        _check_selector(want, selector)
    wish = want.wish
    if wish.names_admin_access and not rules.has(Feature.ADMIN_ACCESS):
        message = "admin access is requested, but the feature is disabled"
        raise _broken(want, message, field="adminAccess")
    name = wish.device_class_name
    if not name:
        raise _broken(want, UNSUPPORTED_REQUEST, field="deviceClassName")
    if want.device_class is None:
        message = f"could not retrieve device class {name}: no DeviceClass has this name"
        raise _broken(want, message, field="deviceClassName")
    for path in want.device_class.unknown_fields:
        message = f"{path} of class {name} is not supported yet"
        raise _broken(want, message, field="deviceClassName")
    for selector in want.class_selectors:
        _check_selector(want, selector)
    if wish.allocation_mode == EXACT_COUNT and wish.count < 1:
        message = f"expected a count of at least 1, got {wish.count}"
        raise _broken(want, message, field="count")
    if wish.allocation_mode not in {EXACT_COUNT, ALL_DEVICES}:
        message = f"unsupported count mode {wish.allocation_mode}"
        raise _broken(want, message, field="allocationMode")
    return Ask(
        number=number,
        claim=want.claim,
        request=want.request,
        label=want.label,
        path=want.path,
        wish=wish,
        device_class=want.device_class,
        tests=tests_of(want.selectors, engine=default_engine()),
        derived={each.name: each.expression for each in wish.derived_attributes} or NOTHING_DERIVED,
    )


def _check_features(want: Want, rules: Rules) -> None:
    wish = want.wish
    if want.subrequest and not rules.has(Feature.PRIORITIZED_LIST):
        raise broken(
            want.claim,
            "has subrequests, but the DRAPrioritizedList feature is disabled",
            request=want.request,
            field=want.path.rpartition(".")[0],
        )
    if wish.capacity is not None and not rules.has(Feature.CONSUMABLE_CAPACITY):
        who = f"subrequest {want.subrequest}" if want.subrequest else f"request {want.request}"
        message = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        raise BrokenInputError(
            BrokenInput(f"claim {want.claim.key}, {who}: {message}", f"{want.path}.capacity")
        )
    if wish.derived_attributes and not rules.has(Feature.DERIVED_ATTRIBUTES):
        message = "cannot handle request with derived attributes, the feature is disabled"
        raise _broken(want, message, field="derivedAttributes")


def _check_selector(want: Want, selector: Selector) -> None:
    if selector.expression is None:
        message = (
            f"{selector.owner}: selector #{selector.index}: "
            "CEL expression empty (unsupported selector type?)"
        )
        raise _broken(want, message, field="selectors")


def broken(
    claim: ResourceClaim, message: str, *, request: str = "", field: str = ""
) -> BrokenInputError:
    """Say what is wrong with a claim."""
    where = f", request {request}" if request else ""
    return BrokenInputError(BrokenInput(f"claim {claim.key}{where}: {message}", field))


def _broken(want: Want, message: str, *, field: str) -> BrokenInputError:
    return broken(want.claim, message, request=want.label, field=f"{want.path}.{field}")
