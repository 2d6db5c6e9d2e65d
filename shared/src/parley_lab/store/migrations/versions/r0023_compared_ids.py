"""External ids of people as they are compared: without spaces and characters that no one sees."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("members", sa.Column("compared_id", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("members", "compared_id")
