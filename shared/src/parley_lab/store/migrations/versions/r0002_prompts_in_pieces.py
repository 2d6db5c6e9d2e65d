"""Prompts in pieces. What is stored stays whole; services of the revision before go on storing whole prompts."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "prompt_pieces",
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.Uuid(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("parts", postgresql.ARRAY(sa.Uuid()), nullable=True),
        sa.CheckConstraint("(text IS NULL) <> (parts IS NULL)", name=op.f("ck_prompt_pieces_text_or_parts")),
        sa.ForeignKeyConstraint(
            ["experiment_id"],
            ["experiments.id"],
            name=op.f("fk_prompt_pieces_experiment_id"),
            # Services of the revision before delete an experiment without knowing of its pieces.
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("experiment_id", "digest", name=op.f("pk_prompt_pieces")),
    )
    op.add_column("model_calls", sa.Column("prompt_pieces", postgresql.ARRAY(sa.Uuid()), nullable=True))
    op.alter_column("model_calls", "prompt", existing_type=postgresql.JSONB(), nullable=True)


def downgrade() -> None:
    raise NotImplementedError("a call whose prompt is stored in pieces has no place in the tables before")
