"""What the request form draws: options with what is free of each, errors at their fields."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dra_console.allocator.explanation.explanation import ExplainedOutcome
from dra_console.provisioning.checks import Finding, Severity
from dra_console.provisioning.choices import ClassChoice, ModelChoice
from dra_console.provisioning.manifest import TemplateForm
from dra_console.scheduling.whatif.preview import Preview
from dra_console.web.forms.request_form import FieldProblem, product_key
from dra_console.web.wording import counted, model_in_words

ANY = "anything"


@dataclass(frozen=True, slots=True)
class Option:
    """One radio button."""

    value: str
    label: str
    note: str
    is_chosen: bool
    is_disabled: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether what is asked for fits now."""

    tone: str
    word: str
    text: str
    advice: tuple[str, ...]


def class_options(choices: Iterable[ClassChoice], *, chosen: str) -> tuple[Option, ...]:
    """Offer the classes; one that selects no device can never be met, and says so."""
    options = [
        Option(
            value=choice.name,
            label=choice.name,
            note=_free(choice.free, choice.total),
            is_chosen=choice.name == chosen,
            is_disabled=choice.total == 0 and choice.name != chosen,
        )
        for choice in choices
    ]
    if chosen and not any(option.is_chosen for option in options):
        options.append(Option(chosen, chosen, "no such class", is_chosen=True))
    return tuple(options)


def model_options(choices: Sequence[ClassChoice], *, values: TemplateForm) -> tuple[Option, ...]:
    """Offer the models of all classes; those of other classes are there, but not to be chosen."""
    of_class = next((one for one in choices if one.name == values.device_class_name), None)
    own = of_class.models if of_class else ()
    chosen_key = product_key(values.product)
    options = [
        Option(
            value="",
            label="Any of the class",
            note=_free(of_class.free, of_class.total) if of_class else "",
            is_chosen=not chosen_key,
        )
    ]
    options += [
        Option(
            value=product_key(model.product),
            label=_label(model),
            note=_free(model.free, model.total),
            is_chosen=product_key(model.product) == chosen_key,
        )
        for model in own
    ]
    if values.product is not None and not any(option.is_chosen for option in options):
        label = " · ".join(filter(None, (values.product.product_name, values.product.profile)))
        options.append(Option(chosen_key, label, "no such device", is_chosen=True))
    offered = {option.value for option in options}
    others = {
        product_key(model.product): model
        for choice in choices
        for model in choice.models
        if product_key(model.product) not in offered
    }
    options += [
        Option(key, _label(model), "not in this class", is_chosen=False, is_disabled=True)
        for key, model in sorted(others.items())
    ]
    return tuple(options)


def together_options(choice: ClassChoice | None, *, chosen: str) -> tuple[Option, ...]:
    """Offer what devices can be kept together on."""
    attributes = list(choice.keep_together) if choice else []
    if chosen and chosen not in attributes:
        attributes.append(chosen)
    options = [Option("", ANY, "", is_chosen=not chosen)]
    options += [
        Option(attribute, _attribute_label(attribute), attribute, is_chosen=attribute == chosen)
        for attribute in attributes
    ]
    return tuple(options)


def verdict_of(preview: Preview) -> Verdict:
    """Say in one line whether it fits now, and where."""
    explanation = preview.explanation
    if explanation.outcome is ExplainedOutcome.FITS:
        at_least = "≥ " if preview.is_lower_bound else ""
        places = counted(len(preview.node_names), "node")
        return Verdict(
            tone="ok",
            word="fits now",
            text=f"on {at_least}{places}: {', '.join(preview.node_names)}",
            advice=(),
        )
    tone = "sick" if explanation.outcome is ExplainedOutcome.BROKEN else "warn"
    return Verdict(
        tone=tone,
        word="does not fit now",
        text=explanation.headline,
        # Advice to wait for a claim is left out: whose it is may be hidden from the reader.
        advice=tuple(
            f"{one.text}: {one.detail}" for one in explanation.suggestions if one.holder is None
        ),
    )


def messages_by_field(
    findings: Iterable[Finding], problems: Iterable[FieldProblem]
) -> Mapping[str, list[str]]:
    """Collect errors by field; those of no field are under an empty name, with their path."""
    found: dict[str, list[str]] = defaultdict(list)
    for problem in problems:
        found[problem.field].append(problem.message)
    for finding in findings:
        if finding.severity is not Severity.ERROR:
            continue
        text = finding.message if finding.form_field else f"{finding.field}: {finding.message}"
        found[finding.form_field].append(text)
    return dict(found)


def warnings_of(findings: Iterable[Finding]) -> list[str]:
    """Collect what is legal but probably not meant."""
    return [one.message for one in findings if one.severity is Severity.WARNING]


def _free(free: int, total: int) -> str:
    if not total:
        return "no such device"
    return f"{free} free of {total}" if free else f"all {total} taken"


def _label(model: ModelChoice) -> str:
    memory = model.memory.units_rounded_up if model.memory is not None else None
    label = model_in_words(model.product.product_name, memory)
    return f"{label} · {model.product.profile}" if model.product.profile else label


def _attribute_label(attribute: str) -> str:
    name = attribute.rpartition("/")[2]
    return {"pcieRoot": "one PCIe root", "numaNode": "one NUMA node"}.get(name, name)
