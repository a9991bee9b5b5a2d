"""Which claims to list."""

from collections.abc import Iterable

from django import forms
from django.db.models import Q, QuerySet
from django.http import QueryDict

from dra_console.mirror.models import ClaimState, ResourceClaim


class ClaimFilterForm(forms.Form):
    """One choice a field; a value that is not on offer is an error of that field."""

    q = forms.CharField(required=False, label="Name contains", max_length=253)

    def __init__(
        self, query: QueryDict, *, namespaces: Iterable[str], class_names: Iterable[str]
    ) -> None:
        """Offer the namespaces that the reader may see and the classes that exist."""
        super().__init__(query)
        self.fields |= {
            "namespace": _choice("Namespace", ((name, name) for name in namespaces)),
            "state": _choice("State", ClaimState.choices),
            "device_class": _choice("Class", ((name, name) for name in class_names)),
        }

    @property
    def is_narrowing(self) -> bool:
        """Tell whether any field is set."""
        return self.is_valid() and any(self.cleaned_data.values())

    def narrow(self, claims: QuerySet[ResourceClaim]) -> QuerySet[ResourceClaim]:
        """Leave the claims that the filled fields describe; a field in error narrows nothing."""
        self.is_valid()
        chosen = self.cleaned_data
        wanted = Q()
        if text := chosen.get("q"):
            wanted &= Q(name__icontains=text)
        if namespace := chosen.get("namespace"):
            wanted &= Q(namespace=namespace)
        if state := chosen.get("state"):
            wanted &= Q(state=state)
        if class_name := chosen.get("device_class"):
            # SQLite has no JSON containment; the quotes keep `gpu` from matching `gpu-large`.
            wanted &= Q(class_names__icontains=f'"{class_name}"')
        return claims.filter(wanted)


def _choice(label: str, choices: Iterable[tuple[str, str]]) -> forms.ChoiceField:
    return forms.ChoiceField(required=False, label=label, choices=[("", "any"), *choices])
