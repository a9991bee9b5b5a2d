"""Which of what waits, and which attempts, to list."""

from collections.abc import Iterable, Mapping
from typing import Final

from django import forms
from django.http import QueryDict

from dra_console.scheduling.attempts.pending import NOT_TRIED
from dra_console.scheduling.models import Outcome

NOT_TRIED_LABEL: Final = "Not tried yet"
OUTCOME_LABELS: Final[Mapping[str, str]] = {
    **{str(value): str(label) for value, label in Outcome.choices},
    NOT_TRIED: NOT_TRIED_LABEL,
}


class AttemptFilterForm(forms.Form):
    """One choice a field; a value that is not on offer is an error of that field."""

    def __init__(
        self, query: QueryDict, *, namespaces: Iterable[str], outcomes: Iterable[str]
    ) -> None:
        """Offer the namespaces that the reader may see, and outcomes if there are any."""
        super().__init__(query)
        self.fields["namespace"] = _choice("Namespace", ((name, name) for name in namespaces))
        if offered := [(each, OUTCOME_LABELS[each]) for each in outcomes]:
            self.fields["outcome"] = _choice("Outcome", offered)

    @property
    def is_narrowing(self) -> bool:
        """Tell whether any field is set."""
        return self.is_valid() and any(self.cleaned_data.values())

    @property
    def namespace(self) -> str:
        """Name the namespace that was chosen; empty: all, or none that is on offer."""
        return self._chosen("namespace")

    @property
    def outcome(self) -> str:
        """Name the outcome that was chosen; empty: all."""
        return self._chosen("outcome")

    def _chosen(self, field: str) -> str:
        self.is_valid()
        return str(self.cleaned_data.get(field) or "")


def _choice(label: str, choices: Iterable[tuple[str, str]]) -> forms.ChoiceField:
    return forms.ChoiceField(required=False, label=label, choices=[("", "any"), *choices])
