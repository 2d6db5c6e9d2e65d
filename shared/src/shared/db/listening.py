"""Facts as Postgres tells them: a stream learns of what was stored with the commit, however busy the broker is."""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog
from psycopg import AsyncConnection, OperationalError

from shared.db.facts import FACTS_CHANNEL
from shared.db.failures import NOTICES_SILENCE, hang_up_after
from shared.db.session import STATEMENT_SECONDS

log = structlog.get_logger(__name__)

_AGAIN_SECONDS: Final = 1.0
_SILENCE_SECONDS: Final = 5.0


async def hear_facts(url: str, hear: Callable[[str], None], may_have_missed: Callable[[], None]) -> None:
    """Call `hear` with the id that a fact is about, for every fact from now on, until cancelled.

    `may_have_missed` is called whenever the connection stands anew: what was told meanwhile is not repeated.
    """
    while True:
        try:
            async with await AsyncConnection.connect(url, autocommit=True, **NOTICES_SILENCE) as connection:
                await connection.execute(f"LISTEN {FACTS_CHANNEL}")
                may_have_missed()
                while True:
                    async for notification in connection.notifies(timeout=_SILENCE_SECONDS):
                        hear(notification.payload)
                    # Nothing was told, or the server is gone without a word.
                    with hang_up_after(connection, STATEMENT_SECONDS):
                        await connection.execute("SELECT 1")
        except OperationalError as error:
            log.warning("facts.not_heard", reason=str(error))
        await asyncio.sleep(_AGAIN_SECONDS)
