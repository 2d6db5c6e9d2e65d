"""Databases whose connections tests may break and change."""

from collections.abc import AsyncIterator

import pytest

from parley_lab.store.databases import connect
from parley_lab.store.session import Database


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """With connections that no other test gets."""
    database = connect(database_url)
    yield database
    await database.close()
