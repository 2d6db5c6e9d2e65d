"""Whether an experiment has a guest list, since a list may be empty."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("experiments", sa.Column("has_guest_list", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.execute(
        "UPDATE experiments e SET has_guest_list = true "
        "WHERE EXISTS (SELECT 1 FROM guests g WHERE g.experiment_id = e.id)"
    )
    op.execute("DELETE FROM guests WHERE compared = ' '")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    # A guest without an id keeps an empty list closed, as one whose data was deleted does. No id compares as a space.
    op.execute(
        "INSERT INTO guests (experiment_id, compared, external_id, added_at) SELECT e.id, ' ', '', now() "
        "FROM experiments e WHERE e.has_guest_list "
        "AND NOT EXISTS (SELECT 1 FROM guests g WHERE g.experiment_id = e.id)"
    )
    op.drop_column("experiments", "has_guest_list")
