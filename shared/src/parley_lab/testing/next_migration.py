"""The migration of a version that is still to come, which adds and takes nothing away."""

import shutil
from pathlib import Path
from typing import Final

from parley_lab.store.migrate import OURS, Migrations

NEXT: Final = f"{int(OURS.newest) + 1:04}"
"""Its revision."""

_SOURCE: Final = '''
"""What the next version adds: a column to every table, a table, an index."""

import sqlalchemy as sa
from alembic import op

from parley_lab.store.tables import metadata

revision = "{next}"
down_revision = "{newest}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in metadata.tables:
        op.add_column(table, sa.Column("of_the_next", sa.Text(), server_default=sa.text("'new'"), nullable=False))
    op.create_table(
        "notes_of_the_next",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("member_id", sa.Uuid(), sa.ForeignKey("members.id", ondelete="CASCADE"), nullable=False),
    )
    op.create_index("ix_messages_of_the_next", "messages", ["of_the_next"])
'''


def with_next(folder: Path, source: str = _SOURCE) -> Migrations:
    """Our migrations and the next one, in this folder."""
    shutil.copytree(OURS.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / f"r{NEXT}_next.py").write_text(source.format(next=NEXT, newest=OURS.newest))
    return Migrations(folder)
