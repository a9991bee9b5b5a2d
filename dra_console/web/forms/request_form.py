"""The fields of the request form, between what a browser sends and `TemplateForm`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dra_console.allocator.model import ALL_DEVICES, EXACT_COUNT
from dra_console.allocator.quantity import Quantity
from dra_console.provisioning.choices import ClassChoice
from dra_console.provisioning.manifest import TemplateForm
from dra_console.provisioning.wishes import MemoryWish, ProductWish

SEPARATOR = "|"
"""Between the parts of a product's key; neither domains nor profiles can hold it."""


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A field whose text means nothing to the form."""

    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Submission:
    """What was sent, and which fields of it cannot be read."""

    values: TemplateForm
    problems: tuple[FieldProblem, ...]


def product_key(product: ProductWish | None) -> str:
    """Name a product in a form field; empty: any."""
    if product is None:
        return ""
    return SEPARATOR.join((product.domain, product.profile, product.product_name))


def read_submission(sent: Mapping[str, str], *, choices: Sequence[ClassChoice]) -> Submission:
    """Read the fields; what cannot be read keeps its default and is named."""
    problems: list[FieldProblem] = []
    class_name = sent.get("device_class_name", "")
    chosen = next((choice for choice in choices if choice.name == class_name), None)
    values = TemplateForm(
        namespace=sent.get("namespace", "").strip(),
        name=sent.get("name", "").strip(),
        device_class_name=class_name,
        product=_product(sent.get("product", ""), chosen=chosen),
        memory=_memory(sent.get("memory", "").strip(), chosen=chosen, problems=problems),
        allocation_mode=ALL_DEVICES if sent.get("allocation_mode") == ALL_DEVICES else EXACT_COUNT,
        count=_count(sent.get("count", "1").strip(), problems=problems),
        keep_together=sent.get("keep_together", ""),
        extra_selector=sent.get("extra_selector", "").strip(),
    )
    return Submission(values, tuple(problems))


def _product(key: str, *, chosen: ClassChoice | None) -> ProductWish | None:
    """Find the product among those of the class; another class's choice is no choice here."""
    models: Iterable[ProductWish] = (model.product for model in chosen.models) if chosen else ()
    return next((product for product in models if product_key(product) == key), None)


def _memory(
    text: str, *, chosen: ClassChoice | None, problems: list[FieldProblem]
) -> MemoryWish | None:
    if not text:
        return None
    if chosen is None or not chosen.memory_domain:
        problems.append(FieldProblem("memory", "no device of this class publishes its memory"))
        return None
    try:
        Quantity.parse(text)
    except ValueError as error:
        problems.append(FieldProblem("memory", str(error)))
        return None
    return MemoryWish(chosen.memory_domain, text)


def _count(text: str, *, problems: list[FieldProblem]) -> int:
    try:
        return int(text)
    except ValueError:
        problems.append(FieldProblem("count", f"expected a number of devices, got {text!r}"))
        return 1
