import io
import json
from pathlib import Path

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from dra_console.access import tokens
from dra_console.access.models import Profile, Scope
from tests.builders.accounts import PASSWORD

pytestmark = pytest.mark.django_db


def access_user(*arguments: str) -> dict[str, object]:
    printed = io.StringIO()
    call_command("access_user", *arguments, stdout=printed)
    answer: dict[str, object] = json.loads(printed.getvalue())
    return answer


def test_an_account_is_made_with_identity_password_and_token(tmp_path: Path) -> None:
    password_file = tmp_path / "password"
    password_file.write_text(f"{PASSWORD}\n")

    answer = access_user(
        "ana", "--group", "a", "--group", "b", "--password-file", str(password_file), "--token"
    )

    assert answer["kubernetes_username"] == "ana"
    assert answer["kubernetes_groups"] == ["a", "b"]
    assert authenticate(username="ana", password=PASSWORD) is not None
    token = tokens.find(str(answer["token"]), now=timezone.now())
    assert token is not None
    assert token.scope == Scope.CLAIMS_WRITE


def test_a_password_comes_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))

    access_user("ana", "--password-file", "-")

    assert authenticate(username="ana", password=PASSWORD) is not None


def test_running_it_again_changes_what_is_given_and_keeps_the_rest() -> None:
    first = access_user("ana", "--group", "a", "--token", "ci")

    again = access_user("ana", "--kubernetes-username", "ana@example.org", "--token", "ci")

    assert again["kubernetes_groups"] == ["a"]
    assert again["kubernetes_username"] == "ana@example.org"
    assert tokens.find(str(first["token"]), now=timezone.now()) is None
    assert tokens.find(str(again["token"]), now=timezone.now()) is not None
    assert User.objects.count() == 1


def test_a_new_account_cannot_log_in_by_password_unless_one_is_given() -> None:
    answer = access_user("ana")

    assert answer["token"] is None
    assert not User.objects.get().has_usable_password()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--group", "system:masters"), "system:masters bypasses authorisation"),
        (("--group", ""), "expected a name"),
        (("--password-file", "/missing"), "--password-file: .*No such file"),
        (("--token", "ci", "--days", "0"), "--days: expected at least 1, got 0"),
    ],
)
def test_a_bad_argument_is_named_and_changes_nothing(
    arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        access_user("ana", *arguments)

    assert not User.objects.exists()
    assert not Profile.objects.exists()


def test_a_short_password_is_refused(tmp_path: Path) -> None:
    password_file = tmp_path / "password"
    password_file.write_text("short\n")

    with pytest.raises(CommandError, match="too short"):
        access_user("ana", "--password-file", str(password_file))


def test_an_operator_is_made_and_unmade_and_otherwise_left_as_is() -> None:
    for arguments, is_operator in (
        (("--operator",), True),
        ((), True),
        (("--no-operator",), False),
    ):
        access_user("ana", *arguments)

        assert User.objects.get().is_staff is is_operator
