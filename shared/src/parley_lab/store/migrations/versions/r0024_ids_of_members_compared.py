"""How the external ids of members that there are compare, and the index by which people are found."""

import unicodedata

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

UNSEEN = ("Cc", "Cf", "Zs", "Zl", "Zp")
AT_ONCE = 1_000
NEXT = sa.text(
    "SELECT id, external_id FROM members WHERE external_id IS NOT NULL AND compared_id IS NULL LIMIT :at_once"
)
COMPARE = sa.text(
    """
    UPDATE members m SET compared_id = g.compared
    FROM unnest(CAST(:ids AS uuid[]), CAST(:compared AS text[])) AS g(id, compared)
    WHERE m.id = g.id AND m.external_id IS NOT NULL
    """
)


def upgrade() -> None:
    # A few members at once, each time in a transaction of its own: services go on writing them.
    with op.get_context().autocommit_block():
        connection = op.get_bind()
        while rows := connection.execute(NEXT, {"at_once": AT_ONCE}).all():
            compared = ["".join(c for c in row.external_id if unicodedata.category(c) not in UNSEEN) for row in rows]
            connection.execute(COMPARE, {"ids": [row.id for row in rows], "compared": compared})
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS ix_members_compared_id")
        op.create_index(
            "ix_members_compared_id",
            "members",
            ["experiment_id", "compared_id"],
            postgresql_where=sa.text("compared_id IS NOT NULL"),
            postgresql_concurrently=True,
        )


def downgrade() -> None:
    op.drop_index("ix_members_compared_id", table_name="members", postgresql_where=sa.text("compared_id IS NOT NULL"))
