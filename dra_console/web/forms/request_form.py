"""The fields of the request form, between what a browser sends and `TemplateForm`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

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


def read_submission(
    sent: Mapping[str, str], *, choices: Sequence[ClassChoice], shown: TemplateForm
) -> Submission:
    """Read the fields; what cannot be read is as it was shown, and is named.

    `shown` is what the form held before the person changed it: what no class offers can only
    come from there, and stays while the class does.
    """
    problems: list[FieldProblem] = []
    class_name = sent.get("device_class_name", "")
    chosen = next((choice for choice in choices if choice.name == class_name), None)
    is_same_class = class_name == shown.device_class_name
    memory = sent.get("memory", "").strip()
    is_same_memory = shown.memory is not None and memory == shown.memory.least
    values = TemplateForm(
        namespace=sent.get("namespace", "").strip(),
        name=sent.get("name", "").strip(),
        device_class_name=class_name,
        product=_product(
            sent.get("product", ""), chosen=chosen, shown=shown.product if is_same_class else None
        ),
        memory=shown.memory
        if is_same_class and is_same_memory
        else _memory(memory, chosen=chosen, problems=problems),
        allocation_mode=ALL_DEVICES if sent.get("allocation_mode") == ALL_DEVICES else EXACT_COUNT,
        count=_count(sent.get("count", "1").strip(), problems=problems),
        keep_together=sent.get("keep_together", ""),
        extra_selector=sent.get("extra_selector", "").replace("\r\n", "\n").strip(),
    )
    unread = {problem.field: getattr(shown, problem.field) for problem in problems}
    return Submission(replace(values, **unread), tuple(problems))


def merged(*, shown: TemplateForm, form: TemplateForm, yaml: TemplateForm) -> TemplateForm:
    """Let both sides' changes to what was shown hold; where they differ, the form's does."""
    names = [field.name for field in fields(TemplateForm)]
    changed = {
        name: getattr(form, name) for name in names if getattr(form, name) != getattr(shown, name)
    }
    return replace(yaml, **changed)


def _product(
    key: str, *, chosen: ClassChoice | None, shown: ProductWish | None
) -> ProductWish | None:
    """Find the product among those of the class; another class's choice is no choice here."""
    models: Iterable[ProductWish] = (model.product for model in chosen.models) if chosen else ()
    known = [*models, shown] if shown else models
    return next((product for product in known if product_key(product) == key), None)


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
        count = int(text)
    except ValueError:
        problems.append(FieldProblem("count", f"expected a number of devices, got {text!r}"))
        return 1
    if count < 1:
        # In YAML 0 means the default, 1; who types it here means something else.
        problems.append(FieldProblem("count", f"expected at least 1 device, got {count}"))
    return count
