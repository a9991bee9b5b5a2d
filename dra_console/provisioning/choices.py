"""What the request form can offer: classes, the models in them, and what is free of each.

A model that a class does not hold can never be met through it; one of which nothing is
free can be met later. The two are told apart by `total` and `free`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

from dra_console.allocator.quantity import Quantity
from dra_console.mirror.inventory import State, device_states
from dra_console.mirror.models import Cluster
from dra_console.provisioning.class_devices import ClassDevices
from dra_console.provisioning.published import PublishedDevice
from dra_console.provisioning.wishes import ProductWish
from dra_console.telemetry.readings import DeviceKey

KEEP_TOGETHER_NAMES: Final = ("pcieRoot", "numaNode")
"""Attributes, of whichever domain, that say where in a node a device sits."""


NO_MEMORY: Final = Quantity(0)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """One model of whole device, or one size of partition of it, within a class."""

    product: ProductWish
    memory: Quantity | None
    """The least that one of its devices publishes; `None`: none publishes any."""

    free: int
    total: int


@dataclass(frozen=True, slots=True)
class ClassChoice:
    """One class, and what can be asked of it."""

    name: str
    free: int
    total: int
    models: tuple[ModelChoice, ...]
    """Largest memory first; devices that publish no product name are in none."""

    memory_domain: str
    """Domain of the capacity `memory`; empty if no device publishes one."""

    keep_together: tuple[str, ...]
    """Attributes by which devices can be kept together, as `domain/name`."""


def class_choices(cluster: Cluster) -> tuple[ClassChoice, ...]:
    """Work out what every class offers now, in order of names."""
    free = frozenset(
        DeviceKey(*state.key) for state in device_states(cluster) if state.state is State.FREE
    )
    classes = ClassDevices.read(cluster)
    with _lock:
        offered = _kept.setdefault(classes, {})
    for name in classes.class_names - offered.keys():
        offered[name] = _offer(classes.devices(name))
    return tuple(
        _class_choice(name, offered[name], free=free) for name in sorted(classes.class_names)
    )


@dataclass(frozen=True, slots=True)
class _Model:
    """Devices of a class that are of one model."""

    product: ProductWish
    memory: Quantity | None
    keys: tuple[DeviceKey, ...]


@dataclass(frozen=True, slots=True)
class _Offer:
    """What a class offers, whoever holds how much of it."""

    keys: tuple[DeviceKey, ...]
    models: tuple[_Model, ...]
    memory_domain: str
    keep_together: tuple[str, ...]


def _offer(devices: Collection[PublishedDevice]) -> _Offer:
    by_product: dict[ProductWish, list[PublishedDevice]] = defaultdict(list)
    for device in devices:
        if product := _product(device):
            by_product[product].append(device)
    models = [
        _Model(
            product,
            min((found[1] for each in of if (found := _memory(each))), default=None),
            tuple(each.key for each in of),
        )
        for product, of in by_product.items()
    ]
    models.sort(key=lambda model: (model.memory or NO_MEMORY, model.product.product_name))
    return _Offer(
        keys=tuple(each.key for each in devices),
        models=tuple(reversed(models)),
        memory_domain=next((found[0] for each in devices if (found := _memory(each))), ""),
        keep_together=tuple(
            sorted(
                {
                    f"{domain}/{attribute}"
                    for device in devices
                    for domain, values in device.facts.attributes.items()
                    for attribute in values.keys() & set(KEEP_TOGETHER_NAMES)
                },
                key=lambda attribute: KEEP_TOGETHER_NAMES.index(attribute.rpartition("/")[2]),
            )
        ),
    )


def _class_choice(name: str, offer: _Offer, *, free: Collection[DeviceKey]) -> ClassChoice:
    return ClassChoice(
        name=name,
        free=_count_free(offer.keys, free),
        total=len(offer.keys),
        models=tuple(
            ModelChoice(
                product=model.product,
                memory=model.memory,
                free=_count_free(model.keys, free),
                total=len(model.keys),
            )
            for model in offer.models
        ),
        memory_domain=offer.memory_domain,
        keep_together=offer.keep_together,
    )


def _product(device: PublishedDevice) -> ProductWish | None:
    domain, name = _text_attribute(device, "productName")
    return ProductWish(domain, name, _text_attribute(device, "profile")[1]) if name else None


def _text_attribute(device: PublishedDevice, name: str) -> tuple[str, str]:
    """Find an attribute in the driver's own domain, then in any other: domain and value."""
    driver = device.key.driver
    domains = sorted(device.facts.attributes, key=lambda domain: (domain != driver, domain))
    for domain in domains:
        attribute = device.facts.attributes[domain].get(name)
        if attribute is not None and isinstance(attribute.value, str):
            return domain, attribute.value
    return "", ""


def _memory(device: PublishedDevice) -> tuple[str, Quantity] | None:
    """Find the capacity `memory`: domain and amount."""
    for domain, capacities in sorted(device.facts.capacity.items()):
        if (amount := capacities.get("memory")) is not None:
            return domain, amount
    return None


def _count_free(keys: Iterable[DeviceKey], free: Collection[DeviceKey]) -> int:
    return sum(key in free for key in keys)


_lock: Final = Lock()
_kept: Final[WeakKeyDictionary[ClassDevices, dict[str, _Offer]]] = WeakKeyDictionary()
"""What classes offer depends on what is published, which seldom changes."""
