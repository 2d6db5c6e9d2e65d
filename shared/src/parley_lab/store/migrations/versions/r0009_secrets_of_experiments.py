"""A secret of each experiment, with which the ids of people are hashed of whom nothing is kept."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("experiments", sa.Column("secret", sa.Uuid(), nullable=True))
    op.execute("ALTER TABLE experiments ALTER COLUMN secret SET DEFAULT gen_random_uuid()")
    op.execute("UPDATE experiments SET secret = gen_random_uuid() WHERE forgotten_at IS NULL")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("experiments", "secret")
