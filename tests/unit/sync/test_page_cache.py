"""Room for pages while a list is written, on SQLite."""

import pytest
from django.db import connection

from dra_console.sync.page_cache import ROOMY_KIBIBYTES, USUAL_KIBIBYTES, roomy_page_cache
from tests import settings

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(settings.TEST_DATABASE != "sqlite", reason="PostgreSQL has its own"),
]


def cache_kibibytes() -> int:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA cache_size")
        return -int(cursor.fetchone()[0])


def fail_with_room() -> None:
    with roomy_page_cache():
        raise ValueError(f"room for {cache_kibibytes()}")


def test_a_list_has_more_room_and_gives_it_back_also_when_it_fails() -> None:
    with pytest.raises(ValueError, match=f"room for {ROOMY_KIBIBYTES}"):
        fail_with_room()

    assert cache_kibibytes() == USUAL_KIBIBYTES
