"""The pods of a scenario: sets of claims, each from a template, another claim, or a spec."""

from dataclasses import dataclass, field

from dra_console.allocator.api_json import Json, JsonObject


@dataclass(frozen=True, slots=True)
class ClaimSource:
    """Where the spec of one claim comes from, and what of it is otherwise.

    One of `template`, `claim` (both namespace and name) and `spec` is set. `patch` is a JSON
    patch (RFC 6902) of an object with this spec, as explanations suggest them.
    """

    template: tuple[str, str] | None = None
    claim: tuple[str, str] | None = None
    spec: JsonObject | None = field(default=None, hash=False)
    patch: tuple[JsonObject, ...] = field(default=(), hash=False)

    def to_json(self) -> JsonObject:
        patch: list[Json] = [*self.patch]
        changes: JsonObject = {"patch": patch} if patch else {}
        if self.template is not None:
            return {"template": _reference(self.template), **changes}
        if self.claim is not None:
            return {"claim": _reference(self.claim), **changes}
        return {"spec": self.spec or {}, **changes}

    def __str__(self) -> str:
        """Name it in words."""
        changed = ", changed" if self.patch else ""
        if self.template is not None:
            return f"template {'/'.join(self.template)}{changed}"
        if self.claim is not None:
            return f"claim {'/'.join(self.claim)}{changed}"
        return "a claim of its own"


@dataclass(frozen=True, slots=True)
class PodShape:
    """The claims of one pod, allocated together on one node."""

    claims: tuple[ClaimSource, ...] = ()

    def to_json(self) -> JsonObject:
        return {"claims": [each.to_json() for each in self.claims]}

    def __str__(self) -> str:
        """Name it in words."""
        return " and ".join(map(str, self.claims))


def _reference(names: tuple[str, str]) -> JsonObject:
    namespace, name = names
    return {"namespace": namespace, "name": name}
