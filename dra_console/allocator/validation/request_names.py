"""How constraints, configuration and results refer to the requests of a claim."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from dra_console.allocator import names
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import check_format, check_unique, is_too_many

REFERENCES_LIMIT: Final = 32


@dataclass(frozen=True, slots=True)
class RequestNames:
    """Requests by name, each with the names of its alternatives."""

    alternatives: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, devices: Fields) -> Self:
        """Read them from `spec.devices`."""
        return cls(
            {
                request.text("name"): frozenset(
                    each.text("name") for each in request.children("firstAvailable")
                )
                for request in devices.children("requests")
            }
        )

    def has(self, reference: str) -> bool:
        """Tell whether there is such a request, or `request/subrequest`."""
        request, slash, alternative = reference.partition("/")
        found = self.alternatives.get(request)
        return found is not None and (not slash or alternative in found)

    def check_reference(self, reference: str, errors: FieldErrors, *, path: str) -> None:
        """Check one reference."""
        detail = (
            "must be the name of a request in the claim or the name of a request and a "
            "subrequest separated by '/'"
        )
        if reference.count("/") > 1:
            errors.invalid(path, reference, detail)
            return
        for part in reference.split("/"):
            check_format(part, names.dns_label, errors, path=path)
        if not self.has(reference):
            errors.invalid(path, reference, detail)

    def check_references(self, owner: Fields, errors: FieldErrors) -> None:
        """Check the field `requests` of a constraint or of configuration."""
        path = owner.path_of("requests")
        references = owner.texts("requests")
        if is_too_many(references, REFERENCES_LIMIT, errors, path=path):
            return
        for index, reference in enumerate(references):
            self.check_reference(reference, errors, path=f"{path}[{index}]")
        check_unique(references, errors, path=path)
