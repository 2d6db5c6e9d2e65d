"""Which workers ended while they had a draft in hand, and which had nothing else."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("drafts", sa.Column("lease_worker", sa.Uuid()))
    op.add_column("drafts", sa.Column("lost_with", sa.ARRAY(sa.Uuid()), nullable=False, server_default=sa.text("'{}'")))
    op.add_column("drafts", sa.Column("alone_with", sa.Uuid()))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("drafts", "alone_with")
    op.drop_column("drafts", "lost_with")
    op.drop_column("drafts", "lease_worker")
