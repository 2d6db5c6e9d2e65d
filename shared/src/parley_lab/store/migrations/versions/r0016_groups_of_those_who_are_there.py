"""Groups that are made at a stage of people who are there."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "rooms",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("stage_id", sa.Text(), nullable=False),
        sa.Column("plan", postgresql.JSONB(), nullable=False),
        sa.Column("people", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("most", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("groups", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("joined", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("numbered", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("told", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("block", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("arms_left", sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("draws", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_rooms_experiment_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rooms")),
    )
    op.create_index(op.f("ix_rooms_experiment_id"), "rooms", ["experiment_id"])
    op.create_table(
        "matches",
        sa.Column("cohort_id", sa.Uuid(), nullable=False),
        sa.Column("room_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("people", sa.ARRAY(sa.Uuid()), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("given_back_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.id"], name=op.f("fk_matches_cohort_id")),
        sa.ForeignKeyConstraint(["room_id"], ["rooms.id"], name=op.f("fk_matches_room_id")),
        sa.PrimaryKeyConstraint("cohort_id", name=op.f("pk_matches")),
        sa.UniqueConstraint("room_id", "number", name=op.f("uq_matches_room_id_number")),
    )
    op.add_column("cohorts", sa.Column("room_id", sa.Uuid(), nullable=True))
    op.add_column("cohorts", sa.Column("alone", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.create_foreign_key(op.f("fk_cohorts_room_id"), "cohorts", "rooms", ["room_id"], ["id"])
    op.create_check_constraint(op.f("ck_cohorts_alone_in_a_room"), "cohorts", "room_id IS NOT NULL OR NOT alone")
    op.create_index("ix_cohorts_room_id", "cohorts", ["room_id"], postgresql_where=sa.text("room_id IS NOT NULL"))
    op.add_column("members", sa.Column("seat", sa.Integer(), nullable=True))
    op.alter_column("presence", "seen_at", nullable=True)
    op.add_column("presence", sa.Column("asked_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("presence", "asked_at")
    op.execute("DELETE FROM presence WHERE seen_at IS NULL")
    op.alter_column("presence", "seen_at", nullable=False)
    op.drop_column("members", "seat")
    op.drop_index("ix_cohorts_room_id", table_name="cohorts", postgresql_where=sa.text("room_id IS NOT NULL"))
    op.drop_constraint(op.f("ck_cohorts_alone_in_a_room"), "cohorts", type_="check")
    op.drop_constraint(op.f("fk_cohorts_room_id"), "cohorts", type_="foreignkey")
    op.drop_column("cohorts", "alone")
    op.drop_column("cohorts", "room_id")
    op.drop_table("matches")
    op.drop_index(op.f("ix_rooms_experiment_id"), table_name="rooms")
    op.drop_table("rooms")
