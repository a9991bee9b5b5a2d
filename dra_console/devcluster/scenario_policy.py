"""Who may do what in the demo: the rights that a cluster's RBAC objects would give.

Admins may do everything. A team works in its namespace and sees the hardware. The console
and the agents have what their service accounts have in production, and no more.
"""

from collections.abc import Iterator
from typing import Final

from dra_console.devcluster.authn import AUTHENTICATED_GROUP
from dra_console.devcluster.authz import EVERY, Grant, Policy
from dra_console.devcluster.kubelet_token import AGENT_ACCOUNT, AGENT_NAMESPACE

CONSOLE_ACCOUNT: Final = "dra-console"

ADMINS: Final = "group:gpu-admins"
TEAMS: Final = ("team-research", "team-vision")
"""Each is a group, and works in the namespace of the same name."""

READ: Final = frozenset({"get", "list", "watch"})
WRITE: Final = frozenset({"create", "update", "patch", "delete"})

HARDWARE: Final = frozenset({"nodes", "resourceslices", "deviceclasses", "devicetaintrules"})
WORKLOADS: Final = frozenset({"resourceclaims", "resourceclaimtemplates", "pods"})


def demo_policy() -> Policy:
    """Build the policy of scenario `demo`."""
    return Policy(
        (
            Grant(frozenset({ADMINS}), frozenset({EVERY}), frozenset({EVERY})),
            Grant(
                frozenset({f"group:{AUTHENTICATED_GROUP}"}),
                frozenset({"create"}),
                frozenset({"selfsubjectaccessreviews"}),
            ),
            *_team_grants(),
            *_console_grants(),
            *_agent_grants(),
        )
    )


def _team_grants() -> Iterator[Grant]:
    for team in TEAMS:
        members, namespace = frozenset({f"group:{team}"}), frozenset({team})
        yield Grant(members, READ, HARDWARE | {"namespaces"})
        yield Grant(members, READ | WRITE, WORKLOADS, namespaces=namespace)
        yield Grant(members, READ, frozenset({"events", "resourcequotas"}), namespaces=namespace)


def _console_grants() -> Iterator[Grant]:
    console = frozenset({_account(CONSOLE_ACCOUNT)})
    mirrored = HARDWARE | WORKLOADS | {"namespaces", "resourcequotas", "events"}
    yield Grant(console, READ, mirrored)
    yield Grant(
        console,
        frozenset({"update", "patch"}),
        frozenset({"resourceclaims", "resourceclaims/status", "pods/status"}),
    )
    yield Grant(
        console,
        frozenset({"create", "patch"}),
        frozenset({"events", "pods/binding", "subjectaccessreviews", "tokenreviews"}),
    )
    yield Grant(
        console, frozenset({"impersonate"}), frozenset({"users", "groups", "uids", "userextras"})
    )


def _agent_grants() -> Iterator[Grant]:
    agent = frozenset({_account(AGENT_ACCOUNT)})
    yield Grant(agent, READ | WRITE, frozenset({"resourceslices"}))
    yield Grant(agent, READ, frozenset({"resourceclaims", "pods"}))
    yield Grant(agent, frozenset({"update", "patch"}), frozenset({"resourceclaims/status"}))
    yield Grant(agent, frozenset({"get"}), frozenset({"nodes"}))
    yield Grant(agent, frozenset({"create", "patch"}), frozenset({"events"}))


def _account(name: str) -> str:
    return f"system:serviceaccount:{AGENT_NAMESPACE}:{name}"
