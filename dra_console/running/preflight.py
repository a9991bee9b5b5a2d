"""Look at the cluster before anything is started, and say in plain words what is missing."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client, User
from dra_console.kube.credentials import context_in
from dra_console.kube.errors import ApiError, NotFoundError
from dra_console.kube.introspection import own_username, server_version
from dra_console.kube.kinds import (
    RESOURCE_CLAIMS,
    SELF_SUBJECT_ACCESS_REVIEWS,
    SUBJECT_ACCESS_REVIEWS,
)
from dra_console.kube.reviews import subject_access
from dra_console.running.accounts import Person

NEEDED: Final = (
    ("list", RESOURCE_CLAIMS.group, RESOURCE_CLAIMS.plural, "nothing of it can be shown"),
    (
        "create",
        SUBJECT_ACCESS_REVIEWS.group,
        SUBJECT_ACCESS_REVIEWS.plural,
        "nobody's rights can be asked for, so pages stay empty",
    ),
    ("impersonate", "", "users", "nobody can create or delete anything"),
    ("impersonate", "", "groups", "nobody can create or delete anything"),
)
"""Verb, group, resource, and what does not work without it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the cluster said."""

    context: str
    """Of the kubeconfig."""

    server: str
    """Such as `Kubernetes v1.37.2 at https://...`."""

    identity: str
    """Who we are there."""

    warnings: tuple[str, ...]
    """What will not work, one sentence each."""


def kubeconfig_path(given: str) -> Path:
    """Return the one kubeconfig file that was given.

    Raises:
        SystemExit: none was given, or several.

    """
    if not given:
        raise SystemExit("say which cluster: make run KUBECONFIG=path [CONTEXT=name]")
    if os.pathsep in given:
        raise SystemExit(
            f"KUBECONFIG={given} names several files; make one of them first:\n"
            "  kubectl config view --flatten --minify --raw > one-cluster.kubeconfig"
        )
    return Path(given).expanduser().resolve()


def look_at(path: Path, *, context: str) -> tuple[Client, Finding]:
    """Connect, and ask who we are and what we may do.

    Raises:
        SystemExit: the kubeconfig cannot be used, or the API server does not answer us.

    """
    try:
        name = context_in(path, context=context)
        client = Client.from_kubeconfig(str(path), context=context)
        version = server_version(client)
        identity = own_username(client)
        return client, Finding(name, version, identity, tuple(_warnings(client, identity)))
    except ApiError as error:
        raise SystemExit(f"{path}: this cluster cannot be used:\n  {error}") from error


def has_rights(client: Client, person: Person) -> bool | None:
    """Tell whether a person may see claims anywhere in the cluster; `None`: it does not tell us.

    `system:authenticated` belongs to everybody whom the API server knows.
    """
    user = User(person.kubernetes_username, (*person.groups, "system:authenticated"))
    try:
        return any(
            subject_access(
                client, user=user, verb="list", kind=RESOURCE_CLAIMS, namespace=namespace
            )
            for namespace in (None, "default")
        )
    except ApiError:
        return None


def _warnings(client: Client, identity: str) -> list[str]:
    warnings = []
    if not client.session.is_verified:
        warnings.append(
            "The API server's certificate is not verified: anybody could be in its place."
        )
    try:
        client.session.versions.of(RESOURCE_CLAIMS)
    except NotFoundError as error:
        warnings.append(f"{error}. Pages about claims and devices stay empty.")
    for verb, group, resource, consequence in NEEDED:
        if not _may(client, verb, group, resource):
            what = f"{resource}.{group}" if group else resource
            warnings.append(f"{identity or 'This identity'} may not {verb} {what}: {consequence}.")
    return warnings


def _may(client: Client, verb: str, group: str, resource: str) -> bool:
    body: JsonObject = {
        "apiVersion": SELF_SUBJECT_ACCESS_REVIEWS.api_version,
        "kind": SELF_SUBJECT_ACCESS_REVIEWS.kind,
        "spec": {"resourceAttributes": {"verb": verb, "group": group, "resource": resource}},
    }
    status = client.review(SELF_SUBJECT_ACCESS_REVIEWS, body).get("status")
    return isinstance(status, dict) and status.get("allowed") is True
