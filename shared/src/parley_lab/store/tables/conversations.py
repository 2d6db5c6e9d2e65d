"""Threads, messages, and the triggers that were answered."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
)

from parley_lab.store.tables.base import at, big_number, flag, json_column, metadata, number, one_of

REACTIONS = ("heart", "thumbs_up")

threads = Table(
    "threads",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("cohort_id", ForeignKey("cohorts.id"), nullable=False),
    Column("stage_id", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("path", Text, nullable=False),
    number("last_seq"),
    Column("last_spoken_id", Uuid),
    Column("last_spoken_trigger", Text),
    Column("last_author_id", Uuid),
    number("agent_run"),
    big_number("clock_ms"),
    json_column("turn_state"),
    flag("held"),
    big_number("paused_ms"),
    at("opened_at", nullable=False),
    at("ended_at"),
    Column("end_reason", Text),
    UniqueConstraint("cohort_id", "stage_id", "scope"),
)

messages = Table(
    "messages",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("thread_id", ForeignKey("threads.id"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("member_id", ForeignKey("members.id"), index=True),
    Column("author_kind", Text, nullable=False),
    Column("author_name", Text),
    Column("known_as", Text),
    Column("text", Text, nullable=False),
    json_column("line", default=None, nullable=True),
    Column("topic", Text),
    Column("reply_to", Uuid),
    Column("audience", ARRAY(Uuid)),
    Column("client_key", Text),
    Column("trigger_key", Text),
    Column("explanation", Text),
    Column("elapsed_ms", BigInteger, nullable=False),
    at("created_at", nullable=False),
    UniqueConstraint("thread_id", "seq"),
    UniqueConstraint("thread_id", "member_id", "client_key"),
    one_of("author_kind", ("person", "agent", "script", "system", "experimenter"), name="author_kind"),
    CheckConstraint("author_kind IN ('system', 'experimenter') OR member_id IS NOT NULL", name="author"),
)

reactions = Table(
    "reactions",
    metadata,
    Column("message_id", ForeignKey("messages.id"), nullable=False),
    Column("member_id", ForeignKey("members.id"), nullable=False, index=True),
    Column("reaction", Text, nullable=False),
    at("reacted_at", nullable=False),
    PrimaryKeyConstraint("message_id", "member_id", "reaction"),
    one_of("reaction", REACTIONS, name="reaction"),
)

trigger_log = Table(
    "trigger_log",
    metadata,
    Column("thread_id", ForeignKey("threads.id"), nullable=False),
    Column("trigger_key", Text, nullable=False),
    Column("member_id", ForeignKey("members.id"), nullable=False, index=True),
    Column("draft_id", ForeignKey("drafts.id"), nullable=False, unique=True),
    Column("message_id", Uuid, nullable=False, unique=True),
    at("claimed_at", nullable=False),
    PrimaryKeyConstraint("thread_id", "trigger_key"),
)
