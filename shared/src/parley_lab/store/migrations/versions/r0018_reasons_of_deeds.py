"""Why something was done, and in which experiment."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("deeds", sa.Column("experiment_id", sa.Uuid(), nullable=True))
    op.add_column("deeds", sa.Column("reason", sa.Text(), server_default=sa.text("''"), nullable=False))
    op.create_index(op.f("ix_deeds_experiment_id_at"), "deeds", ["experiment_id", "at"])


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_index(op.f("ix_deeds_experiment_id_at"), table_name="deeds")
    op.drop_column("deeds", "reason")
    op.drop_column("deeds", "experiment_id")
