"""Where in a dump the input is broken: file, object, field path and reason.

The search knows field paths of the claim; a selector that fails is known by its owner and
number, and may be the class's.
"""

import re
from collections.abc import Sequence

from dra_console.allocator.command.dump import Dump
from dra_console.allocator.model import DeviceClass, ResourceClaim
from dra_console.allocator.outcomes import BrokenInput
from dra_console.allocator.search.wants import Want, wants_of


def blamed(dump: Dump, broken: BrokenInput, *, claims: Sequence[ResourceClaim]) -> str:
    """Write one line about a broken input that the claims met with."""
    for claim in claims:
        if broken.field and f"claim {claim.key}" in broken.message:
            return _line(dump, claim, broken.field, broken.message)
    classes = {each.name: each for each in dump.gathering.classes}
    for claim in claims:
        for want in wants_of(claim, classes=classes):
            line = _selector_line(dump, want, broken.message)
            if line:
                return line
    return f"{_place(dump, claims[0])}: {broken.message}" if claims else broken.message


def _selector_line(dump: Dump, want: Want, message: str) -> str:
    for selectors, owner, path in (
        (want.class_selectors, want.device_class, "spec"),
        (want.request_selectors, want.claim, want.path),
    ):
        for selector in selectors:
            start = rf"{re.escape(selector.owner)}: selector #{selector.index}\b"
            if owner is not None and re.match(start, message):
                field = f"{path}.selectors[{selector.index}].cel.expression"
                return _line(dump, owner, field, message)
    return ""


def _line(dump: Dump, blamed_one: ResourceClaim | DeviceClass, field: str, message: str) -> str:
    return f"{_place(dump, blamed_one)}: {field}: {message}"


def _place(dump: Dump, blamed_one: ResourceClaim | DeviceClass) -> str:
    if isinstance(blamed_one, DeviceClass):
        place = dump.place_of("DeviceClass", "", blamed_one.name)
        return f"{place}: DeviceClass {blamed_one.name}"
    place = dump.place_of("ResourceClaim", blamed_one.namespace, blamed_one.name)
    return f"{place}: ResourceClaim {blamed_one.key}"
