"""When a member who was paused went on."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("members", sa.Column("resumed_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("members", "resumed_at")
