"""How clusters are said to be followed, on their pages and on the overview."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dra_console.mirror.models import ApiServer, Cluster
from dra_console.sync.following import ClusterFollowed, FollowState, KindFollowed
from dra_console.web.presenters.clusters import (
    KIND_SIGNS,
    cluster_line,
    cluster_page,
    cluster_sign,
    following_concerns,
)

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

FOLLOWING = KindFollowed(
    plural="pods",
    state=FollowState.FOLLOWING,
    lag=timedelta(seconds=2),
    last_event_at=NOW,
    listed_at=NOW,
    relists=1,
    failures=0,
    objects=4,
    resource_version="7",
    error="",
    error_status=0,
)
FORBIDDEN = replace(
    FOLLOWING,
    plural="resourceclaims",
    state=FollowState.FORBIDDEN,
    objects=None,
    error="User console cannot list",
    error_status=403,
)


def followed(*kinds: KindFollowed, server: ApiServer | None = None) -> ClusterFollowed:
    cluster = Cluster(name="lab", kubeconfig="/etc/console/lab")
    return ClusterFollowed(cluster, kinds, server=server, windows_held=1)


def a_server(*versions: str, error: str = "") -> ApiServer:
    return ApiServer(
        asked_at=NOW,
        answered_at=NOW,
        version="v1.34.1",
        resource_versions=list(versions),
        username="console",
        error=error,
    )


def test_each_state_has_a_word_and_a_picture_of_its_own() -> None:
    assert set(KIND_SIGNS) == set(FollowState)
    assert len({sign.icon for sign in KIND_SIGNS.values()}) == len(FollowState)
    assert len({sign.label for sign in KIND_SIGNS.values()}) == len(FollowState)


@pytest.mark.parametrize(
    ("shown", "label"),
    [
        (followed(FOLLOWING, server=a_server("v1")), "followed"),
        (followed(FOLLOWING, FORBIDDEN, server=a_server("v1")), "1 kind not followed"),
        (followed(FOLLOWING, server=a_server("v1", error="away")), "does not answer"),
        (followed(replace(FOLLOWING, state=FollowState.CATCHING_UP)), "catching up"),
    ],
)
def test_a_cluster_says_the_worst_that_is_known_of_it(shown: ClusterFollowed, label: str) -> None:
    assert cluster_sign(shown).label == label


@pytest.mark.parametrize(
    ("served", "spoken", "also"),
    [
        (("v1", "v1beta2"), "v1", ("v1beta2",)),
        (("v1beta1", "v1beta2"), "v1beta2", ("v1beta1",)),
        (("v1beta1",), "v1beta1", ()),
        (("v2",), "", ("v2",)),
        ((), "", ()),
    ],
)
def test_spoken_version_is_the_newest_that_both_know(
    served: tuple[str, ...], spoken: str, also: tuple[str, ...]
) -> None:
    line = cluster_line(followed(FOLLOWING, server=a_server(*served)))

    assert (line.spoken, line.also_served) == (spoken, also)


def test_errors_and_advice_are_for_those_who_may_inspect() -> None:
    shown = followed(FOLLOWING, FORBIDDEN, server=a_server("v1"))

    theirs = cluster_page(shown, may_inspect=False)
    ours = cluster_page(shown, may_inspect=True)

    assert [kind.error for kind in ours.kinds] == ["", "User console cannot list"]
    assert ours.advice
    assert (ours.username, ours.place) == ("console", "/etc/console/lab")
    assert [kind.error for kind in theirs.kinds] == ["", ""]
    assert (theirs.advice, theirs.username, theirs.place) == ((), "", "")
    assert [kind.sign for kind in theirs.kinds] == [kind.sign for kind in ours.kinds]


def test_objects_that_were_never_listed_are_not_counted_as_none() -> None:
    page = cluster_page(followed(FOLLOWING, FORBIDDEN), may_inspect=False)

    assert [kind.objects for kind in page.kinds] == ["4", "?"]


def test_overview_is_told_of_each_kind_that_is_not_followed() -> None:
    [concern] = following_concerns([FORBIDDEN], cluster_name="lab")

    assert concern.headline == "resourceclaims of lab: forbidden to us"
    assert concern.address == "/clusters/lab/"
