"""Who may see and do what: the API server's own answer, asked on behalf of the console's users.

The console keeps no roles. Each right is a SubjectAccessReview that the console asks with
its own credentials and remembers for at most `REMEMBERED_SECONDS`, keyed by the Kubernetes
identity (username and groups), cluster, verb, resource, namespace and name. Pages, REST
and sockets all ask here, so none of them can show more than another.

Three answers, not two: yes, no, and "could not be asked" (`RightsUnknownError`). The last
one is never read as yes, and not as an empty list either. Writes are decided by the API
server itself, since `client_for` impersonates.
"""

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TypeAlias

import structlog
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.cache import cache
from redis.exceptions import RedisError

from dra_console.access.errors import NoClusterIdentityError, RightsUnknownError
from dra_console.access.models import FORBIDDEN_GROUPS, Profile
from dra_console.kube.client import Client, User
from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import Kind
from dra_console.kube.reviews import subject_access
from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import Cluster, Namespace

log = structlog.get_logger()

Account: TypeAlias = AbstractBaseUser | AnonymousUser

REMEMBERED_SECONDS = 60
"""A right withdrawn in the cluster is withdrawn here at most this much later."""

AUTHENTICATED_GROUP = "system:authenticated"
"""Group that the API server adds to whoever it knows; a review lists all groups itself."""


def kubernetes_user(user: Account) -> User:
    """Name the Kubernetes user that this account acts as.

    Raises:
        NoClusterIdentityError: the account is anonymous, disabled, has no Kubernetes username,
            or is in a group that bypasses authorisation, however that came into its profile.

    """
    if user.is_anonymous or not user.is_active:
        raise NoClusterIdentityError("this account cannot act on a cluster: it is not logged in")
    profile = Profile.of(user)
    if profile is None or not profile.kubernetes_username:
        raise NoClusterIdentityError(
            f"account {user.get_username()} has no Kubernetes username; an administrator sets it"
        )
    if forbidden := FORBIDDEN_GROUPS.intersection(profile.kubernetes_groups):
        raise NoClusterIdentityError(
            f"account {user.get_username()} is in group {min(forbidden)}, which bypasses"
            " authorisation and is never impersonated; an administrator removes it"
        )
    return User(username=profile.kubernetes_username, groups=tuple(profile.kubernetes_groups))


def client_for(user: Account, cluster: Cluster) -> Client:
    """Make a client that acts as this user, by impersonation; never shared between users.

    Raises:
        NoClusterIdentityError: as `kubernetes_user`.

    """
    return client_of(cluster).as_user(kubernetes_user(user))


def may(  # noqa: PLR0913 - an authorisation question has this many parts
    user: Account,
    cluster: Cluster,
    verb: str,
    kind: Kind,
    *,
    namespace: str | None = None,
    name: str | None = None,
    subresource: str = "",
) -> bool:
    """Tell whether the user may do this; `namespace=None` asks for all namespaces at once.

    A user without a Kubernetes identity may do nothing.

    Raises:
        RightsUnknownError: the API server could not be asked.

    """
    try:
        asking = kubernetes_user(user)
    except NoClusterIdentityError:
        return False
    question = _Question(
        verb=verb, kind=kind, namespace=namespace, name=name, subresource=subresource
    )
    return _answers([question], cluster=cluster, asking=asking)[question]


def visible_namespaces(user: Account, cluster: Cluster, kind: Kind) -> frozenset[str] | None:
    """Name the mirrored namespaces in which the user may list this kind; None means every one.

    Costs one review for whoever may list everywhere, else one for each mirrored namespace,
    each remembered as `may` remembers.

    Raises:
        RightsUnknownError: the API server could not be asked.

    """
    if may(user, cluster, "list", kind):
        return None
    try:
        asking = kubernetes_user(user)
    except NoClusterIdentityError:
        return frozenset()
    if not kind.namespaced:
        return frozenset()
    names = Namespace.objects.filter(cluster=cluster).values_list("name", flat=True)
    questions = [_Question(verb="list", kind=kind, namespace=name, name=None) for name in names]
    answers = _answers(questions, cluster=cluster, asking=asking)
    return frozenset(
        question.namespace
        for question, granted in answers.items()
        if granted and question.namespace is not None
    )


@dataclass(frozen=True, slots=True)
class _Question:
    verb: str
    kind: Kind
    namespace: str | None
    name: str | None
    subresource: str = ""


def _answers(
    questions: Iterable[_Question], *, cluster: Cluster, asking: User
) -> dict[_Question, bool]:
    key_by_question = {
        question: _key(question, cluster_id=cluster.pk, asking=asking) for question in questions
    }
    remembered = _recall(key_by_question.values())
    missing = {q: key for q, key in key_by_question.items() if key not in remembered}
    if missing:
        asked = _ask(missing, cluster=cluster, asking=asking)
        fresh = {key: asked[question] for question, key in missing.items()}
        _remember(fresh)
        remembered |= fresh
    return {question: remembered[key] for question, key in key_by_question.items()}


def _recall(keys: Iterable[str]) -> dict[str, bool]:
    try:
        remembered: dict[str, bool] = cache.get_many(keys)
    except RedisError as error:
        # Rights are the API server's to say; without memory they only cost more to ask for.
        log.warning("rights not remembered", reason=str(error))
        return {}
    return remembered


def _remember(answers: dict[str, bool]) -> None:
    with suppress(RedisError):
        cache.set_many(answers, timeout=REMEMBERED_SECONDS)


def _ask(
    questions: Iterable[_Question], *, cluster: Cluster, asking: User
) -> dict[_Question, bool]:
    reviewed = User(username=asking.username, groups=tuple({*asking.groups, AUTHENTICATED_GROUP}))
    try:
        client = client_of(cluster)
        return {
            question: subject_access(
                client,
                user=reviewed,
                verb=question.verb,
                kind=question.kind,
                namespace=question.namespace,
                name=question.name,
                subresource=question.subresource,
            )
            for question in questions
        }
    except ApiError as error:
        raise RightsUnknownError(
            f"cluster {cluster.name} did not say what you may do there: {error.message}"
        ) from error


def _key(question: _Question, *, cluster_id: int, asking: User) -> str:
    """Spell a cache key that no name can forge: the parts are hashed as JSON."""
    parts = {
        **asdict(question),
        "cluster": cluster_id,
        "username": asking.username,
        "groups": sorted(asking.groups),
    }
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return f"right:{digest}"
