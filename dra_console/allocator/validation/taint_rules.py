"""Rules for taints and tolerations of devices (KEP-5055), and what devices bind on (KEP-5007)."""

from collections.abc import Sequence
from typing import Final

from dra_console.allocator import names
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.inventory import NO_EXECUTE, NO_SCHEDULE
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import check_format, is_too_many

EFFECTS: Final = (NO_EXECUTE, NO_SCHEDULE, "None")
OPERATORS: Final = ("Equal", "Exists")
BINDING_CONDITIONS_LIMIT: Final = 4


def check_taint(taint: Fields, errors: FieldErrors, *, stored: Fields | None = None) -> None:
    """Check a taint; an effect that is `stored` already is not looked at again."""
    check_format(taint.text("key"), names.label_key, errors, path=taint.path_of("key"))
    check_format(taint.text("value"), names.label_value, errors, path=taint.path_of("value"))
    if stored is None or stored.text("effect") != taint.text("effect"):
        check_effect(taint, errors)


def check_effect(taint: Fields, errors: FieldErrors) -> None:
    """Check the effect of a taint, which has to be there."""
    effect = taint.text("effect")
    if not effect:
        errors.required(taint.path_of("effect"))
    elif effect not in EFFECTS:
        errors.not_supported(taint.path_of("effect"), effect, EFFECTS)


def check_toleration(toleration: Fields, errors: FieldErrors) -> None:
    """Check a toleration. Without a key it tolerates every key, whatever the operator.

    The API documents that an empty key goes with Exists alone; the server does not insist.
    """
    key, value = toleration.text("key"), toleration.text("value")
    if key:
        check_format(key, names.label_key, errors, path=toleration.path_of("key"))
    operator = toleration.text("operator") or "Equal"
    if operator == "Exists":
        if value:
            detail = "must be empty when `operator` is Exists"
            errors.invalid(toleration.path_of("value"), value, detail)
    elif operator == "Equal":
        check_format(value, names.label_value, errors, path=toleration.path_of("value"))
    else:
        errors.not_supported(toleration.path_of("operator"), operator, OPERATORS)
    effect = toleration.text("effect")
    if effect and effect not in EFFECTS:
        errors.not_supported(toleration.path_of("effect"), effect, EFFECTS)


def check_binding_conditions(owner: Fields, errors: FieldErrors) -> None:
    """Check the two lists of conditions of a device or of a result: both or neither."""
    ready, failed = "bindingConditions", "bindingFailureConditions"
    wanted, feared = owner.texts(ready), owner.texts(failed)
    for field, conditions in ((ready, wanted), (failed, feared)):
        path = owner.path_of(field)
        if not is_too_many(conditions, BINDING_CONDITIONS_LIMIT, errors, path=path):
            for index, condition in enumerate(conditions):
                check_format(condition, names.label_key, errors, path=f"{path}[{index}]")
        _check_repeats(conditions, errors, path=path)
    for index, condition in enumerate(feared):
        if condition in wanted:
            detail = "cannot be a condition of success and of failure"
            errors.invalid(f"{owner.path_of(failed)}[{index}]", condition, detail)
    if feared and not wanted:
        errors.invalid(owner.path_of(ready), [], f"required with {failed}")
    if wanted and not feared:
        errors.invalid(owner.path_of(failed), [], f"required with {ready}")


def _check_repeats(conditions: Sequence[str], errors: FieldErrors, *, path: str) -> None:
    for index, condition in enumerate(conditions):
        if condition in conditions[:index]:
            errors.duplicate(f"{path}[{index}]", condition)
