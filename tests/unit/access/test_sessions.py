from datetime import timedelta

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session

from dra_console.access.tasks import forget_ended_sessions

pytestmark = pytest.mark.django_db


def a_session(*, lives: timedelta) -> str:
    session = SessionStore()
    session.set_expiry(lives)
    session.create()
    assert session.session_key
    return session.session_key


def test_sessions_that_have_run_out_are_deleted_and_no_other() -> None:
    a_session(lives=timedelta(seconds=-1))
    alive = a_session(lives=timedelta(hours=1))

    forget_ended_sessions()

    assert [session.session_key for session in Session.objects.all()] == [alive]
