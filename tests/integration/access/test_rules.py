from pathlib import Path

import pytest
import redis
from django.contrib.auth.models import AnonymousUser, User
from pytest_django import Settings

from dra_console.access import rules
from dra_console.access.errors import NoClusterIdentityError, RightsUnknownError
from dra_console.access.models import Profile
from dra_console.kube.errors import ForbiddenError
from dra_console.kube.kinds import NODES, RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster, Namespace
from tests.builders.accounts import an_account
from tests.integration.served_cluster import ServedCluster, served_cluster

pytestmark = pytest.mark.django_db

LIST = frozenset({"list"})
NO_REDIS = "redis://127.0.0.1:1/0"


def a_namespace_row(cluster: Cluster, name: str) -> None:
    Namespace.objects.create(
        cluster=cluster,
        uid=name,
        name=name,
        resource_version="1",
        created_at="2026-11-29T20:00:00Z",
        raw={},
    )


def test_a_right_granted_to_a_group_is_a_right_of_its_members(served: ServedCluster) -> None:
    served.grant("group:team-research", "resourceclaims", namespaces=frozenset({"team-research"}))
    ana = an_account("ana", groups=("team-research",))

    cluster = served.as_row()

    assert rules.may(ana, cluster, "list", RESOURCE_CLAIMS, namespace="team-research")
    assert not rules.may(ana, cluster, "list", RESOURCE_CLAIMS, namespace="team-vision")
    assert not rules.may(ana, cluster, "list", RESOURCE_CLAIMS)


def test_what_everybody_authenticated_may_do_is_allowed(served: ServedCluster) -> None:
    served.grant("group:system:authenticated", "nodes", verbs=LIST)

    assert rules.may(an_account("bo"), served.as_row(), "list", NODES)


def test_an_account_in_a_group_that_bypasses_authorisation_acts_as_nobody(
    served: ServedCluster,
) -> None:
    mallory, cluster = an_account("mallory", groups=("team-a", "system:masters")), served.as_row()

    assert not rules.may(mallory, cluster, "list", NODES)
    with pytest.raises(NoClusterIdentityError, match="system:masters"):
        rules.client_for(mallory, cluster)


def test_an_answer_is_remembered_for_a_minute_at_most(
    served: ServedCluster, redis_url: str
) -> None:
    served.grant("ana", "nodes", verbs=LIST)
    ana, cluster = an_account("ana"), served.as_row()
    remembered = redis.Redis.from_url(redis_url)

    assert rules.may(ana, cluster, "list", NODES)
    served.withdraw_everything()

    assert rules.may(ana, cluster, "list", NODES)
    assert served.times_asked("ana") == 1
    [key] = remembered.keys("cache:*right:*")
    assert 0 < remembered.ttl(key) <= 60
    remembered.delete(key)
    assert not rules.may(ana, cluster, "list", NODES)
    remembered.close()


def test_a_remembered_answer_serves_nobody_with_other_groups(served: ServedCluster) -> None:
    served.grant("group:gpu-admins", "nodes", verbs=LIST)
    ana, cluster = an_account("ana", groups=("gpu-admins",)), served.as_row()

    before = rules.may(ana, cluster, "list", NODES)
    Profile.objects.filter(user=ana).update(kubernetes_groups=[])
    after = rules.may(User.objects.get(pk=ana.pk), cluster, "list", NODES)

    assert before
    assert not after


def test_a_remembered_answer_serves_nobody_else(served: ServedCluster) -> None:
    served.grant("ana", "nodes", verbs=LIST)
    cluster = served.as_row()

    assert rules.may(an_account("ana"), cluster, "list", NODES)
    assert not rules.may(an_account("bo"), cluster, "list", NODES)


def test_one_review_answers_for_whoever_may_list_everywhere(served: ServedCluster) -> None:
    served.grant("ana", "resourceclaims", verbs=LIST)
    cluster = served.as_row()
    a_namespace_row(cluster, "team-research")

    assert rules.visible_namespaces(an_account("ana"), cluster, RESOURCE_CLAIMS) is None
    assert served.times_asked("ana") == 1


def test_others_see_the_namespaces_where_they_may_list(served: ServedCluster) -> None:
    served.grant("ana", "resourceclaims", verbs=LIST, namespaces=frozenset({"team-research"}))
    cluster = served.as_row()
    for name in ("team-research", "team-vision"):
        a_namespace_row(cluster, name)

    seen = rules.visible_namespaces(an_account("ana"), cluster, RESOURCE_CLAIMS)

    assert seen == frozenset({"team-research"})


def test_a_new_namespace_is_asked_about_at_once(served: ServedCluster) -> None:
    served.grant("ana", "resourceclaims", verbs=LIST, namespaces=frozenset({"a", "b"}))
    ana, cluster = an_account("ana"), served.as_row()
    a_namespace_row(cluster, "a")

    before = rules.visible_namespaces(ana, cluster, RESOURCE_CLAIMS)
    a_namespace_row(cluster, "b")
    after = rules.visible_namespaces(ana, cluster, RESOURCE_CLAIMS)

    assert before == frozenset({"a"})
    assert after == frozenset({"a", "b"})
    assert served.times_asked("ana") == 3


def test_a_cluster_scoped_kind_is_visible_as_a_whole_or_not_at_all(served: ServedCluster) -> None:
    served.grant("ana", "nodes", verbs=LIST)
    cluster = served.as_row()
    a_namespace_row(cluster, "team-research")

    assert rules.visible_namespaces(an_account("ana"), cluster, NODES) is None
    assert rules.visible_namespaces(an_account("bo"), cluster, NODES) == frozenset()


def test_an_api_server_that_is_away_grants_nothing_and_hides_nothing(tmp_path: Path) -> None:
    with served_cluster(tmp_path) as served:
        cluster = served.as_row()
    ana = an_account("ana")

    with pytest.raises(RightsUnknownError, match="did not say"):
        rules.may(ana, cluster, "list", NODES)
    with pytest.raises(RightsUnknownError):
        rules.visible_namespaces(ana, cluster, RESOURCE_CLAIMS)


def test_unreadable_credentials_grant_nothing(tmp_path: Path) -> None:
    cluster = Cluster.objects.create(name="lost", kubeconfig=str(tmp_path / "missing"))

    with pytest.raises(RightsUnknownError):
        rules.may(an_account("ana"), cluster, "list", NODES)


def test_rights_are_asked_for_each_time_while_redis_is_away(
    served: ServedCluster, settings: Settings
) -> None:
    served.grant("ana", "nodes", verbs=LIST)
    ana, cluster = an_account("ana"), served.as_row()
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": NO_REDIS}}

    assert rules.may(ana, cluster, "list", NODES)
    served.withdraw_everything()
    assert not rules.may(ana, cluster, "list", NODES)


@pytest.mark.parametrize("how", ["anonymous", "disabled", "no-profile", "no-username"])
def test_an_account_without_a_cluster_identity_may_do_nothing(
    served: ServedCluster, how: str
) -> None:
    served.grant("group:system:authenticated", "nodes", "resourceclaims")
    cluster = served.as_row()
    account: User | AnonymousUser = AnonymousUser()
    if how == "disabled":
        account = an_account("ana")
        account.is_active = False
    elif how == "no-profile":
        account = User.objects.create_user("ana")
    elif how == "no-username":
        account = an_account("ana", kubernetes_username="")

    assert not rules.may(account, cluster, "list", NODES)
    assert rules.visible_namespaces(account, cluster, RESOURCE_CLAIMS) == frozenset()
    with pytest.raises(NoClusterIdentityError):
        rules.client_for(account, cluster)


def test_a_user_client_acts_with_the_user_rights_alone(served: ServedCluster) -> None:
    served.grant("ana", "nodes", verbs=LIST)
    cluster = served.as_row()

    listed = rules.client_for(an_account("ana"), cluster).list(NODES)

    assert listed.items == []
    with pytest.raises(ForbiddenError, match='User "bo"'):
        rules.client_for(an_account("bo"), cluster).list(NODES)
