"""Add and remove indexes without keeping the mirror from being written meanwhile.

PostgreSQL builds an index beside a table's writers if asked to (`CONCURRENTLY`), outside of
a transaction; a plain `CREATE INDEX` on a large table stops every stream for as long as it
takes. SQLite has one writer at a time, whatever it does, and knows no such thing.

Without a transaction, a migration that breaks off leaves what it has done. The next try goes
on from there: an index that is there stays, and one that is half built and not valid, which
is what a broken concurrent build leaves, is dropped and built anew.
"""

from typing import Final

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import AddIndex, RemoveIndex
from django.db.migrations.state import ProjectState

IS_INVALID: Final = """
    SELECT 1 FROM pg_index JOIN pg_class ON pg_class.oid = pg_index.indexrelid
    WHERE pg_class.relname = %s AND NOT pg_index.indisvalid
"""


class AddIndexOnline(AddIndexConcurrently):
    """`AddIndex`, beside writers where the database can; its migration is not atomic."""

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        table = to_state.apps.get_model(app_label, self.model_name)._meta.db_table  # noqa: SLF001 - Django's documented name
        if _is_built(schema_editor, table=table, name=self.index.name):
            return
        way = AddIndexConcurrently if _is_postgresql(schema_editor) else AddIndex
        way.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        way = AddIndexConcurrently if _is_postgresql(schema_editor) else AddIndex
        way.database_backwards(self, app_label, schema_editor, from_state, to_state)


class RemoveIndexOnline(RemoveIndexConcurrently):
    """`RemoveIndex` likewise."""

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        way = RemoveIndexConcurrently if _is_postgresql(schema_editor) else RemoveIndex
        way.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        way = RemoveIndexConcurrently if _is_postgresql(schema_editor) else RemoveIndex
        way.database_backwards(self, app_label, schema_editor, from_state, to_state)


def _is_postgresql(schema_editor: BaseDatabaseSchemaEditor) -> bool:
    return schema_editor.connection.vendor == "postgresql"


def _is_built(schema_editor: BaseDatabaseSchemaEditor, *, table: str, name: str) -> bool:
    """Tell whether a try before has built the index; drop what it has half built."""
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        if name not in connection.introspection.get_constraints(cursor, table):
            return False
        if not _is_postgresql(schema_editor):
            return True
        cursor.execute(IS_INVALID, [name])
        if cursor.fetchone() is None:
            return True
        cursor.execute(f"DROP INDEX CONCURRENTLY {schema_editor.quote_name(name)}")
    return False
