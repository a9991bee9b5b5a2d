"""Which field of the request form a path in the template belongs to."""

import re
from typing import Final

from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import JsonObject
from dra_console.provisioning.template_parts import DEVICES_PATH, REQUEST_PATH, TemplateParts
from dra_console.provisioning.wishes import Selectors

_BY_PATH: Final = {
    "metadata.name": "name",
    "metadata.namespace": "namespace",
    f"{DEVICES_PATH}.requests": "count",
    f"{REQUEST_PATH}.exactly.deviceClassName": "device_class_name",
    f"{REQUEST_PATH}.exactly.count": "count",
    f"{REQUEST_PATH}.exactly.allocationMode": "allocation_mode",
}
_SELECTOR: Final = re.compile(re.escape(f"{REQUEST_PATH}.exactly.selectors[") + r"(\d+)\].*")
_CONSTRAINT: Final = re.compile(re.escape(f"{DEVICES_PATH}.constraints[") + r"\d+\].*")


def form_field_of(path: str, *, template: JsonObject) -> str:
    """Name the field of `TemplateForm`; empty if the form does not show the path."""
    if found := _BY_PATH.get(path):
        return found
    if _CONSTRAINT.fullmatch(path):
        return "keep_together"
    if selector := _SELECTOR.fullmatch(path):
        return _selector_field(int(selector[1]), template)
    return ""


def _selector_field(position: int, template: JsonObject) -> str:
    try:
        selectors = Selectors.read(TemplateParts.of(template).exactly)
    except DecodeError:
        return ""
    for field, shown in (
        ("product", selectors.product),
        ("memory", selectors.memory),
        ("extra_selector", selectors.extra),
    ):
        if shown and shown[0] == position:
            return field
    return ""
