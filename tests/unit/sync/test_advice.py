"""What is said to do about a cluster; the RBAC that is printed is what mirroring needs."""

from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from dra_console.mirror.models import ApiServer, Cluster
from dra_console.sync.advice import advice_for, mirror_role_yaml
from dra_console.sync.following import ClusterFollowed, FollowState, KindFollowed
from dra_console.sync.mirrored import MIRRORED

ASKED_AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def a_kind(
    plural: str, state: FollowState = FollowState.FOLLOWING, *, error: str = "", status: int = 0
) -> KindFollowed:
    return KindFollowed(
        plural=plural,
        state=state,
        lag=None,
        last_event_at=None,
        listed_at=None,
        relists=0,
        failures=0,
        objects=None,
        resource_version="",
        error=error,
        error_status=status,
    )


def followed(*troubled: KindFollowed, **server: object) -> ClusterFollowed:
    """A cluster of which all kinds are followed but these."""
    by_plural = {kind.plural: kind for kind in troubled}
    cluster = Cluster(name="lab", kubeconfig="/etc/console/lab", context="admin")
    as_usual = {"version": "v1.37.2", "resource_versions": ["v1"], "username": "console"}
    return ClusterFollowed(
        cluster=cluster,
        kinds=tuple(by_plural.get(plural, a_kind(plural)) for plural in MIRRORED),
        server=ApiServer(cluster=cluster, asked_at=ASKED_AT, **{**as_usual, **server}),
        windows_held=9,
    )


def test_nothing_is_to_be_done_where_everything_is_followed() -> None:
    assert advice_for(followed()) == ()


def test_forbidden_kinds_are_named_with_the_role_that_grants_them_bound_to_us() -> None:
    forbidden = a_kind("devicetaintrules", FollowState.FORBIDDEN, error="no", status=403)

    [advice] = advice_for(followed(forbidden, username="system:serviceaccount:gpu:dra-console"))

    assert advice.headline == "Grant list and watch on devicetaintrules"
    role, binding = yaml.safe_load_all(advice.snippet)
    assert _granted(role, "resource.k8s.io", "devicetaintrules") >= {"list", "watch"}
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "namespace": "gpu", "name": "dra-console"}
    ]


@pytest.mark.parametrize("plural", MIRRORED)
def test_role_grants_what_following_each_kind_takes(plural: str) -> None:
    role, binding = yaml.safe_load_all(mirror_role_yaml("console"))

    assert _granted(role, MIRRORED[plural].kind.group, plural) >= {"get", "list", "watch"}
    assert [subject["kind"] for subject in binding["subjects"]] == ["User"]


def test_role_is_bound_to_nobody_where_we_do_not_know_who_we_are() -> None:
    assert len(list(yaml.safe_load_all(mirror_role_yaml("")))) == 1


def test_an_api_server_that_is_away_is_said_once_and_not_for_each_kind() -> None:
    failing = [a_kind(plural, FollowState.FAILING, error="no route") for plural in MIRRORED]

    [advice] = advice_for(followed(*failing, error="https://10.0.0.1:6443: no route"))

    assert "does not answer" in advice.headline
    assert "https://10.0.0.1:6443: no route" in advice.text
    assert "/etc/console/lab, context admin" in advice.text
    assert advice.snippet == (
        "kubectl --kubeconfig /etc/console/lab --context admin get --raw /version"
    )


def test_credentials_that_are_refused_are_told_from_a_server_that_is_away() -> None:
    refused = a_kind("pods", FollowState.FAILING, error="Unauthorized", status=401)

    [advice] = advice_for(followed(refused, error="Unauthorized"))

    assert "does not accept our credentials" in advice.headline


def test_a_server_without_dynamic_resource_allocation_is_told_how_to_have_it() -> None:
    lacking = [
        a_kind(plural, FollowState.NOT_SERVED, error="not there", status=404)
        for plural, mirrored in MIRRORED.items()
        if mirrored.kind.group
    ]

    advice = advice_for(followed(*lacking, resource_versions=[]))

    assert advice[0].headline == "This API server has no resource.k8s.io"
    assert "DynamicResourceAllocation" in advice[0].text


def test_silence_asks_for_a_worker() -> None:
    silent = a_kind("pods", FollowState.SILENT)

    [advice] = advice_for(followed(silent))

    assert advice.headline == "No worker follows pods of lab"
    assert "celery" in advice.snippet


def test_disabled_cluster_says_how_to_enable_it() -> None:
    disabled = followed()
    disabled.cluster.enabled = False

    [advice] = advice_for(disabled)

    assert advice.snippet == "manage.py cluster enable lab"


def _granted(role: dict[str, Any], group: str, plural: str) -> set[str]:
    return {
        verb
        for rule in role["rules"]
        if group in rule["apiGroups"] and plural in rule["resources"]
        for verb in rule["verbs"]
    }
