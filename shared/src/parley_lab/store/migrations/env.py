"""Runs the migrations on the connection that `parley_lab.store.migrate` hands over; there is no other way in."""

from alembic import context

from parley_lab.store.tables import metadata

# Each migration is a transaction of its own, so that its locks end with it.
context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, transaction_per_migration=True
)
with context.begin_transaction():
    context.run_migrations()
