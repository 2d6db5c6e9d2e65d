"""What was begun and not sent: which fields of an answer it is, and what is kept of it beside the answers."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("answers", sa.Column("marks", postgresql.JSONB(none_as_null=True), nullable=True))
    op.add_column("partial_answers", sa.Column("outcome", sa.Text(), nullable=True))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("partial_answers", "outcome")
    op.drop_column("answers", "marks")
