"""Claims made ready for the search on one node.

Every alternative of every request becomes an `Ask`: its class looked up, its selectors in
the order of evaluation (class first, which is what protects a request's selectors from
foreign devices), and for mode All the devices it means. Alternatives that the search may
never reach are prepared as well, so what is broken about them is found here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dra_console.allocator.inventory import Node
from dra_console.allocator.model import (
    ALL_DEVICES,
    DEVICES_PER_CLAIM,
    EXACT_COUNT,
    DeviceClass,
    DeviceWish,
    ResourceClaim,
)
from dra_console.allocator.outcomes import BrokenInput, BrokenInputError
from dra_console.allocator.search.matching import Matcher, Selector
from dra_console.allocator.search.wants import Want, wants_of
from dra_console.allocator.world.pools import NodePool, PoolStatus, PublishedDevice

UNSUPPORTED_REQUEST: Final = "missing device class name (unsupported request type?)"


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """One alternative of a request, checked. `label` is `request` or `request/subrequest`."""

    claim: ResourceClaim
    request: str
    label: str
    wish: DeviceWish
    device_class: DeviceClass
    selectors: tuple[Selector, ...]
    every: tuple[PublishedDevice, ...] | None
    """In mode All, the devices that are all to be taken."""

    @property
    def count(self) -> int:
        return self.wish.count if self.every is None else len(self.every)


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


@dataclass(frozen=True, slots=True)
class Preparation:
    """Prepares claims for one node."""

    node: Node
    pools: Sequence[NodePool]
    classes: Mapping[str, DeviceClass]
    matcher: Matcher

    def prepare(self, claim: ResourceClaim) -> PreparedClaim:
        """Look up and check everything that the search takes for granted.

        Raises:
            BrokenInputError: the claim cannot be allocated on any node as it is.

        """
        for path in claim.spec.unknown_fields:
            raise _broken(claim, f"{path} is not supported yet", field=path)
        asks: dict[str, list[Ask]] = {request.name: [] for request in claim.spec.requests}
        for want in wants_of(claim, classes=self.classes):
            asks[want.request].append(self._ask(want))
        for index, request in enumerate(claim.spec.requests):
            if not asks[request.name]:
                raise _broken(
                    claim,
                    UNSUPPORTED_REQUEST,
                    request=request.name,
                    field=f"spec.devices.requests[{index}]",
                )
        requests = tuple(PreparedRequest(name, tuple(each)) for name, each in asks.items())
        least = sum(min(ask.count for ask in request.asks) for request in requests)
        if least > DEVICES_PER_CLAIM:
            raise _broken(
                claim,
                f"number of requested devices {least} exceeds the claim limit "
                f"of {DEVICES_PER_CLAIM}",
                field="spec.devices.requests",
            )
        for index, constraint in enumerate(claim.spec.constraints):
            if constraint.match_attribute is None and constraint.distinct_attribute is None:
                raise _broken(
                    claim,
                    f"constraint #{index}: empty constraint (unsupported constraint type?)",
                    field=f"spec.devices.constraints[{index}]",
                )
        return PreparedClaim(claim, requests)

    def _ask(self, want: Want) -> Ask:
        device_class = self._class(want)
        wish = want.wish
        for selector in want.selectors:
            if selector.expression is None:
                raise _broken_want(
                    want,
                    f"{selector.owner}: selector #{selector.index}: "
                    "CEL expression empty (unsupported selector type?)",
                    field="selectors",
                )
        ask = Ask(
            claim=want.claim,
            request=want.request,
            label=want.label,
            wish=wish,
            device_class=device_class,
            selectors=want.selectors,
            every=None,
        )
        if wish.allocation_mode == ALL_DEVICES:
            return replace(ask, every=self._every(want))
        if wish.allocation_mode != EXACT_COUNT:
            raise _broken_want(
                want,
                f"unsupported count mode {wish.allocation_mode}",
                field="allocationMode",
            )
        if wish.count < 1:
            raise _broken_want(
                want, f"expected a count of at least 1, got {wish.count}", field="count"
            )
        return ask

    def _class(self, want: Want) -> DeviceClass:
        name = want.wish.device_class_name
        if not name:
            raise _broken_want(want, UNSUPPORTED_REQUEST, field="deviceClassName")
        if want.device_class is None:
            raise _broken_want(
                want,
                f"could not retrieve device class {name}: no DeviceClass has this name",
                field="deviceClassName",
            )
        return want.device_class

    def _every(self, want: Want) -> tuple[PublishedDevice, ...]:
        for pool in self.pools:
            if pool.status is not PoolStatus.READY:
                is_updated = pool.status is PoolStatus.INCOMPLETE
                state = "being updated" if is_updated else "invalid"
                raise _broken_want(
                    want,
                    f"asks for all devices, but resource pool {pool.id} is currently {state} "
                    f"({pool.problem})",
                    field="allocationMode",
                )
        return tuple(
            published
            for pool in self.pools
            for published in pool.devices
            if self.matcher.matches(want.selectors, published, node=self.node)
            and self.matcher.has_capacity(published, wish=want.wish)
        )


def _broken(
    claim: ResourceClaim, message: str, *, request: str = "", field: str = ""
) -> BrokenInputError:
    where = f", request {request}" if request else ""
    return BrokenInputError(
        BrokenInput(
            message=f"claim {claim.key}{where}: {message}",
            field=field,
        )
    )


def _broken_want(want: Want, message: str, *, field: str) -> BrokenInputError:
    return _broken(want.claim, message, request=want.label, field=f"{want.path}.{field}")
