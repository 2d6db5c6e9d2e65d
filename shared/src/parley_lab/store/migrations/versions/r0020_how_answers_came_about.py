"""How answers of people came about, where an experiment records it."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "answer_processes",
        sa.Column("member_id", sa.Uuid(), nullable=False),
        sa.Column("stage_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("questions", postgresql.JSONB(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_answer_processes_member_id")),
        sa.PrimaryKeyConstraint("member_id", "stage_id", "key", name=op.f("pk_answer_processes")),
    )


def downgrade() -> None:
    op.drop_table("answer_processes")
