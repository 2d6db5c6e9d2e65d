"""Definitions that all tables share."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Integer,
    MetaData,
    Table,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def one_of(column: str, values: Sequence[str], *, name: str) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=name)


def flag(name: str, *, default: bool = False) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=text(str(default).lower()))


def number(name: str, *, default: int = 0) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=text(str(default)))


def big_number(name: str) -> Column[int]:
    """For counts without a limit, and for milliseconds."""
    return Column(name, BigInteger, nullable=False, server_default=text("0"))


def at(name: str, *, nullable: bool = True) -> Column[datetime]:
    return Column(name, DateTime(timezone=True), nullable=nullable)


def json_column(name: str, *, default: str | None = "{}", nullable: bool = False) -> Column[object]:
    server_default = None if default is None else text(f"'{default}'::jsonb")
    return Column(name, JSONB, nullable=nullable, server_default=server_default)


def all_of(table: Table, alias: str) -> str:
    """All columns of the table that this code knows, for a SELECT.

    An asterisk would take those of a later version, too. Postgres refuses a prepared statement whose result has
    changed, so that a process that runs while a column is added would never read the row again.
    """
    return ", ".join(f"{alias}.{column.name}" for column in table.columns)
