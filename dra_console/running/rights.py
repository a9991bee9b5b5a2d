"""What the accounts of a run may do in the cluster: nothing, until somebody grants it.

The console keeps no roles of its own: each account acts as a Kubernetes user of a group, and
RBAC decides. A run writes these objects to a file and says how to apply them; it applies
nothing itself.
"""

from typing import Final

import yaml

from dra_console.allocator.model import Json
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.running.accounts import Person

ADMIN_GROUP: Final = "dra-console-admins"
USER_GROUP: Final = "dra-console-users"
PEOPLE: Final = (
    Person("admin", "dra-console:admin", (ADMIN_GROUP,), is_operator=True),
    Person("researcher", "dra-console:researcher", (USER_GROUP,)),
)
USERS_NAMESPACE: Final = "default"
"""Where the researcher may work."""

RBAC: Final = "rbac.authorization.k8s.io"
READ: Final = ("get", "list", "watch")
WRITE: Final = ("create", "update", "patch", "delete")


def rights_yaml(people: tuple[Person, Person]) -> str:
    """Write roles for an admin, who works everywhere, and for a user of one namespace.

    The admin may also mark devices and take back what nobody uses.
    """
    admin, user = people
    own = ["resourceclaims", "resourceclaimtemplates"]
    hardware = ["resourceslices", "deviceclasses", "devicetaintrules"]
    group = RESOURCE_CLAIMS.group
    see = [
        _rule("", ["nodes", "namespaces"], READ),
        _rule(group, hardware, READ),
    ]
    work = [
        _rule("", ["pods"], (*READ, *WRITE)),
        _rule("", ["events", "resourcequotas"], READ),
        _rule(group, own, (*READ, *WRITE)),
    ]
    manage = [
        _rule(group, ["devicetaintrules"], WRITE),
        _rule(group, ["resourceclaims/status"], ("update", "patch")),
        # Since 1.36 a right of its own to change allocations, on top.
        _rule(group, ["resourceclaims/binding"], ("update", "patch")),
    ]
    name = {
        "hardware": "dra-console-hardware",
        "work": "dra-console-work",
        "manage": "dra-console-manage",
    }
    objects: list[Json] = [
        _object("ClusterRole", name["hardware"], rules=see),
        _object("ClusterRole", name["work"], rules=work),
        _object("ClusterRole", name["manage"], rules=manage),
        _binding("ClusterRoleBinding", name["hardware"], (admin, user)),
        _binding("ClusterRoleBinding", name["work"], (admin,)),
        _binding("ClusterRoleBinding", name["manage"], (admin,)),
        _binding("RoleBinding", name["work"], (user,)),
    ]
    return str(yaml.safe_dump_all(objects, sort_keys=False, default_flow_style=None, width=100))


def _rule(group: str, resources: list[str], verbs: tuple[str, ...]) -> Json:
    return {"apiGroups": [group], "resources": [*resources], "verbs": [*verbs]}


def _object(kind: str, name: str, **members: Json) -> Json:
    metadata: dict[str, Json] = {"name": name}
    if kind == "RoleBinding":
        metadata["namespace"] = USERS_NAMESPACE
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, **members}


def _binding(kind: str, role: str, people: tuple[Person, ...]) -> Json:
    return _object(
        kind,
        role,
        roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        subjects=[subject for person in people for subject in _subjects(person)],
    )


def _subjects(person: Person) -> list[Json]:
    """Name a person's groups; the user, if there are none."""
    if not person.groups:
        return [{"apiGroup": RBAC, "kind": "User", "name": person.kubernetes_username}]
    return [{"apiGroup": RBAC, "kind": "Group", "name": group} for group in person.groups]
