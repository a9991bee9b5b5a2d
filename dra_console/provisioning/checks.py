"""What is wrong with a template, in words that a form can put beside its fields.

First the API server's own rules (`allocator.validation`), and what it would store although it
cannot be meant so. Then what no allocation could ever meet, told from what this cluster has: a
class that does not exist, an attribute that no device of the class has. Whether it fits *now* is
another question (`scheduling.whatif.preview`).

An attribute that the expression itself treats as optional (`has()`, `.?`) is only warned of.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Final

from dra_console.allocator.cel.selectors import Program, default_engine
from dra_console.allocator.decoding.decode import decode_template
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import ClaimSpec, DeviceWish, JsonObject
from dra_console.allocator.validation.refusals import refuse_template
from dra_console.allocator.validation.validate import validate_template
from dra_console.mirror.models import Cluster
from dra_console.provisioning.class_devices import ClassDevices
from dra_console.provisioning.form_fields import form_field_of
from dra_console.provisioning.template_parts import DEVICES_PATH

NEAR_MISSES: Final = 3


class Severity(StrEnum):
    """Whether a template with this is to be created here."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a template."""

    field: str
    """Path in the template, as `spec.spec.devices.requests[0].exactly.count`."""

    form_field: str
    """Name of the field of `TemplateForm` that it is about; empty: of none."""

    message: str
    severity: Severity = Severity.ERROR


def check_template(cluster: Cluster, template: JsonObject) -> tuple[Finding, ...]:
    """List what is wrong with a ResourceClaimTemplate, the API server's own rules first."""
    problems = [
        _Problem(error.field, error.message, Severity.ERROR)
        for error in (*validate_template(template), *refuse_template(template))
    ]
    try:
        spec = decode_template(template).spec
    except DecodeError:
        pass  # validate_template has said so
    else:
        problems += _unmeetable(spec, ClassDevices.read(cluster))
    return tuple(
        Finding(
            field=problem.path,
            form_field=form_field_of(problem.path, template=template),
            message=problem.message,
            severity=problem.severity,
        )
        for problem in problems
    )


@dataclass(frozen=True, slots=True)
class _Problem:
    path: str
    message: str
    severity: Severity


def _unmeetable(spec: ClaimSpec, published: ClassDevices) -> Iterator[_Problem]:
    wishes = list(_wishes(spec))
    for path, wish in wishes:
        if wish.device_class_name not in published.class_names:
            if wish.device_class_name:
                yield _unknown_class(wish.device_class_name, published.class_names, path=path)
            continue
        for position, expression in enumerate(wish.selectors):
            if expression is not None:
                where = f"{path}.selectors[{position}].cel.expression"
                yield from _unknown_reads(
                    expression, published, class_name=wish.device_class_name, path=where
                )
    class_names = {wish.device_class_name for _, wish in wishes} & published.class_names
    for position, constraint in enumerate(spec.constraints):
        for field, attribute in (
            ("matchAttribute", constraint.match_attribute),
            ("distinctAttribute", constraint.distinct_attribute),
        ):
            if attribute is not None:
                where = f"{DEVICES_PATH}.constraints[{position}].{field}"
                yield from _unknown_attribute(attribute, published, class_names, path=where)


def _wishes(spec: ClaimSpec) -> Iterator[tuple[str, DeviceWish]]:
    for index, request in enumerate(spec.requests):
        path = f"{DEVICES_PATH}.requests[{index}]"
        if request.exactly is not None:
            yield f"{path}.exactly", request.exactly
        for position, alternative in enumerate(request.first_available):
            yield f"{path}.firstAvailable[{position}]", alternative.wish


def _unknown_class(name: str, class_names: Collection[str], *, path: str) -> _Problem:
    there_are = ", ".join(sorted(class_names)) or "none"
    return _Problem(
        f"{path}.deviceClassName",
        f"class {name} does not exist; there are: {there_are}{_did_you_mean(name, class_names)}",
        Severity.ERROR,
    )


def _unknown_reads(
    expression: str, published: ClassDevices, *, class_name: str, path: str
) -> Iterator[_Problem]:
    program = default_engine().compile(expression)
    if not isinstance(program, Program):
        return
    is_guarded = "has(" in expression or ".?" in expression or "[?" in expression
    severity = Severity.WARNING if is_guarded else Severity.ERROR
    total = published.count(class_name)
    for read in sorted(program.reads.names):
        if read.name is None:
            continue
        has = published.names(class_name, group=read.group)
        name = f"{read.domain}/{read.name}"
        if total and name not in has:
            word = "capacity" if read.group == "capacity" else "attribute"
            yield _Problem(
                path,
                f"0 of {total} devices of class {class_name} have {word} {name}"
                f"{_did_you_mean(name, has)}",
                severity,
            )


def _unknown_attribute(
    attribute: str, published: ClassDevices, class_names: Collection[str], *, path: str
) -> Iterator[_Problem]:
    total = sum(published.count(name) for name in class_names)
    has = {each for name in class_names for each in published.names(name, group="attributes")}
    if total and attribute not in has:
        classes = " and ".join(sorted(class_names))
        yield _Problem(
            path,
            f"0 of {total} devices of class {classes} have attribute {attribute}"
            f"{_did_you_mean(attribute, has)}",
            Severity.ERROR,
        )


def _did_you_mean(name: str, known: Collection[str]) -> str:
    """Suggest what is spelled alike, whatever the case and the domain before the slash."""
    by_spelling: dict[str, list[str]] = defaultdict(list)
    for each in sorted(known):
        by_spelling[_spelling(each)].append(each)
    near = get_close_matches(_spelling(name), by_spelling, n=NEAR_MISSES, cutoff=0.7)
    meant = [each for spelling in near for each in by_spelling[spelling]]
    return f"; did you mean {' or '.join(meant[:NEAR_MISSES])}?" if meant else ""


def _spelling(name: str) -> str:
    return name.rpartition("/")[2].lower()
