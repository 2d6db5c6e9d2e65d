# ruff: noqa: E501
"""First tables."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "experimenters",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experimenters")),
        sa.UniqueConstraint("name", name=op.f("uq_experimenters_name")),
    )
    op.create_table(
        "files",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "media_type IN ('image/png', 'image/jpeg', 'image/gif', 'image/webp', 'audio/mpeg', 'audio/ogg', 'audio/wav', 'video/mp4', 'video/webm')",
            name=op.f("ck_files_media_type"),
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_files")),
    )
    op.create_table(
        "gates",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("is_tried", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("refusals", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("refused_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("refused_before_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fault", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("reason", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("asked", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("next_try_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_gates")),
    )
    op.create_table(
        "gateways",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gateways")),
    )
    op.create_table(
        "kept_answers",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.Text(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_kept_answers")),
    )
    op.create_index(op.f("ix_kept_answers_expires_at"), "kept_answers", ["expires_at"], unique=False)
    op.create_table(
        "lab",
        sa.Column("only", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("bus", sa.Text(), nullable=False),
        sa.CheckConstraint("bus IN ('in-process', 'rabbitmq')", name=op.f("ck_lab_bus")),
        sa.CheckConstraint('"only"', name=op.f("ck_lab_only_row")),
        sa.PrimaryKeyConstraint("only", name=op.f("pk_lab")),
    )
    op.create_table(
        "limits",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_limits")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.Text(), nullable=False),
        sa.Column("correlation", sa.Text(), nullable=False),
        sa.Column("urgent", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
    )
    op.create_table(
        "request_limits",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("taken", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("granted", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_request_limits")),
    )
    op.create_index(op.f("ix_request_limits_began_at"), "request_limits", ["began_at"], unique=False)
    op.create_table(
        "stream_tickets",
        sa.Column("ticket_hash", sa.Text(), nullable=False),
        sa.Column("bearer_hash", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("ticket_hash", name=op.f("pk_stream_tickets")),
    )
    op.create_index(op.f("ix_stream_tickets_expires_at"), "stream_tickets", ["expires_at"], unique=False)
    op.create_table(
        "workers",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("providers", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("believed_until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    op.create_table(
        "api_keys",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("experimenter_id", sa.Uuid(), nullable=False),
        sa.Column("scopes", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("label", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("is_bootstrap", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["experimenter_id"], ["experimenters.id"], name=op.f("fk_api_keys_experimenter_id")),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("id", name=op.f("uq_api_keys_id")),
    )
    op.create_index(op.f("ix_api_keys_experimenter_id"), "api_keys", ["experimenter_id"], unique=False)
    op.create_table(
        "deeds",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("experimenter_id", sa.Uuid(), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=False),
        sa.Column("deed", sa.Text(), nullable=False),
        sa.Column("correlation", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["experimenter_id"], ["experimenters.id"], name=op.f("fk_deeds_experimenter_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deeds")),
    )
    op.create_index(op.f("ix_deeds_experimenter_id_at"), "deeds", ["experimenter_id", "at"], unique=False)
    op.create_table(
        "experiments",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("study", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("pace", sa.Text(), nullable=False),
        sa.Column("model_mode", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("is_test", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("document", postgresql.JSONB(), nullable=False),
        sa.Column("document_hash", sa.Text(), nullable=False),
        sa.Column("join_code", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("'draft'"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("resumed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("forgotten_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("pause_reason", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "(status = 'paused') = (pause_reason IS NOT NULL)", name=op.f("ck_experiments_paused_for_a_reason")
        ),
        sa.CheckConstraint("(status = 'paused') = (paused_at IS NOT NULL)", name=op.f("ck_experiments_paused_at")),
        sa.CheckConstraint("model_mode IN ('mock', 'real')", name=op.f("ck_experiments_model_mode")),
        sa.CheckConstraint("pace IN ('live', 'fast')", name=op.f("ck_experiments_pace")),
        sa.CheckConstraint(
            "pause_reason IN ('requested', 'lab_stopped', 'calls_spent', 'key_refused')",
            name=op.f("ck_experiments_pause_reason"),
        ),
        sa.CheckConstraint("status IN ('draft', 'running', 'paused', 'ended')", name=op.f("ck_experiments_status")),
        sa.ForeignKeyConstraint(["owner_id"], ["experimenters.id"], name=op.f("fk_experiments_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiments")),
        sa.UniqueConstraint("join_code", name=op.f("uq_experiments_join_code")),
    )
    op.create_index(op.f("ix_experiments_owner_id"), "experiments", ["owner_id"], unique=False)
    op.create_table(
        "personas",
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("document", postgresql.JSONB(), nullable=False),
        sa.Column("version", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["experimenters.id"], name=op.f("fk_personas_owner_id")),
        sa.PrimaryKeyConstraint("owner_id", "id", name=op.f("pk_personas")),
    )
    op.create_table(
        "planned_cohorts",
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("treatment_id", sa.Text(), nullable=False),
        sa.Column("people", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("plan", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_planned_cohorts_experiment_id")),
        sa.PrimaryKeyConstraint("experiment_id", "number", name=op.f("pk_planned_cohorts")),
    )
    op.create_table(
        "arrivals",
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("variable", sa.Text(), nullable=False),
        sa.Column("cohort_path", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("counted", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_arrivals_experiment_id")),
        sa.PrimaryKeyConstraint("experiment_id", "variable", "cohort_path", name=op.f("pk_arrivals")),
    )
    op.create_table(
        "call_limits",
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("most", sa.Integer(), nullable=False),
        sa.Column("taken", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint("taken <= most", name=op.f("ck_call_limits_most")),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_call_limits_experiment_id")),
        sa.PrimaryKeyConstraint("experiment_id", name=op.f("pk_call_limits")),
    )
    op.create_table(
        "experiment_files",
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["digest"], ["files.digest"], name=op.f("fk_experiment_files_digest")),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_experiment_files_experiment_id")),
        sa.PrimaryKeyConstraint("experiment_id", "digest", name=op.f("pk_experiment_files")),
    )
    op.create_index(op.f("ix_experiment_files_digest"), "experiment_files", ["digest"], unique=False)
    op.create_table(
        "joining",
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("block", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("arms_left", sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("draws", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint("rule IN ('drawn', 'one_arm', 'by_arrival')", name=op.f("ck_joining_rule")),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_joining_experiment_id")),
        sa.PrimaryKeyConstraint("experiment_id", name=op.f("pk_joining")),
    )
    op.create_table(
        "persona_chats",
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("persona", sa.Text(), nullable=False),
        sa.Column("cleared_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_persona_chats_experiment_id")),
        sa.ForeignKeyConstraint(["owner_id"], ["experimenters.id"], name=op.f("fk_persona_chats_owner_id")),
        sa.PrimaryKeyConstraint("experiment_id", name=op.f("pk_persona_chats")),
    )
    op.create_index(op.f("ix_persona_chats_owner_id"), "persona_chats", ["owner_id"], unique=False)
    op.create_index(
        "uq_persona_chats_open",
        "persona_chats",
        ["owner_id", "persona"],
        unique=True,
        postgresql_where=sa.text("cleared_at IS NULL"),
    )
    op.create_table(
        "treatments",
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("levels", postgresql.JSONB(), nullable=False),
        sa.Column("resolved", postgresql.JSONB(), nullable=False),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_treatments_experiment_id")),
        sa.PrimaryKeyConstraint("experiment_id", "id", name=op.f("pk_treatments")),
    )
    op.create_table(
        "cohorts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("treatment_id", sa.Text(), nullable=False),
        sa.Column("join_code", sa.Text(), nullable=False),
        sa.Column("variables", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("assigned", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("draws", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("allocated", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("locked", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("'running'"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("status IN ('running', 'ended')", name=op.f("ck_cohorts_status")),
        sa.ForeignKeyConstraint(
            ["experiment_id", "treatment_id"],
            ["treatments.experiment_id", "treatments.id"],
            name=op.f("fk_cohorts_experiment_id_treatment_id"),
        ),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_cohorts_experiment_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cohorts")),
        sa.UniqueConstraint("experiment_id", "path", name=op.f("uq_cohorts_experiment_id_path")),
        sa.UniqueConstraint("join_code", name=op.f("uq_cohorts_join_code")),
    )
    op.create_index(
        op.f("ix_cohorts_experiment_id_treatment_id"), "cohorts", ["experiment_id", "treatment_id"], unique=False
    )
    op.create_table(
        "cohort_stages",
        sa.Column("cohort_id", sa.Uuid(), nullable=False),
        sa.Column("stage_id", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), server_default=sa.text("'private'"), nullable=False),
        sa.Column("unlocked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("draws", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("state", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("result", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.CheckConstraint("audience IN ('private', 'mediators', 'cohort')", name=op.f("ck_cohort_stages_audience")),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.id"], name=op.f("fk_cohort_stages_cohort_id")),
        sa.PrimaryKeyConstraint("cohort_id", "stage_id", name=op.f("pk_cohort_stages")),
    )
    op.create_table(
        "events",
        sa.Column("seq", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("cohort_id", sa.Uuid(), nullable=False),
        sa.Column("stream_seq", sa.BigInteger(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.Uuid(), nullable=True),
        sa.Column("payload", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("audience", sa.ARRAY(sa.Uuid()), nullable=True),
        sa.Column("public", postgresql.JSONB(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.id"], name=op.f("fk_events_cohort_id")),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_events_experiment_id")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_events")),
        sa.UniqueConstraint("cohort_id", "stream_seq", name=op.f("uq_events_cohort_id_stream_seq")),
    )
    op.create_index(op.f("ix_events_experiment_id"), "events", ["experiment_id"], unique=False)
    op.create_table(
        "members",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("cohort_id", sa.Uuid(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("player", sa.Text(), nullable=False),
        sa.Column("profile", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("agent_config", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("provider", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("status_reason", sa.Text(), nullable=True),
        sa.Column("stage_ids", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("position", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("version", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("stepped_version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=True),
        sa.Column("joins", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=True),
        sa.Column("declined_id_hash", sa.Text(), nullable=True),
        sa.Column("is_test", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("joining", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("added_by", sa.Text(), nullable=True),
        sa.Column("assigned", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("join_key_hash", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("joined_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("arrived_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("transfer_to", sa.Uuid(), nullable=True),
        sa.Column("stay", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("entered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("entered_seq", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("entered_position", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(player = 'person') = (agent_config IS NULL)", name=op.f("ck_members_agent_config")),
        sa.CheckConstraint("(status = 'paused') = (paused_at IS NOT NULL)", name=op.f("ck_members_paused_at")),
        sa.CheckConstraint("kind IN ('participant', 'mediator')", name=op.f("ck_members_kind")),
        sa.CheckConstraint("player IN ('person', 'agent', 'script')", name=op.f("ck_members_player")),
        sa.CheckConstraint(
            "status IN ('expected', 'in_progress', 'attention_check', 'transfer_pending', 'paused', 'completed', 'declined', 'screened_out', 'left', 'removed', 'failed', 'attention_failed', 'transfer_declined', 'transfer_timed_out', 'dropped_out', 'released')",
            name=op.f("ck_members_status"),
        ),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.id"], name=op.f("fk_members_cohort_id")),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_members_experiment_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_members")),
        sa.UniqueConstraint(
            "experiment_id", "declined_id_hash", name=op.f("uq_members_experiment_id_declined_id_hash")
        ),
        sa.UniqueConstraint("experiment_id", "join_key_hash", name=op.f("uq_members_experiment_id_join_key_hash")),
        sa.UniqueConstraint("experiment_id", "path", name=op.f("uq_members_experiment_id_path")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_members_token_hash")),
    )
    op.create_index(op.f("ix_members_cohort_id_kind"), "members", ["cohort_id", "kind"], unique=False)
    op.create_index(
        "ix_members_expected",
        "members",
        ["experiment_id", "cohort_id"],
        unique=False,
        postgresql_where=sa.text("status = 'expected'"),
    )
    op.create_index("ix_members_paused", "members", ["id"], unique=False, postgresql_where=sa.text("status = 'paused'"))
    op.create_index(
        "ix_members_transfer_to",
        "members",
        ["transfer_to"],
        unique=False,
        postgresql_where=sa.text("status = 'transfer_pending'"),
    )
    op.create_index(
        "ix_members_unstepped",
        "members",
        ["id"],
        unique=False,
        postgresql_where=sa.text(
            "player <> 'person' AND status IN ('attention_check', 'in_progress', 'transfer_pending') AND stepped_version < version"
        ),
    )
    op.create_index(
        "uq_members_external_id",
        "members",
        ["experiment_id", "external_id"],
        unique=True,
        postgresql_where=sa.text("external_id IS NOT NULL"),
    )
    op.create_table(
        "streams",
        sa.Column("cohort_id", sa.Uuid(), nullable=False),
        sa.Column("last", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("unsettled", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("settled", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.id"], name=op.f("fk_streams_cohort_id")),
        sa.PrimaryKeyConstraint("cohort_id", name=op.f("pk_streams")),
    )
    op.create_index(
        "ix_streams_unsettled", "streams", ["cohort_id"], unique=False, postgresql_where=sa.text("settled < unsettled")
    )
    op.create_table(
        "threads",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("cohort_id", sa.Uuid(), nullable=False),
        sa.Column("stage_id", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("last_seq", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_spoken_id", sa.Uuid(), nullable=True),
        sa.Column("last_spoken_trigger", sa.Text(), nullable=True),
        sa.Column("last_author_id", sa.Uuid(), nullable=True),
        sa.Column("agent_run", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("clock_ms", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("turn_state", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("held", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("paused_ms", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("end_reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.id"], name=op.f("fk_threads_cohort_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_threads")),
        sa.UniqueConstraint("cohort_id", "stage_id", "scope", name=op.f("uq_threads_cohort_id_stage_id_scope")),
    )
    op.create_table(
        "waits",
        sa.Column("cohort_id", sa.Uuid(), nullable=False),
        sa.Column("stage_id", sa.Text(), nullable=False),
        sa.Column("over_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.CheckConstraint("outcome IN ('went_on', 'filled', 'released')", name=op.f("ck_waits_outcome")),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.id"], name=op.f("fk_waits_cohort_id")),
        sa.PrimaryKeyConstraint("cohort_id", "stage_id", name=op.f("pk_waits")),
    )
    op.create_table(
        "alerts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("cohort_id", sa.Uuid(), nullable=True),
        sa.Column("member_id", sa.Uuid(), nullable=True),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("resolved_by", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.id"], name=op.f("fk_alerts_cohort_id")),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_alerts_experiment_id")),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_alerts_member_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
    )
    op.create_index(op.f("ix_alerts_cohort_id"), "alerts", ["cohort_id"], unique=False)
    op.create_index(op.f("ix_alerts_experiment_id"), "alerts", ["experiment_id"], unique=False)
    op.create_index(op.f("ix_alerts_member_id"), "alerts", ["member_id"], unique=False)
    op.create_table(
        "answers",
        sa.Column("member_id", sa.Uuid(), nullable=False),
        sa.Column("stage_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("cohort_id", sa.Uuid(), nullable=False),
        sa.Column("value", postgresql.JSONB(), nullable=True),
        sa.Column("valid", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("passed", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("invalid", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("revision", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("counted_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.id"], name=op.f("fk_answers_cohort_id")),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_answers_member_id")),
        sa.PrimaryKeyConstraint("member_id", "stage_id", "key", name=op.f("pk_answers")),
    )
    op.create_index(op.f("ix_answers_cohort_id_stage_id"), "answers", ["cohort_id", "stage_id"], unique=False)
    op.create_table(
        "asks",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("cohort_id", sa.Uuid(), nullable=False),
        sa.Column("stage_id", sa.Text(), nullable=False),
        sa.Column("member_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'open'"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("as_of", sa.BigInteger(), nullable=True),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('open', 'answered', 'expired', 'failed', 'cancelled')", name=op.f("ck_asks_state")
        ),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.id"], name=op.f("fk_asks_cohort_id")),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_asks_member_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_asks")),
        sa.UniqueConstraint(
            "cohort_id",
            "stage_id",
            "member_id",
            "key",
            "generation",
            name=op.f("uq_asks_cohort_id_stage_id_member_id_key_generation"),
        ),
    )
    op.create_index(
        "ix_asks_member_id_open", "asks", ["member_id"], unique=False, postgresql_where=sa.text("state = 'open'")
    )
    op.create_index(
        "uq_asks_open",
        "asks",
        ["cohort_id", "stage_id", "member_id", "key"],
        unique=True,
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "attention_checks",
        sa.Column("member_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("sent_by", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("missed_then", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("missed_then IN ('remove', 'alert')", name=op.f("ck_attention_checks_missed_then")),
        sa.CheckConstraint("outcome IN ('passed', 'missed')", name=op.f("ck_attention_checks_outcome")),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_attention_checks_member_id")),
        sa.PrimaryKeyConstraint("member_id", "number", name=op.f("pk_attention_checks")),
    )
    op.create_table(
        "messages",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("thread_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("member_id", sa.Uuid(), nullable=True),
        sa.Column("author_kind", sa.Text(), nullable=False),
        sa.Column("author_name", sa.Text(), nullable=True),
        sa.Column("known_as", sa.Text(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("topic", sa.Text(), nullable=True),
        sa.Column("reply_to", sa.Uuid(), nullable=True),
        sa.Column("audience", sa.ARRAY(sa.Uuid()), nullable=True),
        sa.Column("client_key", sa.Text(), nullable=True),
        sa.Column("trigger_key", sa.Text(), nullable=True),
        sa.Column("explanation", sa.Text(), nullable=True),
        sa.Column("elapsed_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "author_kind IN ('person', 'agent', 'script', 'system', 'experimenter')",
            name=op.f("ck_messages_author_kind"),
        ),
        sa.CheckConstraint(
            "author_kind IN ('system', 'experimenter') OR member_id IS NOT NULL", name=op.f("ck_messages_author")
        ),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_messages_member_id")),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name=op.f("fk_messages_thread_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
        sa.UniqueConstraint(
            "thread_id", "member_id", "client_key", name=op.f("uq_messages_thread_id_member_id_client_key")
        ),
        sa.UniqueConstraint("thread_id", "seq", name=op.f("uq_messages_thread_id_seq")),
    )
    op.create_index(op.f("ix_messages_member_id"), "messages", ["member_id"], unique=False)
    op.create_table(
        "notices",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("member_id", sa.Uuid(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("sent_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_notices_member_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notices")),
    )
    op.create_index(op.f("ix_notices_member_id"), "notices", ["member_id"], unique=False)
    op.create_table(
        "partial_answers",
        sa.Column("member_id", sa.Uuid(), nullable=False),
        sa.Column("stage_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("ask_id", sa.Uuid(), nullable=True),
        sa.Column("value", postgresql.JSONB(), nullable=False),
        sa.Column("saved_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_partial_answers_member_id")),
        sa.PrimaryKeyConstraint("member_id", "stage_id", "key", name=op.f("pk_partial_answers")),
    )
    op.create_table(
        "payments",
        sa.Column("member_id", sa.Uuid(), nullable=False),
        sa.Column("stage_id", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("amount", sa.Numeric(), nullable=False),
        sa.Column("parts", postgresql.JSONB(), nullable=False),
        sa.Column("paid_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_payments_member_id")),
        sa.PrimaryKeyConstraint("member_id", "stage_id", name=op.f("pk_payments")),
    )
    op.create_table(
        "presence",
        sa.Column("member_id", sa.Uuid(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("gone_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_presence_member_id")),
        sa.PrimaryKeyConstraint("member_id", name=op.f("pk_presence")),
    )
    op.create_index(
        "ix_presence_gone", "presence", ["gone_at"], unique=False, postgresql_where=sa.text("gone_at IS NOT NULL")
    )
    op.create_index(
        "ix_presence_there", "presence", ["seen_at"], unique=False, postgresql_where=sa.text("gone_at IS NULL")
    )
    op.create_table(
        "sittings",
        sa.Column("member_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("player", sa.Text(), nullable=False),
        sa.Column("persona", sa.Text(), nullable=True),
        sa.Column("token_hash", sa.Text(), nullable=True),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("player IN ('person', 'agent')", name=op.f("ck_sittings_player")),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_sittings_member_id")),
        sa.PrimaryKeyConstraint("member_id", "number", name=op.f("pk_sittings")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_sittings_token_hash")),
    )
    op.create_table(
        "stays",
        sa.Column("member_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("cohort_id", sa.Uuid(), nullable=False),
        sa.Column("stage_ids", sa.ARRAY(sa.Text()), nullable=True),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("entered_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("left_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.id"], name=op.f("fk_stays_cohort_id")),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_stays_member_id")),
        sa.PrimaryKeyConstraint("member_id", "number", name=op.f("pk_stays")),
    )
    op.create_index(op.f("ix_stays_cohort_id"), "stays", ["cohort_id"], unique=False)
    op.create_table(
        "view_tokens",
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("member_id", sa.Uuid(), nullable=False),
        sa.Column("opened_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("uses", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_view_tokens_member_id")),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_view_tokens")),
    )
    op.create_index(op.f("ix_view_tokens_member_id"), "view_tokens", ["member_id"], unique=False)
    op.create_table(
        "drafts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("cohort_id", sa.Uuid(), nullable=False),
        sa.Column("stage_id", sa.Text(), nullable=False),
        sa.Column("member_id", sa.Uuid(), nullable=False),
        sa.Column("ask_id", sa.Uuid(), nullable=True),
        sa.Column("thread_id", sa.Uuid(), nullable=True),
        sa.Column("trigger_key", sa.Text(), nullable=True),
        sa.Column("wave", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("as_of_seq", sa.Integer(), nullable=True),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'wanted'"), nullable=False),
        sa.Column("lease_owner", sa.Uuid(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("free_calls", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("tried_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("waits_for", sa.Text(), nullable=True),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finish_ms", sa.BigInteger(), nullable=True),
        sa.Column("reply", postgresql.JSONB(), nullable=True),
        sa.Column("ready_to_end", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("correlation", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(state = 'published') = (message_id IS NOT NULL)", name=op.f("ck_drafts_published")),
        sa.CheckConstraint("(state = 'thinking') = (lease_owner IS NOT NULL)", name=op.f("ck_drafts_lease")),
        sa.CheckConstraint(
            "state IN ('wanted', 'thinking', 'ready', 'published', 'answered', 'declined', 'moved_on', 'lost_claim', 'invalid', 'failed', 'cancelled', 'ended')",
            name=op.f("ck_drafts_state"),
        ),
        sa.CheckConstraint("(ask_id IS NULL) <> (thread_id IS NULL)", name=op.f("ck_drafts_one_cause")),
        sa.CheckConstraint("(thread_id IS NULL) = (trigger_key IS NULL)", name=op.f("ck_drafts_trigger_of_thread")),
        sa.ForeignKeyConstraint(["ask_id"], ["asks.id"], name=op.f("fk_drafts_ask_id")),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.id"], name=op.f("fk_drafts_cohort_id")),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_drafts_member_id")),
        sa.ForeignKeyConstraint(["message_id"], ["messages.id"], name=op.f("fk_drafts_message_id")),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name=op.f("fk_drafts_thread_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drafts")),
        sa.UniqueConstraint("ask_id", name=op.f("uq_drafts_ask_id")),
        sa.UniqueConstraint("message_id", name=op.f("uq_drafts_message_id")),
        sa.UniqueConstraint(
            "thread_id", "trigger_key", "member_id", name=op.f("uq_drafts_thread_id_trigger_key_member_id")
        ),
    )
    op.create_index(op.f("ix_drafts_cohort_id"), "drafts", ["cohort_id"], unique=False)
    op.create_index("ix_drafts_due", "drafts", ["due_at"], unique=False, postgresql_where=sa.text("state = 'ready'"))
    op.create_index(op.f("ix_drafts_member_id"), "drafts", ["member_id"], unique=False)
    op.create_index(
        "ix_drafts_open_in_thread",
        "drafts",
        ["thread_id"],
        unique=False,
        postgresql_where=sa.text("state IN ('wanted', 'thinking', 'ready')"),
    )
    op.create_index(
        "ix_drafts_waiting", "drafts", ["waits_for"], unique=False, postgresql_where=sa.text("waits_for IS NOT NULL")
    )
    op.create_index(
        "ix_drafts_wanted",
        "drafts",
        ["not_before"],
        unique=False,
        postgresql_where=sa.text("state IN ('wanted', 'thinking')"),
    )
    op.create_table(
        "reactions",
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("member_id", sa.Uuid(), nullable=False),
        sa.Column("reaction", sa.Text(), nullable=False),
        sa.Column("reacted_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("reaction IN ('heart', 'thumbs_up')", name=op.f("ck_reactions_reaction")),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_reactions_member_id")),
        sa.ForeignKeyConstraint(["message_id"], ["messages.id"], name=op.f("fk_reactions_message_id")),
        sa.PrimaryKeyConstraint("message_id", "member_id", "reaction", name=op.f("pk_reactions")),
    )
    op.create_index(op.f("ix_reactions_member_id"), "reactions", ["member_id"], unique=False)
    op.create_table(
        "timers",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("cohort_id", sa.Uuid(), nullable=False),
        sa.Column("thread_id", sa.Uuid(), nullable=True),
        sa.Column("ask_id", sa.Uuid(), nullable=True),
        sa.Column("member_id", sa.Uuid(), nullable=True),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'armed'"), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("remaining_ms", sa.BigInteger(), nullable=True),
        sa.Column("fired_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(state <> 'armed') OR due_at IS NOT NULL", name=op.f("ck_timers_armed_has_due_at")),
        sa.CheckConstraint("(state <> 'held') OR remaining_ms IS NOT NULL", name=op.f("ck_timers_held_has_remaining")),
        sa.CheckConstraint("state IN ('armed', 'held', 'fired', 'cancelled')", name=op.f("ck_timers_state")),
        sa.ForeignKeyConstraint(["ask_id"], ["asks.id"], name=op.f("fk_timers_ask_id")),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.id"], name=op.f("fk_timers_cohort_id")),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_timers_member_id")),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name=op.f("fk_timers_thread_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_timers")),
    )
    op.create_index(op.f("ix_timers_ask_id"), "timers", ["ask_id"], unique=False)
    op.create_index(op.f("ix_timers_cohort_id"), "timers", ["cohort_id"], unique=False)
    op.create_index("ix_timers_due", "timers", ["due_at"], unique=False, postgresql_where=sa.text("state = 'armed'"))
    op.create_index(op.f("ix_timers_member_id"), "timers", ["member_id"], unique=False)
    op.create_index(op.f("ix_timers_thread_id"), "timers", ["thread_id"], unique=False)
    op.create_table(
        "model_calls",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("draft_id", sa.Uuid(), nullable=False),
        sa.Column("part", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model_asked", sa.Text(), nullable=False),
        sa.Column("model_returned", sa.Text(), nullable=True),
        sa.Column("endpoint", sa.Text(), nullable=True),
        sa.Column("model_mode", sa.Text(), nullable=False),
        sa.Column("settings", postgresql.JSONB(), nullable=False),
        sa.Column("prompt", postgresql.JSONB(), nullable=False),
        sa.Column("prompt_hash", sa.Text(), nullable=False),
        sa.Column("raw", sa.Text(), nullable=True),
        sa.Column("parsed", postgresql.JSONB(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("tokens_in", sa.Integer(), nullable=True),
        sa.Column("tokens_out", sa.Integer(), nullable=True),
        sa.Column("cost", sa.Numeric(precision=14, scale=8), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("model_mode IN ('mock', 'real')", name=op.f("ck_model_calls_model_mode")),
        sa.ForeignKeyConstraint(["draft_id"], ["drafts.id"], name=op.f("fk_model_calls_draft_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_calls")),
        sa.UniqueConstraint("draft_id", "part", "attempt", name=op.f("uq_model_calls_draft_id_part_attempt")),
    )
    op.create_table(
        "trigger_log",
        sa.Column("thread_id", sa.Uuid(), nullable=False),
        sa.Column("trigger_key", sa.Text(), nullable=False),
        sa.Column("member_id", sa.Uuid(), nullable=False),
        sa.Column("draft_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["draft_id"], ["drafts.id"], name=op.f("fk_trigger_log_draft_id")),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_trigger_log_member_id")),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name=op.f("fk_trigger_log_thread_id")),
        sa.PrimaryKeyConstraint("thread_id", "trigger_key", name=op.f("pk_trigger_log")),
        sa.UniqueConstraint("draft_id", name=op.f("uq_trigger_log_draft_id")),
        sa.UniqueConstraint("message_id", name=op.f("uq_trigger_log_message_id")),
    )
    op.create_index(op.f("ix_trigger_log_member_id"), "trigger_log", ["member_id"], unique=False)


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_index(op.f("ix_trigger_log_member_id"), table_name="trigger_log")
    op.drop_table("trigger_log")
    op.drop_table("model_calls")
    op.drop_index(op.f("ix_timers_thread_id"), table_name="timers")
    op.drop_index(op.f("ix_timers_member_id"), table_name="timers")
    op.drop_index("ix_timers_due", table_name="timers", postgresql_where=sa.text("state = 'armed'"))
    op.drop_index(op.f("ix_timers_cohort_id"), table_name="timers")
    op.drop_index(op.f("ix_timers_ask_id"), table_name="timers")
    op.drop_table("timers")
    op.drop_index(op.f("ix_reactions_member_id"), table_name="reactions")
    op.drop_table("reactions")
    op.drop_index("ix_drafts_wanted", table_name="drafts", postgresql_where=sa.text("state IN ('wanted', 'thinking')"))
    op.drop_index("ix_drafts_waiting", table_name="drafts", postgresql_where=sa.text("waits_for IS NOT NULL"))
    op.drop_index(
        "ix_drafts_open_in_thread",
        table_name="drafts",
        postgresql_where=sa.text("state IN ('wanted', 'thinking', 'ready')"),
    )
    op.drop_index(op.f("ix_drafts_member_id"), table_name="drafts")
    op.drop_index("ix_drafts_due", table_name="drafts", postgresql_where=sa.text("state = 'ready'"))
    op.drop_index(op.f("ix_drafts_cohort_id"), table_name="drafts")
    op.drop_table("drafts")
    op.drop_index(op.f("ix_view_tokens_member_id"), table_name="view_tokens")
    op.drop_table("view_tokens")
    op.drop_index(op.f("ix_stays_cohort_id"), table_name="stays")
    op.drop_table("stays")
    op.drop_table("sittings")
    op.drop_index("ix_presence_there", table_name="presence", postgresql_where=sa.text("gone_at IS NULL"))
    op.drop_index("ix_presence_gone", table_name="presence", postgresql_where=sa.text("gone_at IS NOT NULL"))
    op.drop_table("presence")
    op.drop_table("payments")
    op.drop_table("partial_answers")
    op.drop_index(op.f("ix_notices_member_id"), table_name="notices")
    op.drop_table("notices")
    op.drop_index(op.f("ix_messages_member_id"), table_name="messages")
    op.drop_table("messages")
    op.drop_table("attention_checks")
    op.drop_index("uq_asks_open", table_name="asks", postgresql_where=sa.text("state = 'open'"))
    op.drop_index("ix_asks_member_id_open", table_name="asks", postgresql_where=sa.text("state = 'open'"))
    op.drop_table("asks")
    op.drop_index(op.f("ix_answers_cohort_id_stage_id"), table_name="answers")
    op.drop_table("answers")
    op.drop_index(op.f("ix_alerts_member_id"), table_name="alerts")
    op.drop_index(op.f("ix_alerts_experiment_id"), table_name="alerts")
    op.drop_index(op.f("ix_alerts_cohort_id"), table_name="alerts")
    op.drop_table("alerts")
    op.drop_table("waits")
    op.drop_table("threads")
    op.drop_index("ix_streams_unsettled", table_name="streams", postgresql_where=sa.text("settled < unsettled"))
    op.drop_table("streams")
    op.drop_index("uq_members_external_id", table_name="members", postgresql_where=sa.text("external_id IS NOT NULL"))
    op.drop_index(
        "ix_members_unstepped",
        table_name="members",
        postgresql_where=sa.text(
            "player <> 'person' AND status IN ('attention_check', 'in_progress', 'transfer_pending') AND stepped_version < version"
        ),
    )
    op.drop_index(
        "ix_members_transfer_to", table_name="members", postgresql_where=sa.text("status = 'transfer_pending'")
    )
    op.drop_index("ix_members_paused", table_name="members", postgresql_where=sa.text("status = 'paused'"))
    op.drop_index("ix_members_expected", table_name="members", postgresql_where=sa.text("status = 'expected'"))
    op.drop_index(op.f("ix_members_cohort_id_kind"), table_name="members")
    op.drop_table("members")
    op.drop_index(op.f("ix_events_experiment_id"), table_name="events")
    op.drop_table("events")
    op.drop_table("cohort_stages")
    op.drop_index(op.f("ix_cohorts_experiment_id_treatment_id"), table_name="cohorts")
    op.drop_table("cohorts")
    op.drop_table("treatments")
    op.drop_index("uq_persona_chats_open", table_name="persona_chats", postgresql_where=sa.text("cleared_at IS NULL"))
    op.drop_index(op.f("ix_persona_chats_owner_id"), table_name="persona_chats")
    op.drop_table("persona_chats")
    op.drop_table("joining")
    op.drop_index(op.f("ix_experiment_files_digest"), table_name="experiment_files")
    op.drop_table("experiment_files")
    op.drop_table("call_limits")
    op.drop_table("planned_cohorts")
    op.drop_table("arrivals")
    op.drop_table("personas")
    op.drop_index(op.f("ix_experiments_owner_id"), table_name="experiments")
    op.drop_table("experiments")
    op.drop_index(op.f("ix_deeds_experimenter_id_at"), table_name="deeds")
    op.drop_table("deeds")
    op.drop_index(op.f("ix_api_keys_experimenter_id"), table_name="api_keys")
    op.drop_table("api_keys")
    op.drop_table("workers")
    op.drop_index(op.f("ix_stream_tickets_expires_at"), table_name="stream_tickets")
    op.drop_table("stream_tickets")
    op.drop_index(op.f("ix_request_limits_began_at"), table_name="request_limits")
    op.drop_table("request_limits")
    op.drop_table("outbox")
    op.drop_table("limits")
    op.drop_table("lab")
    op.drop_index(op.f("ix_kept_answers_expires_at"), table_name="kept_answers")
    op.drop_table("kept_answers")
    op.drop_table("gateways")
    op.drop_table("gates")
    op.drop_table("files")
    op.drop_table("experimenters")
