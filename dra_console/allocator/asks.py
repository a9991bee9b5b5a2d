"""Claims made ready for the search on one node.

Every alternative of every request becomes an `Ask`: its class looked up, its selectors in
the order of evaluation (class first, which is what protects a request's selectors from
foreign devices), and for mode All the devices it means. Alternatives that the search may
never reach are prepared as well, so what is broken about them is found here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dra_console.allocator.inventory import Node
from dra_console.allocator.matching import Matcher, Selector
from dra_console.allocator.model import (
    ALL_DEVICES,
    EXACT_COUNT,
    DeviceClass,
    DeviceRequest,
    DeviceWish,
    ResourceClaim,
)
from dra_console.allocator.outcomes import BrokenInput, BrokenInputError
from dra_console.allocator.pools import NodePool, PoolStatus, PublishedDevice

DEVICES_PER_CLAIM: Final = 32
"""Most devices in the allocation of one claim."""


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """One alternative of a request. `label` is `request` or `request/subrequest`."""

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
        requests = tuple(
            PreparedRequest(request.name, tuple(self._asks(claim, request, index)))
            for index, request in enumerate(claim.spec.requests)
        )
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

    def _asks(self, claim: ResourceClaim, request: DeviceRequest, index: int) -> Iterator[Ask]:
        path = f"spec.devices.requests[{index}]"
        if request.exactly is not None:
            yield self._ask(claim, request.name, request.name, request.exactly, f"{path}.exactly")
            return
        if not request.first_available:
            raise _broken(
                claim,
                "missing device class name (unsupported request type?)",
                request=request.name,
                field=path,
            )
        for number, alternative in enumerate(request.first_available):
            yield self._ask(
                claim,
                request.name,
                f"{request.name}/{alternative.name}",
                alternative.wish,
                f"{path}.firstAvailable[{number}]",
            )

    def _ask(
        self, claim: ResourceClaim, request: str, label: str, wish: DeviceWish, path: str
    ) -> Ask:
        if not wish.device_class_name:
            raise _broken(
                claim,
                "missing device class name (unsupported request type?)",
                request=label,
                field=f"{path}.deviceClassName",
            )
        device_class = self.classes.get(wish.device_class_name)
        if device_class is None:
            raise _broken(
                claim,
                f"could not retrieve device class {wish.device_class_name}: "
                "no DeviceClass has this name",
                request=label,
                field=f"{path}.deviceClassName",
            )
        selectors = (
            *Selector.list(device_class.selectors, owner=f"class {device_class.name}"),
            *Selector.list(wish.selectors, owner=f"claim {claim.key}, request {label}"),
        )
        for selector in selectors:
            if selector.expression is None:
                raise _broken(
                    claim,
                    f"{selector.owner}: selector #{selector.index}: "
                    "CEL expression empty (unsupported selector type?)",
                    request=label,
                )
        ask = Ask(claim, request, label, wish, device_class, selectors, every=None)
        if wish.allocation_mode == ALL_DEVICES:
            return replace(ask, every=self._every(ask))
        if wish.allocation_mode != EXACT_COUNT:
            raise _broken(
                claim,
                f"unsupported count mode {wish.allocation_mode}",
                request=label,
                field=f"{path}.allocationMode",
            )
        if wish.count < 1:
            raise _broken(
                claim,
                f"expected a count of at least 1, got {wish.count}",
                request=label,
                field=f"{path}.count",
            )
        return ask

    def _every(self, ask: Ask) -> tuple[PublishedDevice, ...]:
        for pool in self.pools:
            if pool.status is not PoolStatus.READY:
                is_updated = pool.status is PoolStatus.INCOMPLETE
                state = "being updated" if is_updated else "invalid"
                raise _broken(
                    ask.claim,
                    f"asks for all devices, but resource pool {pool.id} is currently {state} "
                    f"({pool.problem})",
                    request=ask.label,
                )
        return tuple(
            published
            for pool in self.pools
            for published in pool.devices
            if self.matcher.matches(ask.selectors, published, node=self.node)
            and self.matcher.has_capacity(published, wish=ask.wish)
        )


def _broken(
    claim: ResourceClaim, message: str, *, request: str = "", field: str = ""
) -> BrokenInputError:
    where = f", request {request}" if request else ""
    return BrokenInputError(
        BrokenInput(
            message=f"claim {claim.key}{where}: {message}",
            claim=claim.key,
            request=request,
            field=field,
        )
    )
