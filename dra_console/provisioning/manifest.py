"""The request form's values as a ResourceClaimTemplate, and a template as form values.

The form shows less than a template can hold, and must lose none of the rest. So a template
is never made anew from the form: `write_form` changes, in the template it is given, what
differs from what `read_form` finds there, and leaves everything else as it stands. Reading
what was written gives the same values, and writing what was read changes nothing.

The form speaks of the first request. If that is a prioritized list (`firstAvailable`), its
devices are not the form's to change.
"""

import copy
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.model import ALL_DEVICES, EXACT_COUNT, JsonObject
from dra_console.provisioning.template_parts import (
    SERVER_SET,
    TemplateParts,
    complete,
    new_template,
)
from dra_console.provisioning.wishes import MemoryWish, ProductWish, Selectors

_EXACTLY_ORDER: Final = ("deviceClassName", "allocationMode", "count", "selectors")


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateForm:
    """What the form asks for."""

    namespace: str = ""
    name: str = ""
    device_class_name: str = ""
    product: ProductWish | None = None
    memory: MemoryWish | None = None
    allocation_mode: str = EXACT_COUNT
    count: int = 1
    """Number of devices; means nothing in mode `All`."""

    keep_together: str = ""
    """Attribute that all devices must share, as in `resource.kubernetes.io/pcieRoot`."""

    extra_selector: str = ""
    """One more CEL expression, the user's own."""


@dataclass(frozen=True, slots=True)
class ShownTemplate:
    """A template as the form shows it."""

    values: TemplateForm
    not_shown: tuple[str, ...]
    """Paths of fields that the template has and the form does not show."""


def read_form(template: JsonObject) -> ShownTemplate:
    """Show a template in the form.

    Raises:
        DecodeError: it is no ResourceClaimTemplate of v1, or a field is of the wrong kind.

    """
    read = TemplateParts.of(template)
    selectors = Selectors.read(read.exactly)
    constraint = _keep_together(read)
    count = read.exactly.integer("count")
    values = TemplateForm(
        namespace=read.metadata.text("namespace"),
        name=read.metadata.text("name"),
        device_class_name=read.exactly.text("deviceClassName"),
        product=selectors.product[1] if selectors.product else None,
        memory=selectors.memory[1] if selectors.memory else None,
        allocation_mode=read.exactly.text("allocationMode") or EXACT_COUNT,
        count=1 if count is None else count,
        keep_together=constraint[1] if constraint else "",
        extra_selector=selectors.extra[1] if selectors.extra else "",
    )
    not_shown = (
        *_other_fields(read.root, {"apiVersion", "kind", "metadata", "spec"}),
        *_other_fields(read.metadata, {"name", "namespace"} | SERVER_SET),
        *_other_fields(read.spec, {"spec"}),
        *_other_fields(read.claim_spec, {"devices"}),
        *_other_fields(read.devices, {"requests", "constraints"}),
        *_other_fields(read.request, {"name", "exactly"}),
        *_other_fields(read.exactly, set(_EXACTLY_ORDER)),
        *_other_entries(read.exactly, "selectors", shown=selectors.positions),
        *_other_entries(read.devices, "requests", shown={0}),
        *_other_entries(read.devices, "constraints", shown={constraint[0]} if constraint else ()),
    )
    return ShownTemplate(values, not_shown)


def write_form(values: TemplateForm, *, base: JsonObject | None = None) -> JsonObject:
    """Put the form's values into a copy of `base`, or into a new template.

    Raises:
        DecodeError: as `read_form` about `base`.

    """
    template = copy.deepcopy(base) if base is not None else new_template()
    before = read_form(template).values
    complete(template)
    parts = TemplateParts.of(template)
    if values.name != before.name:
        parts.metadata.raw["name"] = values.name
    if values.namespace != before.namespace:
        parts.metadata.raw["namespace"] = values.namespace
    if not parts.request.has("firstAvailable"):
        _write_exactly(values, before, exactly=parts.exactly)
    if values.keep_together != before.keep_together:
        _write_keep_together(values.keep_together, parts)
    return template


def _write_exactly(values: TemplateForm, before: TemplateForm, *, exactly: Fields) -> None:
    fields = exactly.raw
    if values.device_class_name != before.device_class_name:
        fields["deviceClassName"] = values.device_class_name
    if values.allocation_mode != before.allocation_mode:
        fields["allocationMode"] = values.allocation_mode
        if values.allocation_mode == ALL_DEVICES:
            # The API server refuses a count beside it.
            fields.pop("count", None)
    if values.allocation_mode != ALL_DEVICES and values.count != before.count:
        fields["count"] = values.count
    entries = [entry for _, entry in exactly.items("selectors")]
    rewritten = Selectors.read(exactly).rewritten(
        entries, product=values.product, memory=values.memory, extra=values.extra_selector
    )
    if rewritten:
        fields["selectors"] = rewritten
    elif entries:
        del fields["selectors"]
    ordered = {key: fields.pop(key) for key in _EXACTLY_ORDER if key in fields}
    others = dict(fields)
    fields.clear()
    fields.update(ordered | others)


def _keep_together(parts: TemplateParts) -> tuple[int, str] | None:
    """Find the constraint that the form shows: its place and its attribute."""
    for position, constraint in enumerate(parts.devices.children("constraints")):
        attribute = constraint.text("matchAttribute")
        covers = constraint.texts("requests")
        is_plain = constraint.raw.keys() <= {"matchAttribute", "requests"}
        if attribute and is_plain and covers in ((), (parts.request.text("name"),)):
            return position, attribute
    return None


def _write_keep_together(attribute: str, parts: TemplateParts) -> None:
    entries = [entry for _, entry in parts.devices.items("constraints")]
    found = _keep_together(parts)
    if found and attribute:
        covers = Fields.at("", entries[found[0]]).raw
        entries[found[0]] = covers | {"matchAttribute": attribute}
    elif found:
        del entries[found[0]]
    else:
        constraint: JsonObject = {"matchAttribute": attribute}
        if len(list(parts.devices.items("requests"))) > 1:
            constraint["requests"] = [parts.request.text("name")]
        entries.append(constraint)
    parts.devices.raw["constraints"] = entries
    if not entries:
        del parts.devices.raw["constraints"]


def _other_fields(fields: Fields, shown: Collection[str]) -> Iterator[str]:
    """Name the fields that hold something and are not among the shown ones."""
    for key, value in fields.raw.items():
        if key not in shown and value not in (None, "", [], {}):
            yield fields.path_of(key)


def _other_entries(fields: Fields, key: str, *, shown: Collection[int]) -> Iterator[str]:
    for position, (path, _) in enumerate(fields.items(key)):
        if position not in shown:
            yield path
