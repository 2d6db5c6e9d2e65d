"""The composition of a group, where its file has several, and people who confirm that they are there."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("matches", sa.Column("kind", sa.Text(), nullable=True))
    op.add_column("presence", sa.Column("called_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("presence", sa.Column("confirmed_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("presence", "confirmed_at")
    op.drop_column("presence", "called_at")
    op.drop_column("matches", "kind")
