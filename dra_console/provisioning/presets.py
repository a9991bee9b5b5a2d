"""Three ways into the form, worked out from what the cluster has.

`train`: two of the largest whole GPUs, close together where devices say where they sit.
`notebook`: the smallest piece there is, a partition if the cluster has any.
`serve`: one of the smallest whole GPUs.

A model is asked for through the class that holds the fewest other devices, so that a class
made for a model is used instead of a selector. A preset for which nothing exists is left out.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from dra_console.allocator.quantity import Quantity
from dra_console.provisioning.choices import NO_MEMORY, ClassChoice, ModelChoice
from dra_console.provisioning.manifest import TemplateForm
from dra_console.provisioning.wishes import ProductWish

TRAIN_COUNT: Final = 2


@dataclass(frozen=True, slots=True)
class Preset:
    """One starting point."""

    slug: str
    title: str
    purpose: str
    values: TemplateForm
    """Without name and namespace."""

    free: int
    """Devices that it could have now, before closeness is asked for."""

    total: int


def presets(choices: Iterable[ClassChoice]) -> tuple[Preset, ...]:
    """Work out the presets from `choices.class_choices`."""
    offers = list(_best_offers(choices))
    whole = [offer for offer in offers if not offer.model.product.profile]
    found = []
    if whole:
        found.append(_train(max(whole, key=_size)))
    if offers:
        found.append(_notebook(min(offers, key=_size)))
    if whole:
        found.append(_serve(min(whole, key=_size)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Offer:
    """One model through one class."""

    of_class: ClassChoice
    model: ModelChoice

    def form(self) -> TemplateForm:
        is_only_model = len(self.of_class.models) == 1 and self.model.total == self.of_class.total
        return TemplateForm(
            device_class_name=self.of_class.name,
            product=None if is_only_model else self.model.product,
        )


def _best_offers(choices: Iterable[ClassChoice]) -> Iterator[_Offer]:
    """Give every model once, through the smallest class that holds all that is known of it."""
    by_product: dict[ProductWish, list[_Offer]] = defaultdict(list)
    for choice in choices:
        for model in choice.models:
            by_product[model.product].append(_Offer(choice, model))
    for offers in by_product.values():
        yield min(offers, key=lambda offer: (-offer.model.total, offer.of_class.total))


def _size(offer: _Offer) -> tuple[Quantity, str, str]:
    """Order by memory; of equal partitions the plain one comes before `+me`, with more in it."""
    product = offer.model.product
    return offer.model.memory or NO_MEMORY, product.product_name, product.profile


def _train(offer: _Offer) -> Preset:
    together = "".join(offer.of_class.keep_together[:1])
    return Preset(
        slug="train",
        title="Train",
        purpose="whole GPUs, close together" if together else "whole GPUs",
        values=replace(
            offer.form(), count=min(TRAIN_COUNT, offer.model.total), keep_together=together
        ),
        free=offer.model.free,
        total=offer.model.total,
    )


def _notebook(offer: _Offer) -> Preset:
    return Preset(
        slug="notebook",
        title="Notebook",
        purpose="a slice of a GPU" if offer.model.product.profile else "one small GPU",
        values=offer.form(),
        free=offer.model.free,
        total=offer.model.total,
    )


def _serve(offer: _Offer) -> Preset:
    return Preset(
        slug="serve",
        title="Serve",
        purpose="one whole GPU, the smallest",
        values=offer.form(),
        free=offer.model.free,
        total=offer.model.total,
    )
