"""Arms of members: the treatment of a participant who has one of their own, and how they came by it."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rather fail than queue behind a long transaction and make everybody else queue behind us.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("members", sa.Column("treatment_id", sa.Text(), nullable=True))
    op.add_column("members", sa.Column("allocated", postgresql.JSONB(none_as_null=True), nullable=True))
    op.create_foreign_key(
        op.f("fk_members_experiment_id_treatment_id"),
        "members",
        "treatments",
        ["experiment_id", "treatment_id"],
        ["experiment_id", "id"],
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_constraint(op.f("fk_members_experiment_id_treatment_id"), "members", type_="foreignkey")
    op.drop_column("members", "allocated")
    op.drop_column("members", "treatment_id")
