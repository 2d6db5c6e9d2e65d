"""The language of drafts whose file was replaced: the column kept that of the file before."""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "UPDATE experiments SET language = document->>'language' "
        "WHERE status = 'draft' AND language IS DISTINCT FROM document->>'language'"
    )


def downgrade() -> None:
    """Nothing to undo: services of the version before read the right language, too."""
