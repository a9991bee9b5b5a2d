from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from pytest_django import DjangoAssertNumQueries, Settings

from dra_console.access import tokens
from dra_console.access.models import ApiToken, Scope
from tests.builders.accounts import an_account

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)


def issued(user: User, *, expires_at: datetime = NOW + timedelta(days=1)) -> str:
    _, text = tokens.issue(user, name="ci", scope=Scope.READ, expires_at=expires_at)
    return text


def test_a_token_is_found_by_its_text_with_its_user() -> None:
    ana = an_account("ana")

    token = tokens.find(issued(ana), now=NOW)

    assert token is not None
    assert token.user == ana


def test_the_database_holds_nothing_that_works_as_a_token() -> None:
    text = issued(an_account())

    [row] = ApiToken.objects.values_list()

    assert text not in map(str, row)
    assert text.rpartition("_")[2] not in " ".join(map(str, row))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[:-1] + ("0" if text[-1] != "0" else "1"),
        lambda text: text.rpartition("_")[0],
        lambda text: text.rpartition("_")[0] + "_",
        lambda text: text + "\x00",
        lambda _: "",
        lambda _: "drac_00000000_ff",
        lambda _: "\udcff",
    ],
)
def test_anything_else_is_no_token(spoil: Callable[[str], str]) -> None:
    text = issued(an_account())

    assert tokens.find(spoil(text), now=NOW) is None


def test_a_token_ends_at_its_expiry() -> None:
    text = issued(an_account(), expires_at=NOW)

    assert tokens.find(text, now=NOW - timedelta(seconds=1)) is not None
    assert tokens.find(text, now=NOW) is None


def test_a_revoked_token_ends_at_once() -> None:
    ana = an_account()
    text = issued(ana)

    ended = tokens.revoke(ana, name="ci", now=NOW)

    assert ended == 1
    assert tokens.find(text, now=NOW) is None
    assert tokens.revoke(ana, name="ci", now=NOW) == 0


def test_a_disabled_account_takes_its_tokens_along() -> None:
    ana = an_account()
    text = issued(ana)

    User.objects.filter(pk=ana.pk).update(is_active=False)

    assert tokens.find(text, now=NOW) is None


def test_tokens_outlive_a_rotation_of_the_key_while_the_old_one_is_kept(
    settings: Settings,
) -> None:
    text = issued(an_account())
    old = settings.SECRET_KEY

    settings.SECRET_KEY = "a new key"
    forgotten = tokens.find(text, now=NOW)
    settings.SECRET_KEY_FALLBACKS = [old]
    kept = tokens.find(text, now=NOW)

    assert forgotten is None
    assert kept is not None


def test_the_last_use_is_written_once_a_minute(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    text = issued(an_account())

    def used_at(now: datetime) -> None:
        token = tokens.find(text, now=now)
        assert token is not None
        tokens.note_use(token, now=now)

    with django_assert_num_queries(2):
        used_at(NOW)
    with django_assert_num_queries(1):
        used_at(NOW + timedelta(seconds=59))
    with django_assert_num_queries(2):
        used_at(NOW + timedelta(seconds=60))

    assert ApiToken.objects.get().last_used_at == NOW + timedelta(seconds=60)


def test_two_tokens_are_never_alike() -> None:
    ana = an_account()

    texts = {issued(ana) for _ in range(20)}

    assert len(texts) == 20
