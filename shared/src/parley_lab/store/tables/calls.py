"""Workers, limits and gates of model calls."""

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    Table,
    Text,
    Uuid,
    text,
)

from parley_lab.store.tables.base import at, flag, json_column, metadata, number

workers = Table(
    "workers",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("providers", ARRAY(Text), nullable=False),
    at("started_at", nullable=False),
    at("seen_at", nullable=False),
    at("believed_until", nullable=False),
)

limits = Table(
    "limits",
    metadata,
    Column("name", Text, primary_key=True),
    json_column("state"),
)

gates = Table(
    "gates",
    metadata,
    Column("name", Text, primary_key=True),
    flag("is_tried", default=True),
    number("refusals"),
    at("refused_at"),
    at("refused_before_at"),
    at("accepted_at"),
    at("paused_at"),
    Column("fault", Text, nullable=False, server_default=text("''")),
    Column("reason", Text, nullable=False, server_default=text("''")),
    Column("asked", Text, nullable=False, server_default=text("''")),
    at("next_try_at"),
)

lacks = Table(
    "lacks",
    metadata,
    Column("name", Text, primary_key=True),
    Column("lack", Text, primary_key=True),
    at("learned_at", nullable=False),
)

call_limits = Table(
    "call_limits",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id"), primary_key=True),
    Column("most", Integer, nullable=False),
    number("taken"),
    CheckConstraint("taken <= most", name="most"),
)
