"""Events, streams and the outbox."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    ForeignKey,
    Identity,
    Index,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from parley_lab.store.tables.base import at, big_number, flag, json_column, metadata

streams = Table(
    "streams",
    metadata,
    Column("cohort_id", ForeignKey("cohorts.id"), primary_key=True),
    big_number("last"),
    big_number("unsettled"),
    big_number("settled"),
    Index("ix_streams_unsettled", "cohort_id", postgresql_where=text("settled < unsettled")),
)

events = Table(
    "events",
    metadata,
    Column("seq", BigInteger, Identity(), primary_key=True),
    Column("experiment_id", ForeignKey("experiments.id"), nullable=False, index=True),
    Column("cohort_id", ForeignKey("cohorts.id"), nullable=False),
    Column("stream_seq", BigInteger, nullable=False),
    Column("type", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("cause", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("subject_id", Uuid),
    json_column("payload"),
    Column("audience", ARRAY(Uuid)),
    Column("public", JSONB),
    at("at", nullable=False),
    UniqueConstraint("cohort_id", "stream_seq"),
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("queue", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("subject_id", Text, nullable=False),
    Column("correlation", Text, nullable=False),
    flag("urgent"),
    at("created_at", nullable=False),
)

alerts = Table(
    "alerts",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("path", Text, nullable=False),
    Column("experiment_id", ForeignKey("experiments.id"), nullable=False, index=True),
    Column("cohort_id", ForeignKey("cohorts.id"), index=True),
    Column("member_id", ForeignKey("members.id"), index=True),
    Column("type", Text, nullable=False),
    Column("text", Text, nullable=False),
    at("created_at", nullable=False),
    at("resolved_at"),
    Column("resolved_by", Text),
    Index("ix_alerts_open", "experiment_id", postgresql_where=text("resolved_at IS NULL")),
)
