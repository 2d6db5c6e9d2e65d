"""Moves of members are updated in place: no index has their version any more, and pages keep room for the new rows."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_ACTING = "player <> 'person' AND status IN ('attention_check', 'in_progress', 'transfer_pending')"
_UNSTEPPED = f"{_ACTING} AND stepped_version < version"


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    # First, because it takes the strongest lock: a stronger one later is a deadlock with who has read and writes.
    op.drop_index("ix_members_unstepped", table_name="members", postgresql_where=sa.text(_UNSTEPPED))
    op.create_index("ix_members_acting", "members", ["id"], unique=False, postgresql_where=sa.text(_ACTING))
    op.execute("ALTER TABLE members SET (fillfactor = 85)")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("ALTER TABLE members RESET (fillfactor)")
    op.create_index("ix_members_unstepped", "members", ["id"], unique=False, postgresql_where=sa.text(_UNSTEPPED))
    op.drop_index("ix_members_acting", table_name="members", postgresql_where=sa.text(_ACTING))
