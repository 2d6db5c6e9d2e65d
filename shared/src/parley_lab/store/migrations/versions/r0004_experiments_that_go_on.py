"""An index of the experiments that go on: orchestrators look for those that are at their end every few seconds."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_index(
        "ix_experiments_going_on",
        "experiments",
        ["status"],
        unique=False,
        postgresql_where=sa.text("status IN ('running', 'paused')"),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_index(
        "ix_experiments_going_on",
        table_name="experiments",
        postgresql_where=sa.text("status IN ('running', 'paused')"),
    )
