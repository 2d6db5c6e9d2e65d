"""The own name of a member who is known by another one in their cohort."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("members", sa.Column("own_name", sa.Text(), nullable=True))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("members", "own_name")
