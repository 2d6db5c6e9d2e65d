"""Fixtures of the flows."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from shared.db.databases import copy_database, drop_database
from shared.testing.services import Server


@pytest.fixture
def second_database_url(postgres_server: Server, template_database: str) -> Iterator[str]:
    """Another migrated, empty database."""
    name = f"second_{uuid4().hex}"
    yield copy_database(postgres_server.url, template_database, name)
    drop_database(postgres_server.url, name)
