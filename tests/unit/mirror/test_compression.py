import pytest
from django.db import connection

from dra_console.sync.mirrored import MIRRORED

pytestmark = pytest.mark.django_db


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite compresses nothing")
def test_postgresql_compresses_whole_objects_of_every_kind_with_lz4_if_it_can() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT CASE WHEN 'lz4' = ANY(enumvals) THEN 'l' ELSE '' END"
            " FROM pg_settings WHERE name = 'default_toast_compression'"
        )
        (expected,) = cursor.fetchone()
        cursor.execute(
            "SELECT relname, attcompression FROM pg_attribute JOIN pg_class ON attrelid = oid"
            " WHERE attname = 'raw' AND relname = ANY(%s)",
            [[mirrored.model._meta.db_table for mirrored in MIRRORED.values()]],
        )
        found = dict(cursor.fetchall())

    assert found == {mirrored.model._meta.db_table: expected for mirrored in MIRRORED.values()}
