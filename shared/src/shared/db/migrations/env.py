"""Runs the migrations on the connection that `shared.db.migrate` hands over; there is no other way in."""

from alembic import context

from shared.db.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
