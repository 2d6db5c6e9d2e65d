"""The index of members whose ids services of an earlier version stored or deleted during an upgrade."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

AMISS = sa.text("(external_id IS NULL) <> (compared_id IS NULL)")


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS ix_members_compared_amiss")
        op.create_index(
            "ix_members_compared_amiss", "members", ["id"], postgresql_where=AMISS, postgresql_concurrently=True
        )


def downgrade() -> None:
    op.drop_index("ix_members_compared_amiss", table_name="members", postgresql_where=AMISS)
