"""What claims want, alternative by alternative, before anything is checked.

The search refuses broken wants (`asks`); an explanation has to say something about every
device even then, so both start from here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dra_console.allocator.model import DeviceClass, DeviceRequest, DeviceWish, ResourceClaim
from dra_console.allocator.search.matching import Selector


@dataclass(frozen=True, slots=True, eq=False)
class Want:
    """One alternative of a request. `label` is `request` or `request/subrequest`.

    `device_class` is `None` if no class has the name. `path` is where the wish stands in
    the claim.
    """

    claim: ResourceClaim
    request: str
    request_index: int
    subrequest: str
    """Name of the alternative; empty for a request that has only one way to be served."""

    label: str
    path: str
    wish: DeviceWish
    device_class: DeviceClass | None
    class_selectors: tuple[Selector, ...]
    request_selectors: tuple[Selector, ...]

    @property
    def selectors(self) -> tuple[Selector, ...]:
        """All selectors in the order of evaluation: the class shields the request's."""
        return self.class_selectors + self.request_selectors


def wants_of(claim: ResourceClaim, *, classes: Mapping[str, DeviceClass]) -> Iterator[Want]:
    """Walk the requests of a claim and the alternatives of each, in order of preference."""
    for index, request in enumerate(claim.spec.requests):
        path = f"spec.devices.requests[{index}]"
        for subrequest, inside, wish in _alternatives(request):
            label = f"{request.name}/{subrequest}" if subrequest else request.name
            device_class = classes.get(wish.device_class_name)
            of_class = device_class.selectors if device_class else ()
            class_owner = f"class {wish.device_class_name}"
            claim_owner = f"claim {claim.key}, request {label}"
            yield Want(
                claim=claim,
                request=request.name,
                request_index=index,
                subrequest=subrequest,
                label=label,
                path=f"{path}.{inside}",
                wish=wish,
                device_class=device_class,
                class_selectors=tuple(Selector.list(of_class, owner=class_owner)),
                request_selectors=tuple(Selector.list(wish.selectors, owner=claim_owner)),
            )


def _alternatives(request: DeviceRequest) -> Iterator[tuple[str, str, DeviceWish]]:
    for number, alternative in enumerate(request.first_available):
        yield alternative.name, f"firstAvailable[{number}]", alternative.wish
    if request.exactly is not None and not request.first_available:
        yield "", "exactly", request.exactly
