"""Experiments that are put away, and an index of the alerts that are open."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("experiments", sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_alerts_open", "alerts", ["experiment_id"], postgresql_where=sa.text("resolved_at IS NULL"))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_index("ix_alerts_open", table_name="alerts")
    op.drop_column("experiments", "archived_at")
