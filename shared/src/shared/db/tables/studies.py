"""Experiments, their cohorts and their members."""

from typing import get_args

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from shared.contracts.experiment import PauseReason
from shared.db.tables.base import at, json_column, metadata, one_of

EXPERIMENT_STATES = ("draft", "running", "paused", "ended")
PAUSE_REASONS = get_args(PauseReason)
COHORT_STATES = ("running", "ended")
MEMBER_STATES = ("expected", "in_progress", "paused", "completed", "left", "removed", "failed")
MEMBER_END_STATES = ("completed", "left", "removed", "failed")
JOINING_RULES = ("drawn", "one_arm", "by_arrival")

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
    at("created_at", nullable=False),
    at("started_at"),
    at("ended_at"),
    at("paused_at"),
    at("resumed_at"),
    Column("pause_reason", Text),
    one_of("pace", ("live", "fast"), name="pace"),
    one_of("model_mode", ("mock", "real"), name="model_mode"),
    one_of("status", EXPERIMENT_STATES, name="status"),
    one_of("pause_reason", PAUSE_REASONS, name="pause_reason"),
    CheckConstraint("(status = 'paused') = (paused_at IS NOT NULL)", name="paused_at"),
    CheckConstraint("(status = 'paused') = (pause_reason IS NOT NULL)", name="paused_for_a_reason"),
)

persona_chats = Table(
    "persona_chats",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id"), primary_key=True),
    Column("owner_id", ForeignKey("experimenters.id"), nullable=False, index=True),
    Column("persona", Text, nullable=False),
    at("cleared_at"),
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
    json_column("variables"),
    Column("locked", Boolean, nullable=False, server_default=text("false")),
    Column("status", Text, nullable=False, server_default=text("'running'")),
    at("created_at", nullable=False),
    at("ended_at"),
    UniqueConstraint("experiment_id", "path"),
    ForeignKeyConstraint(["experiment_id", "treatment_id"], ["treatments.experiment_id", "treatments.id"]),
    Index(None, "experiment_id", "treatment_id"),
    one_of("status", COHORT_STATES, name="status"),
)

joining = Table(
    "joining",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id"), primary_key=True),
    Column("rule", Text, nullable=False),
    Column("block", Integer, nullable=False, server_default=text("0")),
    Column("arms_left", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("draws", Integer, nullable=False, server_default=text("0")),
    one_of("rule", JOINING_RULES, name="rule"),
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
    json_column("profile"),
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
    at("created_at", nullable=False),
    at("joined_at"),
    at("arrived_at"),
    at("ended_at"),
    UniqueConstraint("experiment_id", "path"),
    one_of("kind", ("participant", "mediator"), name="kind"),
    one_of("player", ("person", "agent", "script"), name="player"),
    one_of("status", MEMBER_STATES, name="status"),
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
    at("unlocked_at", nullable=False),
    at("ended_at"),
    json_column("draws"),
    Column("state", JSONB(none_as_null=True)),
    PrimaryKeyConstraint("cohort_id", "stage_id"),
)
