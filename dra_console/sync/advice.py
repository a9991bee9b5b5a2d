"""What somebody who runs the console does next where a cluster is not followed as it should be."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import yaml

from dra_console.allocator.model import Json
from dra_console.kube.kinds import Kind
from dra_console.sync.following import ClusterFollowed, FollowState, KindFollowed
from dra_console.sync.mirrored import MIRRORED

ROLE_NAME: Final = "dra-console-mirror"
READ_VERBS: Final = ("get", "list", "watch")
RBAC_GROUP: Final = "rbac.authorization.k8s.io"
SERVICE_ACCOUNT_PREFIX: Final = "system:serviceaccount:"
UNAUTHORIZED_STATUS: Final = 401
LINE_LENGTH: Final = 100


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to do."""

    headline: str
    text: str

    snippet: str = ""
    """What to apply or to run; empty where there is no such thing."""


def advice_for(followed: ClusterFollowed) -> tuple[Advice, ...]:
    """Say what to do about one cluster, the cause of most first."""
    return tuple(_advice(followed))


def mirror_role_yaml(username: str) -> str:
    """Write the whole ClusterRole that mirroring needs, bound to `username`; none: unbound.

    Whole, so that it can be applied again and again, whatever is granted already.
    """
    manifests: list[Json] = [
        {
            "apiVersion": f"{RBAC_GROUP}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": ROLE_NAME},
            "rules": _rules(mirrored.kind for mirrored in MIRRORED.values()),
        }
    ]
    if username:
        manifests.append(
            {
                "apiVersion": f"{RBAC_GROUP}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": ROLE_NAME},
                "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": ROLE_NAME},
                "subjects": [_subject(username)],
            }
        )
    return str(
        yaml.safe_dump_all(manifests, sort_keys=False, default_flow_style=None, width=LINE_LENGTH)
    )


def _rules(kinds: Iterable[Kind]) -> list[Json]:
    plurals_by_group: dict[str, list[Json]] = {}
    for kind in kinds:
        plurals_by_group.setdefault(kind.group, []).append(kind.plural)
    return [
        {"apiGroups": [group], "resources": plurals, "verbs": [*READ_VERBS]}
        for group, plurals in plurals_by_group.items()
    ]


def _subject(username: str) -> Json:
    if username.startswith(SERVICE_ACCOUNT_PREFIX):
        namespace, _, name = username.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
        return {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    return {"apiGroup": RBAC_GROUP, "kind": "User", "name": username}


def _advice(followed: ClusterFollowed) -> Iterator[Advice]:
    name = followed.cluster.name
    if not followed.cluster.enabled:
        yield Advice(
            f"{name} is disabled",
            "What was mirrored stays, and no page shows it. Follow it again with:",
            f"manage.py cluster enable {name}",
        )
        return
    if followed.is_reachable is False:
        yield _unreachable(followed)
    by_state: dict[FollowState, list[KindFollowed]] = {}
    for kind in followed.kinds:
        by_state.setdefault(kind.state, []).append(kind)
    if forbidden := by_state.get(FollowState.FORBIDDEN):
        yield _forbidden(forbidden, username=followed.server.username if followed.server else "")
    yield from _not_served(by_state.get(FollowState.NOT_SERVED, []), followed=followed)
    if silent := by_state.get(FollowState.SILENT):
        yield Advice(
            f"No worker follows {name}"
            if len(silent) == len(followed.kinds)
            else f"No worker follows {_in_words(silent)} of {name}",
            f"Each followed kind takes one thread of a worker: {len(MIRRORED)} for each cluster. "
            "Start a worker, or give it more threads (DRA_CONSOLE_WORKER_THREADS), and see that "
            "beat runs:",
            "celery -A dra_console.celery worker -Q sync,schedule,default\n"
            "celery -A dra_console.celery beat",
        )
    if followed.is_reachable is not False:
        for kind in by_state.get(FollowState.FAILING, []):
            yield Advice(
                f"{kind.plural} cannot be followed",
                f"{kind.error.rstrip('.')}. It is tried again every few seconds.",
            )


def _unreachable(followed: ClusterFollowed) -> Advice:
    cluster, server = followed.cluster, followed.server
    place = cluster.kubeconfig or "the pod's own service account"
    context = f", context {cluster.context}" if cluster.context else ""
    said = server.error if server else ""
    refused = any(kind.error_status == UNAUTHORIZED_STATUS for kind in followed.kinds)
    headline = (
        f"The API server of {cluster.name} does not accept our credentials"
        if refused
        else f"The API server of {cluster.name} does not answer"
    )
    return Advice(
        headline,
        f"{said.rstrip('.')}. The credentials are in {place}{context}. Pages show what was seen "
        "last, with its age. The server is asked again every half a minute; to try at once:",
        _look(cluster.kubeconfig, cluster.context) if cluster.kubeconfig else "",
    )


def _look(kubeconfig: str, context: str) -> str:
    words = ["kubectl", "--kubeconfig", kubeconfig]
    words += ["--context", context] if context else []
    return shlex.join([*words, "get", "--raw", "/version"])


def _forbidden(kinds: list[KindFollowed], *, username: str) -> Advice:
    who = username or "the console's identity in that cluster"
    return Advice(
        f"Grant list and watch on {_in_words(kinds)}",
        f"{who} may not read {_in_words(kinds)} in the whole cluster. Other kinds are followed "
        "meanwhile. Apply this as somebody who may grant rights; it is found within a minute:",
        mirror_role_yaml(username),
    )


def _not_served(kinds: list[KindFollowed], *, followed: ClusterFollowed) -> Iterator[Advice]:
    optional = [kind for kind in kinds if not kind.is_trouble]
    needed = [kind for kind in kinds if kind.is_trouble]
    if needed and followed.server and not followed.server.resource_versions:
        yield Advice(
            "This API server has no resource.k8s.io",
            "Dynamic Resource Allocation is off, or Kubernetes is older than 1.32. From 1.34 on "
            "it is on by default; before, switch on the feature gate DynamicResourceAllocation, "
            "and the API version with:",
            "kube-apiserver --runtime-config=resource.k8s.io/v1beta1=true",
        )
    elif needed:
        yield Advice(
            f"This API server does not serve {_in_words(needed)}",
            "Nothing is shown of them; other kinds are followed meanwhile. They are found within "
            "a minute when they are switched on.",
        )
    if optional:
        yield Advice(
            f"This API server does not serve {_in_words(optional)}",
            "Nothing has to be done, unless devices are to be tainted by rule: that takes the "
            "feature gate DRADeviceTaintRules. It is found within a minute when it is switched on.",
        )


def _in_words(kinds: list[KindFollowed]) -> str:
    *others, last = [kind.plural for kind in kinds]
    return f"{', '.join(others)} and {last}" if others else last
