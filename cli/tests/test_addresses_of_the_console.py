"""The address of the console has a code that signs in; a terminal shows it, and nothing else does."""

import io
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from parley_lab.base.errors import NotFound
from parley_lab.base.settings import ServerSettings
from parley_lab.cli.lab_database import LabAtHand
from parley_lab.cli.running import _say_how_to_sign_in
from parley_lab.cli.screen import Screen
from parley_lab.store import keys, sign_ins
from parley_lab.store.session import Database
from parley_lab.testing.fake_clock import FakeClock

pytestmark = pytest.mark.postgres
ADDRESS = re.compile(r"http://127\.0\.0\.1:8123/console#code=([\w-]{22})(?![\w-])")


@pytest.fixture
async def lab(database: Database, fake_clock: FakeClock) -> Any:
    async with database.transaction() as session:
        await keys.store_bootstrap_key(session, "the-first-key-of-all", "operator", fake_clock.now())
    return SimpleNamespace(url="http://127.0.0.1:8123", database=database, clock=fake_clock)


async def test_a_terminal_shows_an_address_that_signs_in_and_a_file_does_not(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []
    for is_terminal in (True, False):
        monkeypatch.setattr(sys.stdout, "isatty", lambda is_terminal=is_terminal: is_terminal)
        text = io.StringIO()
        await _say_how_to_sign_in(lab, Screen(Console(file=text, force_terminal=True, soft_wrap=True)))
        shown.append(text.getvalue())

    found = ADDRESS.search(shown[0])
    assert found is not None, shown
    async with lab.database.transaction() as session:
        owner = await sign_ins.redeem(session, found[1], lab.clock.now())
    assert (owner.name, shown[1]) == ("operator", "")


async def test_another_code_is_made_beside_a_running_lab(lab: Any, database_url: str, tmp_path: Path) -> None:
    servers = ServerSettings(database_url=database_url)
    async with (
        LabAtHand(tmp_path, servers=servers, clock=lab.clock) as at_hand,
        at_hand.database.transaction() as session,
    ):
        code = await sign_ins.make_code(session, "operator", lab.clock.now())
        with pytest.raises(NotFound, match="parley keys create ana"):
            await sign_ins.make_code(session, "ana", lab.clock.now())

    async with lab.database.transaction() as session:
        assert (await sign_ins.redeem(session, code, lab.clock.now())).name == "operator"
