"""Kubernetes' `labelSelector` and `fieldSelector` as conditions on mirror rows.

Label keys come from the request, so none is ever spelled into a lookup or an alias: each is
a JSON key transform of its own, which reaches the database as a parameter.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from django.db.models import Model, Q, QuerySet, TextField
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast

from dra_console.api.problems import parameter_problem

Row = TypeVar("Row", bound=Model)

LABEL_KEY: Final = r"(?:[a-z0-9.-]+/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?"
TERM: Final = re.compile(
    rf"""\s*(?:
        (?P<negation>!\s*)?(?P<bare>{LABEL_KEY})
      | (?P<key>{LABEL_KEY})\s*(?P<operator>==|=|!=)\s*(?P<value>[A-Za-z0-9_.-]*)
      | (?P<set_key>{LABEL_KEY})\s+(?P<set_operator>in|notin)\s*\((?P<values>[^()]*)\)
    )\s*""",
    re.VERBOSE | re.ASCII,
)
BETWEEN_TERMS: Final = re.compile(r",(?![^(]*\))")
FIELD_TERM: Final = re.compile(
    r"\s*(?P<path>[A-Za-z.]+)\s*(?P<operator>==|=|!=)\s*(?P<value>\S*)\s*"
)


@dataclass(frozen=True, slots=True)
class LabelTerm:
    """One requirement: the label's value is (not) among `values`, or it is (not) there at all."""

    key: str
    values: tuple[str, ...] | None
    """None: any value."""

    holds: bool
    """False: the requirement is negated; a missing label meets it, too."""


def parse_label_selector(text: str) -> tuple[LabelTerm, ...]:
    """Read `a=b,c!=d,e in (f,g),h notin (i),j,!k`.

    Raises:
        Problem: it is none of these; the detail names the term.

    """
    return tuple(_label_term(term) for term in BETWEEN_TERMS.split(text) if term.strip())


def _label_term(text: str) -> LabelTerm:
    found = TERM.fullmatch(text)
    if found is None:
        raise parameter_problem(
            f"expected terms such as a=b, a!=b, a in (b,c), a or !a, got {text.strip()!r}",
            parameter="labelSelector",
        )
    if found["bare"]:
        term = LabelTerm(found["bare"], values=None, holds=found["negation"] is None)
    elif found["key"]:
        term = LabelTerm(found["key"], values=(found["value"],), holds=found["operator"] != "!=")
    else:
        values = tuple(value.strip() for value in found["values"].split(","))
        term = LabelTerm(found["set_key"], values=values, holds=found["set_operator"] == "in")
    if term.key.isdigit():
        # Databases read such a JSON key as a place in a list.
        raise parameter_problem(
            f"label keys of digits alone are not supported, got {term.key}",
            parameter="labelSelector",
        )
    return term


def with_labels(rows: QuerySet[Row], *, selector: str) -> QuerySet[Row]:
    """Select rows whose object carries the labels.

    Raises:
        Problem: the selector cannot be read.

    """
    for number, term in enumerate(parse_label_selector(selector)):
        alias = f"label_{number}"
        labels = KeyTransform("labels", KeyTransform("metadata", "raw"))
        # As text: the lookups of a JSON key would read each value as JSON.
        rows = rows.alias(**{alias: Cast(KeyTextTransform(term.key, labels), TextField())})
        held = Q((f"{alias}__isnull", False))
        if term.values is not None:
            held &= Q((f"{alias}__in", term.values))
        if term.holds:
            rows = rows.filter(held)
        elif term.values is None:
            rows = rows.filter(Q((f"{alias}__isnull", True)))
        else:
            missing = Q((f"{alias}__isnull", True))
            rows = rows.filter(missing | ~Q((f"{alias}__in", term.values)))
    return rows


def with_fields(rows: QuerySet[Row], *, selector: str, columns: Mapping[str, str]) -> QuerySet[Row]:
    """Select rows by fields such as `spec.nodeName=gpu-01`; `columns` maps field to column.

    Raises:
        Problem: the selector cannot be read, or names a field without a column.

    """
    for text in selector.split(","):
        if not text.strip():
            continue
        found = FIELD_TERM.fullmatch(text)
        column = columns.get(found["path"]) if found else None
        if found is None or column is None:
            raise parameter_problem(
                f"expected field=value or field!=value with one of {', '.join(sorted(columns))}; "
                f"got {text.strip()!r}",
                parameter="fieldSelector",
            )
        condition = Q((column, found["value"]))
        rows = rows.exclude(condition) if found["operator"] == "!=" else rows.filter(condition)
    return rows
