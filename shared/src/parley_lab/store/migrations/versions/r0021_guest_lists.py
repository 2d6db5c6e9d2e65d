"""Who may join an experiment, where not everybody may."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "guests",
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("compared", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_guests_experiment_id")),
        sa.PrimaryKeyConstraint("experiment_id", "compared", name=op.f("pk_guests")),
    )


def downgrade() -> None:
    op.drop_table("guests")
