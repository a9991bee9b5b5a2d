"""Rules of the kinds: what a create or an update turns into, or why it is refused."""

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import Kind


def admit_create(kind: Kind, obj: JsonObject, *, namespace: JsonObject | None) -> None:
    """Set the defaults of a new object and refuse it where it breaks a rule.

    `namespace` is the Namespace it goes to, `None` for cluster-scoped kinds.
    """


def admit_update(
    kind: Kind,
    obj: JsonObject,
    *,
    old: JsonObject,
    subresource: str,
    namespace: JsonObject | None,
) -> None:
    """Keep of `obj` what `subresource` may change, take the rest from `old`, and check it."""
