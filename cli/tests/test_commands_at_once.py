"""Commands in one folder at the same time: each has the database to its end."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from parley_lab.base.settings import ServerSettings
from parley_lab.cli.lab_database import LabAtHand
from parley_lab.experiments import personas

pytestmark = pytest.mark.postgres


async def test_a_command_waits_until_another_one_has_left_the_folder(embedded_dir: Path) -> None:
    first, second = (LabAtHand(embedded_dir, servers=ServerSettings()) for _ in range(2))
    stack = AsyncExitStack()
    async with first:
        entering = asyncio.create_task(stack.enter_async_context(second))
        await asyncio.wait({entering}, timeout=1)
        assert not entering.done()

    await entering
    async with second.database.transaction() as session:
        assert await personas.list_of(session, second.operator_id) == []
    await stack.aclose()
