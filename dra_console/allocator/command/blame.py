"""Where in a dump the input is broken: file, object, field path and reason.

The search knows field paths of the claim; a selector that fails is known by its owner and
number, and may be the class's. A claim that was made up for a template is the template's.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dra_console.allocator.command.dump import Dump
from dra_console.allocator.command.inquiries import Inquiry
from dra_console.allocator.model import DeviceClass, ResourceClaim
from dra_console.allocator.outcomes import BrokenInput
from dra_console.allocator.search.wants import Want, wants_of


def blamed(dump: Dump, broken: BrokenInput, *, inquiry: Inquiry) -> str:
    """Write one line about a broken input that pending claims met with."""
    return _Search(dump, inquiry.templates).line(broken, inquiry.claims)


@dataclass(frozen=True, slots=True)
class _Search:
    dump: Dump
    templates: Mapping[str, str]

    def line(self, broken: BrokenInput, claims: tuple[ResourceClaim, ...]) -> str:
        pending = [claim for claim in claims if claim.allocation is None]
        for claim in pending:
            if broken.field and f"claim {claim.key}" in broken.message:
                return f"{self._claim(claim, broken.field)}: {broken.message}"
        places = (place for claim in pending for place in self._selectors(claim, broken.message))
        first = next(places, None) or (self._claim(pending[0], "spec") if pending else "-")
        return f"{first}: {broken.message}"

    def _selectors(self, claim: ResourceClaim, message: str) -> Iterator[str]:
        """Yield the places of the selectors with which the message begins."""
        classes = {each.name: each for each in self.dump.gathering.classes}
        for want in wants_of(claim, classes=classes):
            for selector in want.selectors:
                start = rf"{re.escape(selector.owner)}: selector #{selector.index}\b"
                if re.match(start, message):
                    field = f"selectors[{selector.index}].cel.expression"
                    yield self._owner(want, field, is_class=selector in want.class_selectors)

    def _owner(self, want: Want, field: str, *, is_class: bool) -> str:
        if is_class and want.device_class is not None:
            return self._class(want.device_class, f"spec.{field}")
        return self._claim(want.claim, f"{want.path}.{field}")

    def _class(self, device_class: DeviceClass, field: str) -> str:
        place = self.dump.place_of("DeviceClass", "", device_class.name)
        return f"{place}: DeviceClass {device_class.name}: {field}"

    def _claim(self, claim: ResourceClaim, field: str) -> str:
        template = self.templates.get(claim.key)
        if template is None:
            place = self.dump.place_of("ResourceClaim", claim.namespace, claim.name)
            return f"{place}: ResourceClaim {claim.key}: {field}"
        namespace, _, name = template.partition("/")
        place = self.dump.place_of("ResourceClaimTemplate", namespace, name)
        return f"{place}: ResourceClaimTemplate {template}: spec.{field}"
