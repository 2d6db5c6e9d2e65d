"""Every table of the lab. Postgres is the truth; what must happen stands in a row here.

Closed lists of states are CHECK constraints; a foreign key has an index unless a key starts with its column.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import get_args

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    MetaData,
    Numeric,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from shared.contracts.experiment import PauseReason

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

EXPERIMENT_STATES = ("draft", "running", "paused", "ended")
PAUSE_REASONS = get_args(PauseReason)
COHORT_STATES = ("running", "ended")
MEMBER_STATES = ("expected", "in_progress", "paused", "completed", "left", "removed", "failed")
MEMBER_END_STATES = ("completed", "left", "removed", "failed")
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
REACTIONS = ("heart", "thumbs_up")
JOINING_RULES = ("drawn", "one_arm", "by_arrival")
TIMER_STATES = ("armed", "held", "fired", "cancelled")


def _one_of(column: str, values: Sequence[str], *, name: str) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=name)


def _at(name: str, *, nullable: bool = True) -> Column[datetime]:
    return Column(name, DateTime(timezone=True), nullable=nullable)


def _json(name: str, *, default: str | None = "{}", nullable: bool = False) -> Column[object]:
    server_default = None if default is None else text(f"'{default}'::jsonb")
    return Column(name, JSONB, nullable=nullable, server_default=server_default)


lab = Table(
    "lab",
    metadata,
    Column("only", Boolean, primary_key=True, server_default=text("true")),
    Column("bus", Text, nullable=False),
    CheckConstraint('"only"', name="only_row"),
    _one_of("bus", ("in-process", "rabbitmq"), name="bus"),
)

experimenters = Table(
    "experimenters",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    _at("created_at", nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("prefix", Text, nullable=False),
    Column("experimenter_id", ForeignKey("experimenters.id"), nullable=False, index=True),
    Column("scopes", ARRAY(Text), nullable=False),
    _at("created_at", nullable=False),
    _at("expires_at"),
    _at("last_used_at"),
)

personas = Table(
    "personas",
    metadata,
    Column("owner_id", ForeignKey("experimenters.id"), nullable=False),
    Column("id", Text, nullable=False),
    Column("document", JSONB, nullable=False),
    Column("version", Integer, nullable=False, server_default=text("1")),
    _at("created_at", nullable=False),
    _at("updated_at", nullable=False),
    PrimaryKeyConstraint("owner_id", "id"),
)

experiments = Table(
    "experiments",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("owner_id", ForeignKey("experimenters.id"), nullable=False, index=True),
    Column("study", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("pace", Text, nullable=False),
    Column("model_mode", Text, nullable=False),
    Column("is_test", Boolean, nullable=False, server_default=text("false")),
    Column("document", JSONB, nullable=False),
    Column("document_hash", Text, nullable=False),
    Column("version", Integer, nullable=False, server_default=text("1")),
    Column("status", Text, nullable=False, server_default=text("'draft'")),
    _at("created_at", nullable=False),
    _at("started_at"),
    _at("ended_at"),
    _at("paused_at"),
    _at("resumed_at"),
    Column("pause_reason", Text),
    _one_of("pace", ("live", "fast"), name="pace"),
    _one_of("model_mode", ("mock", "real"), name="model_mode"),
    _one_of("status", EXPERIMENT_STATES, name="status"),
    _one_of("pause_reason", PAUSE_REASONS, name="pause_reason"),
    CheckConstraint("(status = 'paused') = (paused_at IS NOT NULL)", name="paused_at"),
    CheckConstraint("(status = 'paused') = (pause_reason IS NOT NULL)", name="paused_for_a_reason"),
)

persona_chats = Table(
    "persona_chats",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id"), primary_key=True),
    Column("owner_id", ForeignKey("experimenters.id"), nullable=False, index=True),
    Column("persona", Text, nullable=False),
    _at("cleared_at"),
    Index(
        "uq_persona_chats_open",
        "owner_id",
        "persona",
        unique=True,
        postgresql_where=text("cleared_at IS NULL"),
    ),
)

treatments = Table(
    "treatments",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id"), nullable=False),
    Column("id", Text, nullable=False),
    Column("levels", JSONB, nullable=False),
    Column("resolved", JSONB, nullable=False),
    PrimaryKeyConstraint("experiment_id", "id"),
)

cohorts = Table(
    "cohorts",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("experiment_id", ForeignKey("experiments.id"), nullable=False),
    Column("path", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("treatment_id", Text, nullable=False),
    _json("variables"),
    Column("locked", Boolean, nullable=False, server_default=text("false")),
    Column("status", Text, nullable=False, server_default=text("'running'")),
    _at("created_at", nullable=False),
    _at("ended_at"),
    UniqueConstraint("experiment_id", "path"),
    ForeignKeyConstraint(["experiment_id", "treatment_id"], ["treatments.experiment_id", "treatments.id"]),
    Index(None, "experiment_id", "treatment_id"),
    _one_of("status", COHORT_STATES, name="status"),
)

joining = Table(
    "joining",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id"), primary_key=True),
    Column("rule", Text, nullable=False),
    Column("block", Integer, nullable=False, server_default=text("0")),
    Column("arms_left", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("draws", Integer, nullable=False, server_default=text("0")),
    _one_of("rule", JOINING_RULES, name="rule"),
)

members = Table(
    "members",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("experiment_id", ForeignKey("experiments.id"), nullable=False),
    Column("cohort_id", ForeignKey("cohorts.id"), nullable=False),
    Column("path", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("player", Text, nullable=False),
    _json("profile"),
    Column("agent_config", JSONB(none_as_null=True)),
    Column("provider", Text),
    Column("status", Text, nullable=False),
    Column("status_reason", Text),
    Column("stage_ids", ARRAY(Text), nullable=False),
    Column("position", Integer, nullable=False, server_default=text("0")),
    Column("version", Integer, nullable=False, server_default=text("1")),
    Column("stepped_version", Integer, nullable=False, server_default=text("0")),
    Column("token_hash", Text, unique=True),
    Column("is_test", Boolean, nullable=False, server_default=text("false")),
    Column("joining", JSONB(none_as_null=True)),
    _at("created_at", nullable=False),
    _at("joined_at"),
    _at("arrived_at"),
    _at("ended_at"),
    UniqueConstraint("experiment_id", "path"),
    _one_of("kind", ("participant", "mediator"), name="kind"),
    _one_of("player", ("person", "agent", "script"), name="player"),
    _one_of("status", MEMBER_STATES, name="status"),
    CheckConstraint("(player = 'person') = (agent_config IS NULL)", name="agent_config"),
    Index(None, "cohort_id", "kind"),
    Index(
        "ix_members_unstepped",
        "id",
        postgresql_where=text("player <> 'person' AND status = 'in_progress' AND stepped_version < version"),
    ),
    Index(
        "ix_members_expected",
        "experiment_id",
        "cohort_id",
        postgresql_where=text("status = 'expected'"),
    ),
)

cohort_stages = Table(
    "cohort_stages",
    metadata,
    Column("cohort_id", ForeignKey("cohorts.id"), nullable=False),
    Column("stage_id", Text, nullable=False),
    _at("unlocked_at", nullable=False),
    _at("ended_at"),
    _json("draws"),
    Column("state", JSONB(none_as_null=True)),
    PrimaryKeyConstraint("cohort_id", "stage_id"),
)

answers = Table(
    "answers",
    metadata,
    Column("member_id", ForeignKey("members.id"), nullable=False),
    Column("stage_id", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("cohort_id", ForeignKey("cohorts.id"), nullable=False),
    Column("value", JSONB, nullable=True),
    Column("valid", Boolean, nullable=False, server_default=text("true")),
    Column("invalid", JSONB(none_as_null=True)),
    Column("audience", ARRAY(Uuid)),
    Column("revision", Integer, nullable=False, server_default=text("1")),
    _at("completed_at"),
    _at("written_at", nullable=False),
    Column("counted_at", BigInteger),
    PrimaryKeyConstraint("member_id", "stage_id", "key"),
    Index(None, "cohort_id", "stage_id"),
    Index("ix_answers_told", "cohort_id", postgresql_where=text("audience IS NOT NULL")),
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
    _at("opened_at", nullable=False),
    _at("closed_at"),
    UniqueConstraint("cohort_id", "stage_id", "member_id", "key", "generation"),
    _one_of("state", ASK_STATES, name="state"),
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

threads = Table(
    "threads",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("cohort_id", ForeignKey("cohorts.id"), nullable=False),
    Column("stage_id", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("last_seq", Integer, nullable=False, server_default=text("0")),
    Column("last_spoken_id", Uuid),
    Column("last_spoken_trigger", Text),
    Column("last_author_id", Uuid),
    Column("agent_run", Integer, nullable=False, server_default=text("0")),
    Column("clock_ms", BigInteger, nullable=False, server_default=text("0")),
    _json("turn_state"),
    Column("held", Boolean, nullable=False, server_default=text("false")),
    Column("paused_ms", BigInteger, nullable=False, server_default=text("0")),
    _at("opened_at", nullable=False),
    _at("ended_at"),
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
    Column("text", Text, nullable=False),
    Column("topic", Text),
    Column("reply_to", Uuid),
    Column("audience", ARRAY(Uuid)),
    Column("client_key", Text),
    Column("trigger_key", Text),
    Column("explanation", Text),
    Column("elapsed_ms", BigInteger, nullable=False),
    _at("created_at", nullable=False),
    UniqueConstraint("thread_id", "seq"),
    UniqueConstraint("thread_id", "member_id", "client_key"),
    _one_of("author_kind", ("person", "agent", "script", "system"), name="author_kind"),
    CheckConstraint("(author_kind = 'system') OR member_id IS NOT NULL", name="author"),
)

reactions = Table(
    "reactions",
    metadata,
    Column("message_id", ForeignKey("messages.id"), nullable=False),
    Column("member_id", ForeignKey("members.id"), nullable=False, index=True),
    Column("reaction", Text, nullable=False),
    _at("reacted_at", nullable=False),
    PrimaryKeyConstraint("message_id", "member_id", "reaction"),
    _one_of("reaction", REACTIONS, name="reaction"),
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
    Column("wave", Integer, nullable=False, server_default=text("0")),
    Column("as_of_seq", Integer),
    Column("purpose", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=text("'wanted'")),
    Column("lease_owner", Uuid),
    _at("lease_until"),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("free_calls", Integer, nullable=False, server_default=text("0")),
    _at("tried_since"),
    Column("waits_for", Text),
    _at("not_before", nullable=False),
    _at("due_at"),
    Column("finish_ms", BigInteger),
    Column("reply", JSONB),
    Column("ready_to_end", Boolean, nullable=False, server_default=text("false")),
    Column("message_id", ForeignKey("messages.id"), unique=True),
    Column("reason", Text),
    _at("created_at", nullable=False),
    _at("closed_at"),
    UniqueConstraint("thread_id", "trigger_key", "member_id"),
    _one_of("state", DRAFT_STATES, name="state"),
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

trigger_log = Table(
    "trigger_log",
    metadata,
    Column("thread_id", ForeignKey("threads.id"), nullable=False),
    Column("trigger_key", Text, nullable=False),
    Column("member_id", ForeignKey("members.id"), nullable=False, index=True),
    Column("draft_id", ForeignKey("drafts.id"), nullable=False, unique=True),
    Column("message_id", Uuid, nullable=False, unique=True),
    _at("claimed_at", nullable=False),
    PrimaryKeyConstraint("thread_id", "trigger_key"),
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
    Column("prompt", JSONB, nullable=False),
    Column("prompt_hash", Text, nullable=False),
    Column("raw", Text),
    Column("parsed", JSONB),
    Column("status", Text, nullable=False),
    Column("error", Text),
    Column("tokens_in", Integer),
    Column("tokens_out", Integer),
    Column("cost", Numeric(14, 8)),
    _at("started_at", nullable=False),
    _at("finished_at", nullable=False),
    UniqueConstraint("draft_id", "part", "attempt"),
    _one_of("model_mode", ("mock", "real"), name="model_mode"),
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
    Column("generation", Integer, nullable=False, server_default=text("1")),
    Column("state", Text, nullable=False, server_default=text("'armed'")),
    _at("due_at"),
    Column("remaining_ms", BigInteger),
    _at("fired_at"),
    _one_of("state", TIMER_STATES, name="state"),
    CheckConstraint("(state <> 'armed') OR due_at IS NOT NULL", name="armed_has_due_at"),
    CheckConstraint("(state <> 'held') OR remaining_ms IS NOT NULL", name="held_has_remaining"),
    Index("ix_timers_due", "due_at", postgresql_where=text("state = 'armed'")),
)

streams = Table(
    "streams",
    metadata,
    Column("cohort_id", ForeignKey("cohorts.id"), primary_key=True),
    Column("last", BigInteger, nullable=False, server_default=text("0")),
    Column("unsettled", BigInteger, nullable=False, server_default=text("0")),
    Column("settled", BigInteger, nullable=False, server_default=text("0")),
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
    _json("payload"),
    Column("audience", ARRAY(Uuid)),
    Column("public", JSONB),
    _at("at", nullable=False),
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
    Column("urgent", Boolean, nullable=False, server_default=text("false")),
    _at("created_at", nullable=False),
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
    _at("created_at", nullable=False),
    _at("resolved_at"),
)

workers = Table(
    "workers",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("providers", ARRAY(Text), nullable=False),
    _at("started_at", nullable=False),
    _at("seen_at", nullable=False),
    _at("believed_until", nullable=False),
)

limits = Table(
    "limits",
    metadata,
    Column("name", Text, primary_key=True),
    _json("state"),
)

gates = Table(
    "gates",
    metadata,
    Column("name", Text, primary_key=True),
    Column("is_tried", Boolean, nullable=False, server_default=text("true")),
    Column("refusals", Integer, nullable=False, server_default=text("0")),
    _at("refused_at"),
    _at("refused_before_at"),
    _at("accepted_at"),
    _at("paused_at"),
    Column("fault", Text, nullable=False, server_default=text("''")),
    Column("reason", Text, nullable=False, server_default=text("''")),
    Column("asked", Text, nullable=False, server_default=text("''")),
    _at("next_try_at"),
)

call_limits = Table(
    "call_limits",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id"), primary_key=True),
    Column("most", Integer, nullable=False),
    Column("taken", Integer, nullable=False, server_default=text("0")),
    CheckConstraint("taken <= most", name="most"),
)
