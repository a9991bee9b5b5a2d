"""Write many rows at once, several times faster than the ORM does.

`write` means the same as `bulk_create`, with or without `update_conflicts`; tests hold the
two against each other. It leaves out what costs `bulk_create` most: a SQL text with a
parameter for each value, and one call for each value to make it fit for the database.

- PostgreSQL: COPY; where rows may be there already, into a temporary table of this connection
  and with one INSERT from there. The console's role needs the right to make temporary tables,
  which everybody has by default.
- SQLite: one prepared statement, executed for each row.

A difference: primary keys that the database gives are not set on the rows.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, Final, TypeAlias

from django.db import connection, models

from dra_console.sync.column_values import Encode, decoded, encoder_of

FEWEST_ROWS: Final = 20
"""Below it, preparing the table costs more than it saves."""

Values: TypeAlias = Sequence[Any]
"""One row: a value for each field but the primary key, in the order of the model's fields.

JSON may also be given as the text that it is to be stored as, in a `msgspec.Raw`.
"""


@dataclass(frozen=True, slots=True)
class _Columns:
    """What of a model's rows is written, and how its values become the database's."""

    table: str
    names: tuple[str, ...]
    attributes: tuple[str, ...]
    encoded: tuple[tuple[int, Encode], ...]

    def encode(self, rows: Iterable[Values]) -> Iterator[Values]:
        """Yield each row's values as the database takes them."""
        by_field = list[Sequence[Any]](zip(*rows, strict=True))
        for position, encode in self.encoded:
            by_field[position] = encode(by_field[position])
        return zip(*by_field, strict=True)


def write(
    model: type[models.Model],
    rows: Sequence[models.Model],
    *,
    unique_fields: Collection[str] = (),
    update_fields: Collection[str] = (),
) -> None:
    """Insert rows; where `unique_fields` are taken, replace `update_fields` of that row.

    Must run in a transaction. No two rows may have the same values in `unique_fields`.

    Raises:
        IntegrityError, DataError: as `bulk_create`.

    """
    if len(rows) < FEWEST_ROWS:
        plainly(model, rows, unique_fields=unique_fields, update_fields=update_fields)
        return
    columns = _columns_of(model, vendor=connection.vendor)
    values = list(map(attrgetter(*columns.attributes), rows))
    write_values(model, values, unique_fields=unique_fields, update_fields=update_fields)


def write_values(
    model: type[models.Model],
    rows: Sequence[Values],
    *,
    unique_fields: Collection[str] = (),
    update_fields: Collection[str] = (),
) -> None:
    """Do the same without a model's instance for each row, which costs more than to write it."""
    if not rows:
        return
    columns = _columns_of(model, vendor=connection.vendor)
    if len(rows) < FEWEST_ROWS:
        instances = [
            model(**dict(zip(columns.attributes, map(decoded, row), strict=True))) for row in rows
        ]
        plainly(model, instances, unique_fields=unique_fields, update_fields=update_fields)
        return
    conflicts = _on_conflict(model, unique_fields=unique_fields, update_fields=update_fields)
    WAYS[connection.vendor](columns, rows, conflicts)


def plainly(
    model: type[models.Model],
    rows: Sequence[models.Model],
    *,
    unique_fields: Collection[str] = (),
    update_fields: Collection[str] = (),
) -> None:
    """Do the same by the ORM alone."""
    if not rows:
        return
    manager = model._default_manager  # noqa: SLF001 - Django's documented name
    if unique_fields:
        manager.bulk_create(
            rows, update_conflicts=True, unique_fields=unique_fields, update_fields=update_fields
        )
    else:
        manager.bulk_create(rows)


def _copy(columns: _Columns, rows: Iterable[Values], conflicts: str) -> None:
    table = connection.ops.quote_name(columns.table)
    if not conflicts:
        _copy_into(table, columns, rows)
        return
    names = ", ".join(columns.names)
    stage = connection.ops.quote_name(f"stage_{columns.table}")
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TEMPORARY TABLE IF NOT EXISTS {stage} ON COMMIT DELETE ROWS"  # noqa: S608 - a model's names
            f" AS SELECT {names} FROM {table} WITH NO DATA"
        )
        _copy_into(stage, columns, rows)
        cursor.execute(
            f"INSERT INTO {table} ({names}) SELECT {names} FROM {stage}{conflicts}"  # noqa: S608 - a model's names
        )
        cursor.execute(f"TRUNCATE {stage}")


def _copy_into(table: str, columns: _Columns, rows: Iterable[Values]) -> None:
    with connection.cursor() as cursor:
        copying = cursor.copy(f"COPY {table} ({', '.join(columns.names)}) FROM STDIN")
        # Django translates the errors of its own calls alone.
        with connection.wrap_database_errors, copying as copy:
            for values in columns.encode(rows):
                copy.write_row(values)


def _execute_many(columns: _Columns, rows: Iterable[Values], conflicts: str) -> None:
    names = ", ".join(columns.names)
    places = ", ".join(["%s"] * len(columns.names))
    table = connection.ops.quote_name(columns.table)
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {table} ({names}) VALUES ({places}){conflicts}",  # noqa: S608 - a model's names
            list(columns.encode(rows)),
        )


WAYS: Final[Mapping[str, Callable[[_Columns, Iterable[Values], str], None]]] = {
    "postgresql": _copy,
    "sqlite": _execute_many,
}


def _on_conflict(
    model: type[models.Model], *, unique_fields: Collection[str], update_fields: Collection[str]
) -> str:
    if not unique_fields:
        return ""
    targets = ", ".join(_quoted(model, name) for name in unique_fields)
    replaced = ", ".join(
        f"{column} = EXCLUDED.{column}"
        for column in (_quoted(model, name) for name in update_fields)
    )
    return f" ON CONFLICT ({targets}) DO UPDATE SET {replaced}"


def _quoted(model: type[models.Model], name: str) -> str:
    (column,) = (
        field.column or ""
        for field in model._meta.concrete_fields  # noqa: SLF001 - Django's documented name
        if field.name == name
    )
    return connection.ops.quote_name(column)


@cache
def _columns_of(model: type[models.Model], *, vendor: str) -> _Columns:
    fields = [each for each in model._meta.concrete_fields if not each.primary_key]  # noqa: SLF001 - Django's documented name
    encoders = [
        (position, encoder_of(field, vendor=vendor)) for position, field in enumerate(fields)
    ]
    return _Columns(
        table=model._meta.db_table,  # noqa: SLF001 - Django's documented name
        names=tuple(connection.ops.quote_name(field.column or "") for field in fields),
        attributes=tuple(field.attname for field in fields),
        encoded=tuple((position, encode) for position, encode in encoders if encode is not None),
    )
