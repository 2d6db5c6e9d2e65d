"""Experiments, their cohorts and their members."""

from typing import get_args

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Numeric,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from parley_lab.contracts.experiment import Audience, PauseReason
from parley_lab.contracts.lives import STATES, TAKING_PART, in_sql
from parley_lab.contracts.media import MEDIA_TYPES
from parley_lab.store.tables.base import at, big_number, flag, json_column, metadata, number, one_of

EXPERIMENT_STATES = ("draft", "running", "paused", "ended")
PAUSE_REASONS = get_args(PauseReason)
AUDIENCES = get_args(Audience)
COHORT_STATES = ("running", "ended")
WAIT_OUTCOMES = ("went_on", "filled", "released")
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
    Column("language", Text),
    flag("is_test"),
    Column("document", JSONB, nullable=False),
    Column("document_hash", Text, nullable=False),
    Column("join_code", Text, nullable=False, unique=True),
    number("version", default=1),
    Column("status", Text, nullable=False, server_default=text("'draft'")),
    at("created_at", nullable=False),
    at("started_at"),
    at("ended_at"),
    at("paused_at"),
    at("resumed_at"),
    at("forgotten_at"),
    at("archived_at"),
    # The key of the hashes by which people are known again of whom nothing is kept; null once those are gone.
    Column("secret", Uuid, server_default=text("gen_random_uuid()")),
    Column("pause_reason", Text),
    # Also true of an empty list, which lets no one join.
    flag("has_guest_list"),
    one_of("pace", ("live", "fast"), name="pace"),
    one_of("model_mode", ("mock", "real"), name="model_mode"),
    one_of("status", EXPERIMENT_STATES, name="status"),
    one_of("pause_reason", PAUSE_REASONS, name="pause_reason"),
    CheckConstraint("(status = 'paused') = (paused_at IS NOT NULL)", name="paused_at"),
    CheckConstraint("(status = 'paused') = (pause_reason IS NOT NULL)", name="paused_for_a_reason"),
    # The sweeps look for experiments that go on; those that have ended become many.
    Index("ix_experiments_lower_join_code", text("lower(join_code)")),
    Index("ix_experiments_going_on", "status", postgresql_where=text("status IN ('running', 'paused')")),
)

files = Table(
    "files",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("media_type", Text, nullable=False),
    number("size"),
    Column("content", LargeBinary, nullable=False),
    at("created_at", nullable=False),
    one_of("media_type", MEDIA_TYPES, name="media_type"),
)

experiment_files = Table(
    "experiment_files",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id"), nullable=False),
    Column("digest", ForeignKey("files.digest"), nullable=False, index=True),
    PrimaryKeyConstraint("experiment_id", "digest"),
)

# The text of the file as its author wrote it; with problems, which keep the experiment from starting, while it has any.
experiment_sources = Table(
    "experiment_sources",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id"), primary_key=True),
    Column("text", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    number("version", default=1),
    at("saved_at", nullable=False),
    Column("saved_by", Text, nullable=False),
    Column("problems", JSONB(none_as_null=True)),
)

# Tables and pictures beside the text, by the names in it. The content of a picture is in `files`, under `picture`.
experiment_source_files = Table(
    "experiment_source_files",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False),
    number("size"),
    Column("picture", ForeignKey("files.digest"), index=True),
    Column("content", LargeBinary),
    PrimaryKeyConstraint("experiment_id", "name"),
    CheckConstraint("(picture IS NULL) <> (content IS NULL)", name="content"),
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
    Column("join_code", Text, nullable=False, unique=True),
    json_column("variables"),
    json_column("assigned"),
    json_column("draws"),
    json_column("allocated"),
    flag("locked"),
    Column("status", Text, nullable=False, server_default=text("'running'")),
    at("created_at", nullable=False),
    at("ended_at"),
    # The room of a group that is made of people who are there, and of a person on the way to one, who is alone.
    Column("room_id", ForeignKey("rooms.id")),
    flag("alone"),
    UniqueConstraint("experiment_id", "path"),
    ForeignKeyConstraint(["experiment_id", "treatment_id"], ["treatments.experiment_id", "treatments.id"]),
    CheckConstraint("room_id IS NOT NULL OR NOT alone", name="alone_in_a_room"),
    Index(None, "experiment_id", "treatment_id"),
    Index("ix_cohorts_lower_join_code", text("lower(join_code)")),
    Index("ix_cohorts_room_id", "room_id", postgresql_where=text("room_id IS NOT NULL")),
    one_of("status", COHORT_STATES, name="status"),
)

joining = Table(
    "joining",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id"), primary_key=True),
    Column("rule", Text, nullable=False),
    number("block"),
    Column("arms_left", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    number("draws"),
    one_of("rule", JOINING_RULES, name="rule"),
)

# A cohort that is made when a person comes and no other has a place; its row goes when it is made.
planned_cohorts = Table(
    "planned_cohorts",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id"), nullable=False),
    number("number"),
    Column("treatment_id", Text, nullable=False),
    number("people"),
    Column("plan", JSONB, nullable=False),
    PrimaryKeyConstraint("experiment_id", "number"),
)

# A stage where people meet: groups are made there of those who are there. Its lock makes one group after another.
rooms = Table(
    "rooms",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("experiment_id", ForeignKey("experiments.id"), nullable=False, index=True),
    Column("stage_id", Text, nullable=False),
    Column("plan", JSONB, nullable=False),
    number("people"),
    number("most"),
    number("groups"),
    number("joined"),
    number("numbered"),
    number("told"),
    number("block"),
    Column("arms_left", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    number("draws"),
    at("closed_at"),
)

# A group that was made in a room, with its people in the order in which they were chosen.
matches = Table(
    "matches",
    metadata,
    Column("cohort_id", ForeignKey("cohorts.id"), primary_key=True),
    Column("room_id", ForeignKey("rooms.id"), nullable=False),
    number("number"),
    Column("people", ARRAY(Uuid), nullable=False),
    # Its composition, where the file has several.
    Column("kind", Text),
    at("made_at", nullable=False),
    at("began_at"),
    at("given_back_at"),
    UniqueConstraint("room_id", "number"),
)

# Who may join, where not everybody may. `compared`: the id without spaces and characters that no one sees.
guests = Table(
    "guests",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id"), nullable=False),
    Column("compared", Text, nullable=False),
    number("place"),
    Column("external_id", Text, nullable=False),
    at("added_at", nullable=False),
    PrimaryKeyConstraint("experiment_id", "compared"),
)

arrivals = Table(
    "arrivals",
    metadata,
    Column("experiment_id", ForeignKey("experiments.id"), nullable=False),
    Column("variable", Text, nullable=False),
    Column("cohort_path", Text, nullable=False, server_default=text("''")),
    number("counted"),
    PrimaryKeyConstraint("experiment_id", "variable", "cohort_path"),
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
    Column("own_name", Text),
    Column("agent_config", JSONB(none_as_null=True)),
    Column("provider", Text),
    Column("status", Text, nullable=False),
    Column("status_reason", Text),
    Column("stage_ids", ARRAY(Text), nullable=False),
    number("position"),
    number("version", default=1),
    number("stepped_version"),
    Column("token_hash", Text, unique=True),
    number("joins"),
    Column("external_id", Text),
    # The external id without spaces and characters that no one sees.
    Column("compared_id", Text),
    Column("parameters", JSONB(none_as_null=True)),
    Column("declined_id_hash", Text),
    flag("is_test"),
    Column("joining", JSONB(none_as_null=True)),
    Column("added_by", Text),
    json_column("assigned"),
    Column("treatment_id", Text),
    Column("allocated", JSONB(none_as_null=True)),
    Column("join_key_hash", Text),
    at("created_at", nullable=False),
    at("joined_at"),
    at("arrived_at"),
    at("paused_at"),
    at("resumed_at"),
    Column("transfer_to", Uuid),
    Column("seat", Integer),
    number("stay"),
    at("entered_at"),
    big_number("entered_seq"),
    number("entered_position"),
    at("ended_at"),
    UniqueConstraint("experiment_id", "path"),
    UniqueConstraint("experiment_id", "join_key_hash"),
    UniqueConstraint("experiment_id", "declined_id_hash"),
    ForeignKeyConstraint(["experiment_id", "treatment_id"], ["treatments.experiment_id", "treatments.id"]),
    one_of("kind", ("participant", "mediator"), name="kind"),
    one_of("player", ("person", "agent", "script"), name="player"),
    one_of("status", STATES, name="status"),
    CheckConstraint("(player = 'person') = (agent_config IS NULL)", name="agent_config"),
    CheckConstraint("(status = 'paused') = (paused_at IS NOT NULL)", name="paused_at"),
    Index(None, "cohort_id", "kind"),
    # Without the versions, which change with every move: a row is updated in place when no index has what changes.
    Index("ix_members_acting", "id", postgresql_where=text(f"player <> 'person' AND status IN {in_sql(TAKING_PART)}")),
    Index(
        "ix_members_expected",
        "experiment_id",
        "cohort_id",
        postgresql_where=text("status = 'expected'"),
    ),
    Index(
        "uq_members_external_id",
        "experiment_id",
        "external_id",
        unique=True,
        postgresql_where=text("external_id IS NOT NULL"),
    ),
    Index(
        "ix_members_compared_id",
        "experiment_id",
        "compared_id",
        postgresql_where=text("compared_id IS NOT NULL"),
    ),
    Index("ix_members_compared_amiss", "id", postgresql_where=text("(external_id IS NULL) <> (compared_id IS NULL)")),
    Index("ix_members_transfer_to", "transfer_to", postgresql_where=text("status = 'transfer_pending'")),
    Index("ix_members_paused", "id", postgresql_where=text("status = 'paused'")),
    # Room on each page for the new versions of its rows.
    postgresql_with={"fillfactor": 85},
)

payments = Table(
    "payments",
    metadata,
    Column("member_id", ForeignKey("members.id"), nullable=False),
    Column("stage_id", Text, nullable=False),
    Column("currency", Text, nullable=False),
    Column("amount", Numeric, nullable=False),
    Column("parts", JSONB, nullable=False),
    at("paid_at", nullable=False),
    PrimaryKeyConstraint("member_id", "stage_id"),
)

cohort_stages = Table(
    "cohort_stages",
    metadata,
    Column("cohort_id", ForeignKey("cohorts.id"), nullable=False),
    Column("stage_id", Text, nullable=False),
    Column("audience", Text, nullable=False, server_default=text("'private'")),
    at("unlocked_at", nullable=False),
    at("ended_at"),
    json_column("draws"),
    Column("state", JSONB(none_as_null=True)),
    Column("result", JSONB(none_as_null=True)),
    PrimaryKeyConstraint("cohort_id", "stage_id"),
    one_of("audience", AUDIENCES, name="audience"),
)

# A stage at which a cohort has waited as long as it may; the outcome is missing until the cohort is settled.
waits = Table(
    "waits",
    metadata,
    Column("cohort_id", ForeignKey("cohorts.id"), nullable=False),
    Column("stage_id", Text, nullable=False),
    at("over_at", nullable=False),
    Column("outcome", Text),
    PrimaryKeyConstraint("cohort_id", "stage_id"),
    one_of("outcome", WAIT_OUTCOMES, name="outcome"),
)
