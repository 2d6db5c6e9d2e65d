"""The indexes by which a join code is found that is typed in another case."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.get_context().autocommit_block():
        for table in ("experiments", "cohorts"):
            name = f"ix_{table}_lower_join_code"
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            op.create_index(name, table, [sa.text("lower(join_code)")], postgresql_concurrently=True)


def downgrade() -> None:
    for table in ("experiments", "cohorts"):
        op.drop_index(f"ix_{table}_lower_join_code", table_name=table)
