"""The tables and pictures that are sent beside the text of an experiment."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "experiment_source_files",
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("picture", sa.Text(), nullable=True),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.CheckConstraint("(picture IS NULL) <> (content IS NULL)", name=op.f("ck_experiment_source_files_content")),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiments.id"], name=op.f("fk_experiment_source_files_experiment_id")
        ),
        sa.ForeignKeyConstraint(["picture"], ["files.digest"], name=op.f("fk_experiment_source_files_picture")),
        sa.PrimaryKeyConstraint("experiment_id", "name", name=op.f("pk_experiment_source_files")),
    )
    op.create_index(op.f("ix_experiment_source_files_picture"), "experiment_source_files", ["picture"])


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("experiment_source_files")
