"""Asks, drafts, timers, and their outcomes."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Numeric,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from parley_lab.store.tables.base import at, flag, metadata, number, one_of

ASK_STATES = ("open", "answered", "expired", "failed", "cancelled")
DRAFT_OPEN_STATES = ("wanted", "thinking", "ready")
DRAFT_STATES = (
    *DRAFT_OPEN_STATES,
    "published",
    "answered",
    "declined",
    "moved_on",
    "lost_claim",
    "invalid",
    "failed",
    "cancelled",
    "ended",
)
TIMER_STATES = ("armed", "held", "fired", "cancelled")

answers = Table(
    "answers",
    metadata,
    Column("member_id", ForeignKey("members.id"), nullable=False),
    Column("stage_id", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("cohort_id", ForeignKey("cohorts.id"), nullable=False),
    Column("value", JSONB, nullable=True),
    flag("valid", default=True),
    flag("passed"),
    Column("invalid", JSONB(none_as_null=True)),
    Column("marks", JSONB(none_as_null=True)),
    number("revision", default=1),
    at("completed_at"),
    at("written_at", nullable=False),
    Column("counted_at", BigInteger),
    PrimaryKeyConstraint("member_id", "stage_id", "key"),
    Index(None, "cohort_id", "stage_id"),
)

# Unsent entries of a person: never shown to a member, and gone once the answer is given. With an outcome it is
# what does not count of an answer that was not sent.
partial_answers = Table(
    "partial_answers",
    metadata,
    Column("member_id", ForeignKey("members.id"), nullable=False),
    Column("stage_id", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("ask_id", Uuid),
    Column("value", JSONB, nullable=False),
    at("saved_at", nullable=False),
    Column("outcome", Text),
    PrimaryKeyConstraint("member_id", "stage_id", "key"),
)

# How an answer of a person came about, where the experiment records it: numbers by question, no text.
answer_processes = Table(
    "answer_processes",
    metadata,
    Column("member_id", ForeignKey("members.id"), nullable=False),
    Column("stage_id", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("questions", JSONB, nullable=False),
    at("recorded_at", nullable=False),
    PrimaryKeyConstraint("member_id", "stage_id", "key"),
)

asks = Table(
    "asks",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("path", Text, nullable=False),
    Column("cohort_id", ForeignKey("cohorts.id"), nullable=False),
    Column("stage_id", Text, nullable=False),
    Column("member_id", ForeignKey("members.id"), nullable=False),
    Column("key", Text, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=text("'open'")),
    Column("reason", Text),
    Column("as_of", BigInteger),
    at("opened_at", nullable=False),
    at("closed_at"),
    UniqueConstraint("cohort_id", "stage_id", "member_id", "key", "generation"),
    one_of("state", ASK_STATES, name="state"),
    Index(
        "uq_asks_open",
        "cohort_id",
        "stage_id",
        "member_id",
        "key",
        unique=True,
        postgresql_where=text("state = 'open'"),
    ),
    Index("ix_asks_member_id_open", "member_id", postgresql_where=text("state = 'open'")),
)

drafts = Table(
    "drafts",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("path", Text, nullable=False),
    Column("cohort_id", ForeignKey("cohorts.id"), nullable=False, index=True),
    Column("stage_id", Text, nullable=False),
    Column("member_id", ForeignKey("members.id"), nullable=False, index=True),
    Column("ask_id", ForeignKey("asks.id"), unique=True),
    Column("thread_id", ForeignKey("threads.id")),
    Column("trigger_key", Text),
    number("wave"),
    Column("as_of_seq", Integer),
    Column("purpose", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=text("'wanted'")),
    Column("lease_owner", Uuid),
    at("lease_until"),
    # The worker of the lease; those that had one when it ran out; the one that had nothing else in hand meanwhile.
    Column("lease_worker", Uuid),
    Column("lost_with", ARRAY(Uuid), nullable=False, server_default=text("'{}'")),
    Column("alone_with", Uuid),
    number("attempts"),
    number("free_calls"),
    at("tried_since"),
    Column("waits_for", Text),
    at("not_before", nullable=False),
    at("due_at"),
    Column("finish_ms", BigInteger),
    Column("reply", JSONB),
    flag("ready_to_end"),
    Column("message_id", ForeignKey("messages.id"), unique=True),
    Column("reason", Text),
    Column("correlation", Text, nullable=False, server_default=text("''")),
    at("created_at", nullable=False),
    at("closed_at"),
    UniqueConstraint("thread_id", "trigger_key", "member_id"),
    one_of("state", DRAFT_STATES, name="state"),
    CheckConstraint("(ask_id IS NULL) <> (thread_id IS NULL)", name="one_cause"),
    CheckConstraint("(thread_id IS NULL) = (trigger_key IS NULL)", name="trigger_of_thread"),
    CheckConstraint("(state = 'thinking') = (lease_owner IS NOT NULL)", name="lease"),
    CheckConstraint("(state = 'published') = (message_id IS NOT NULL)", name="published"),
    Index("ix_drafts_wanted", "not_before", postgresql_where=text("state IN ('wanted', 'thinking')")),
    Index("ix_drafts_waiting", "waits_for", postgresql_where=text("waits_for IS NOT NULL")),
    Index("ix_drafts_due", "due_at", postgresql_where=text("state = 'ready'")),
    Index(
        "ix_drafts_open_in_thread",
        "thread_id",
        postgresql_where=text("state IN ('wanted', 'thinking', 'ready')"),
    ),
)

model_calls = Table(
    "model_calls",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("draft_id", ForeignKey("drafts.id"), nullable=False),
    Column("part", Text, nullable=False, server_default=text("''")),
    Column("attempt", Integer, nullable=False),
    Column("path", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("model_asked", Text, nullable=False),
    Column("model_returned", Text),
    Column("endpoint", Text),
    Column("model_mode", Text, nullable=False),
    Column("settings", JSONB, nullable=False),
    # A short prompt is kept whole, a long one in pieces (`parley_lab.drafts.prompts`); a row has one of the two.
    Column("prompt", JSONB),
    Column("prompt_pieces", ARRAY(Uuid)),
    Column("prompt_hash", Text, nullable=False),
    Column("raw", Text),
    Column("parsed", JSONB),
    # The reply as it was read, where its fields were written in another form.
    Column("read_as", JSONB),
    # What came beside the text: its words where `raw` is a message, and what the file asked for.
    Column("details", JSONB),
    Column("status", Text, nullable=False),
    Column("error", Text),
    Column("tokens_in", Integer),
    Column("tokens_out", Integer),
    Column("cost", Numeric(14, 8)),
    at("started_at", nullable=False),
    at("finished_at", nullable=False),
    UniqueConstraint("draft_id", "part", "attempt"),
    one_of("model_mode", ("mock", "real"), name="model_mode"),
)

# A piece is a text, or the digests of the pieces of a longer text.
prompt_pieces = Table(
    "prompt_pieces",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id", ondelete="CASCADE"), nullable=False),
    Column("digest", Uuid, nullable=False),
    Column("text", Text),
    Column("parts", ARRAY(Uuid)),
    PrimaryKeyConstraint("experiment_id", "digest"),
    CheckConstraint("(text IS NULL) <> (parts IS NULL)", name="text_or_parts"),
)

timers = Table(
    "timers",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("path", Text, nullable=False),
    Column("cohort_id", ForeignKey("cohorts.id"), nullable=False, index=True),
    Column("thread_id", ForeignKey("threads.id"), index=True),
    Column("ask_id", ForeignKey("asks.id"), index=True),
    Column("member_id", ForeignKey("members.id"), index=True),
    Column("purpose", Text, nullable=False),
    number("generation", default=1),
    Column("state", Text, nullable=False, server_default=text("'armed'")),
    at("due_at"),
    Column("remaining_ms", BigInteger),
    at("fired_at"),
    one_of("state", TIMER_STATES, name="state"),
    CheckConstraint("(state <> 'armed') OR due_at IS NOT NULL", name="armed_has_due_at"),
    CheckConstraint("(state <> 'held') OR remaining_ms IS NOT NULL", name="held_has_remaining"),
    Index("ix_timers_due", "due_at", postgresql_where=text("state = 'armed'")),
)
