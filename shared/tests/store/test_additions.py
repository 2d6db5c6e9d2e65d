"""What a later version adds to the tables changes nothing for a process of this version that runs meanwhile."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Final

import psycopg
from psycopg import sql
from sqlalchemy import TextClause

from parley_lab.store.statements import compiled
from parley_lab.store.tables import metadata

_TIME, _ID = 1184, 2950  # timestamptz, uuid
_TYPES = {"now": _TIME, "experiment_id": _ID, "member_id": _ID}
"""Of parameters that Postgres cannot tell from the statement; the driver sends the types of all."""


NOUNS: Final = ("store", "members", "talk", "drafts", "answers", "people", "settle", "experiments", "data")
"""Those with statements."""


def modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.name.startswith("parley_lab.store.migrations."):
            yield import_module(found.name)


def statements() -> dict[str, TextClause]:
    """The statements of the lab that are constants, by the name of each."""
    return {
        f"{module.__name__}.{name}": value
        for noun in NOUNS
        for module in modules(import_module(f"parley_lab.{noun}"))
        for name, value in vars(module).items()
        if isinstance(value, TextClause)
    }


def test_no_statement_that_is_prepared_changes_its_result_when_columns_are_added(database_url: str) -> None:
    """Postgres would refuse it from then on: "cached plan must not change result type"."""
    prepared, refused = statements(), {}
    with psycopg.connect(database_url, autocommit=True) as connection:
        for name, statement in prepared.items():
            query, parameters = compiled(statement)
            told = connection.pgconn.prepare(name.encode(), query, [_TYPES.get(one, 0) for one in parameters])
            assert told.status == psycopg.pq.ExecStatus.COMMAND_OK, (name, told.error_message)

        for table in map(sql.Identifier, metadata.tables):
            connection.execute(
                sql.SQL("ALTER TABLE {} ADD COLUMN of_the_next text NOT NULL DEFAULT 'new'").format(table)
            )

        for name in prepared:
            told = connection.pgconn.describe_prepared(name.encode())
            if told.status != psycopg.pq.ExecStatus.COMMAND_OK:
                refused[name] = told.error_message.decode()

    assert len(prepared) > 300
    assert refused == {}
