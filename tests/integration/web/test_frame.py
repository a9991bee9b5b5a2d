"""Log-in, colours, health, errors and headers: what every page stands in."""

import pytest
from django.contrib.auth.models import User
from django.template.loader import get_template
from django.test import Client
from pytest_django import Settings

from dra_console.access.models import Profile
from dra_console.mirror.models import Cluster
from tests.builders.accounts import PASSWORD, an_account

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cluster")]


def test_nobody_sees_a_page_without_logging_in() -> None:
    response = Client().get("/devices/?state=free")

    assert response.status_code == 302
    assert response.headers["Location"] == "/login/?next=/devices/%3Fstate%3Dfree"


def test_log_in_leads_to_the_page_that_was_asked_for() -> None:
    an_account("ana", groups=("gpu-admins",))

    response = Client().post(
        "/login/", {"username": "ana", "password": PASSWORD, "next": "/devices/?state=free"}
    )

    assert response.headers["Location"] == "/devices/?state=free"


def test_wrong_password_is_said_in_text_tied_to_both_fields() -> None:
    an_account("ana")

    text = Client().post("/login/", {"username": "ana", "password": "wrong"}).content.decode()

    assert 'id="login-error"' in text
    assert text.count('aria-describedby="login-error"') == 2


def test_log_out_is_a_form_that_ends_the_session(as_admin: Client) -> None:
    as_admin.post("/logout/")

    assert as_admin.get("/").status_code == 302


def test_colours_are_kept_with_the_account(as_admin: Client) -> None:
    response = as_admin.post("/theme/", {"theme": "dark", "next": "/nodes/"})

    assert response.headers["Location"] == "/nodes/"
    assert Profile.objects.get(user__username="admin").theme == "dark"
    assert b'data-theme="dark"' in as_admin.get("/nodes/").content


def test_colours_of_an_account_without_a_profile_are_kept_in_its_session() -> None:
    client = Client()
    client.force_login(User.objects.create_user("plain"))

    client.post("/theme/", {"theme": "light"})

    assert b'data-theme="light"' in client.get("/").content


@pytest.mark.parametrize(
    "address", ["https://evil.example.org/", "//evil.example.org", "javascript:x"]
)
def test_colours_never_lead_to_another_host(as_admin: Client, address: str) -> None:
    response = as_admin.post("/theme/", {"theme": "dark", "next": address})

    assert response.headers["Location"] == "/"


def test_colours_that_do_not_exist_are_refused_by_name(as_admin: Client) -> None:
    response = as_admin.post("/theme/", {"theme": "mauve"})

    assert response.status_code == 400
    assert b"theme: expected one of" in response.content


def test_health_is_told_without_logging_in() -> None:
    response = Client().get("/healthz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok", "database": "ok", "redis": "ok"}


def test_health_names_what_does_not_answer_and_no_address(settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    response = Client().get("/healthz")

    assert response.status_code == 503
    assert response.json() == {"status": "failing", "database": "ok", "redis": "no answer"}


def test_error_page_for_a_stranger_names_no_cluster(cluster: Cluster) -> None:
    response = Client().get("/no/such/page/")

    assert response.status_code == 404
    assert cluster.name.encode() not in response.content


def test_page_for_a_failure_needs_neither_session_nor_database() -> None:
    text = get_template("500.html").render()

    assert "Something broke on our side" in text


def test_pages_carry_a_policy_that_allows_nothing_inline(as_admin: Client) -> None:
    policy = as_admin.get("/").headers["Content-Security-Policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_form_without_its_token_is_refused_in_words() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(an_account("ana"))

    response = client.post("/theme/", {"theme": "dark"})

    assert response.status_code == 403
    assert b"This form was too old" in response.content


def test_rail_counts_the_claims_that_wait(as_researcher: Client) -> None:
    text = as_researcher.get("/nodes/").content.decode()

    assert '1<span class="visually-hidden"> waiting</span>' in text
