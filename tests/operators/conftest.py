"""Fixtures of the operators' tests."""

from collections.abc import Iterator

import pytest

from parley_lab.testing.fresh_databases import FreshDatabases


@pytest.fixture(scope="module")
def module_database_url(fresh_databases: FreshDatabases) -> Iterator[str]:
    """A migrated, empty database for the tests of one module."""
    with fresh_databases.one() as url:
        yield url
