"""A device's facts as the variable `device`."""

from collections.abc import Hashable

from dra_console.allocator.cel.values import Domains, Value
from dra_console.allocator.facts import VERSION_KINDS, DeviceFacts
from dra_console.allocator.inventory import AttributeValue
from dra_console.allocator.semver import Semver


def device_variables(facts: DeviceFacts) -> dict[str, Value]:
    """Build the variables of one evaluation."""
    attributes, capacity = Domains(), Domains()
    for domain, values in facts.attributes.items():
        held: dict[Hashable, Value] = {name: _value(value) for name, value in values.items()}
        attributes[domain] = held
    for domain, amounts in facts.capacity.items():
        capacity[domain] = dict(amounts)
    device: dict[Hashable, Value] = {
        "driver": facts.driver,
        "allowMultipleAllocations": facts.allow_multiple_allocations,
        "attributes": attributes,
        "capacity": capacity,
    }
    return {"device": device, "@device": device}


def _value(attribute: AttributeValue) -> Value:
    if isinstance(attribute.value, tuple):
        if attribute.kind in VERSION_KINDS:
            return [Semver.parse(str(each)) for each in attribute.value]
        return [*attribute.value]
    if attribute.kind in VERSION_KINDS:
        return Semver.parse(str(attribute.value))
    return attribute.value
