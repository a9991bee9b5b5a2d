"""Which RBAC rule a refused request needs, so that a 403 names its own cure."""

from typing import Final

VERBS: Final = {"POST": "create", "PUT": "update", "DELETE": "delete", "GET": "get"}
CORE: Final = "api"
NAMESPACES: Final = "namespaces"


def needed_rule(method: str, path: str) -> str | None:
    """Return the rule as a ClusterRole spells it; `None` for what is no resource's path."""
    parts = path.partition("?")[0].strip("/").split("/")
    group, below = ("", parts[2:]) if parts[0] == CORE else (parts[1:2], parts[3:])
    if parts[0] not in (CORE, "apis") or not below:
        return None
    if below[0] == NAMESPACES and len(below) > 2:  # noqa: PLR2004 - `namespaces/<name>/<resource>`
        below = below[2:]
    resource, *name = below
    if len(name) > 1:
        resource += f"/{name[1]}"
    verb = VERBS.get(method, method.lower())
    if verb == "get" and not name:
        verb = "watch" if "watch=true" in path else "list"
    return f'apiGroups: ["{"".join(group)}"], resources: ["{resource}"], verbs: ["{verb}"]'
