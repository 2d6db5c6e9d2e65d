"""The database of a lab without its services, to read and write the library."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Final, Self
from uuid import UUID

from parley_lab.base.clock import Clock, SystemClock
from parley_lab.base.errors import SettingsInvalid, Unavailable
from parley_lab.base.settings import ServerSettings
from parley_lab.cli.directory import DataDirectory, InUse
from parley_lab.drafts import drafts
from parley_lab.experiments import pausing
from parley_lab.store import embedded_postgres, keys, migrate
from parley_lab.store.databases import connect
from parley_lab.store.failures import cause_of
from parley_lab.store.lab import is_running
from parley_lab.store.schema import read_revision
from parley_lab.store.session import Database

OPERATOR: Final = "operator"
"""The experimenter who owns all runs and personas of the command line."""
_PATIENCE_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.1


class LabDatabase:
    """The database of the lab in `data_dir`, or the one in the settings, until the block ends.

    Raises on entering:
        SettingsInvalid: another lab on the directory, data of another version.
        Unavailable: PostgreSQL does not start or does not answer.
    """

    def __init__(self, data_dir: Path, *, servers: ServerSettings, clock: Clock | None = None) -> None:
        self.directory = DataDirectory(data_dir)
        self.clock = clock or SystemClock()
        self._servers = servers
        self._stack = AsyncExitStack()
        self._database: Database | None = None
        self._operator_id: UUID | None = None
        self._postgres: embedded_postgres.EmbeddedPostgres | None = None

    @property
    def database(self) -> Database:
        assert self._database is not None, "the lab has not started"
        return self._database

    @property
    def operator_id(self) -> UUID:
        assert self._operator_id is not None, "the lab has not started"
        return self._operator_id

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await self._start(stack)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def stop_postgres(self) -> None:
        """Stop an embedded server at once, before the process is killed; committed data stay."""
        if self._postgres is not None:
            self._postgres.stop()

    async def _start(self, stack: AsyncExitStack) -> None:
        if self._servers.database_url is None:
            stack.enter_context(self.directory.held())
        url = await self._database_url(stack)
        await self._migrate(url)
        database = await self._connected(stack, url)
        async with database.transaction() as session:
            self._operator_id = await keys.experimenter_named(session, OPERATOR, self.clock.now())

    async def _database_url(self, stack: AsyncExitStack) -> str:
        if self._servers.database_url is not None:
            return self._servers.database_url
        # In a thread: it waits for other programs, and Ctrl-C must not wait for them.
        self._postgres = server = await asyncio.to_thread(embedded_postgres.start, self.directory.postgres)
        stack.push_async_callback(asyncio.to_thread, server.stop)
        return server.url

    async def _migrate(self, url: str) -> None:
        try:
            migrated = await asyncio.to_thread(migrate.upgrade, url)
        except migrate.OtherTables as error:
            if self._postgres is None:
                raise
            raise SettingsInvalid(
                f"The data in {self.directory.path} were made by another version of Parley, and this one cannot read "
                "them. Nothing is lost: go on with that version, or export what you need with it (parley export ID); "
                f"then move {self.directory.path} away, or give this version another folder with --data-dir."
            ) from error
        except (SettingsInvalid, Unavailable):
            raise
        except Exception as error:
            if self._postgres is not None:
                raise
            raise Unavailable(
                f"The database at PARLEY_DATABASE_URL cannot be used ({cause_of(error) or type(error).__name__}). See "
                "that the server runs, that the database exists, and that the user may create tables in it."
            ) from error
        if self._postgres is not None:
            self.directory.stamp(embedded_postgres.MAJOR, migrated.after)

    async def _connected(self, stack: AsyncExitStack, url: str) -> Database:
        self._database = database = connect(url, pool_size=self._servers.database_pool_size)
        stack.push_async_callback(database.close)
        return database


class LabAtHand(LabDatabase):
    """The database of a lab, running or not; a running lab shares its server.

    `is_running` says which. While another command has the directory, it waits. In a lab that is not running, runs that
    were left running are paused first.
    `may_make`: where there is no lab yet, its database is made.

    Raises on entering, beside what LabDatabase raises:
        NotFound: there is no lab in the directory, and none may be made.
    """

    def __init__(
        self, data_dir: Path, *, servers: ServerSettings, clock: Clock | None = None, may_make: bool = False
    ) -> None:
        super().__init__(data_dir, servers=servers, clock=clock)
        self.is_running = False
        self._may_make = may_make

    def address(self) -> str | None:
        """The address of the lab that runs; None when none does, or it serves no pages."""
        # A command holds the directory, too, in which the last lab has left its address.
        return self.directory.address() if self.is_running else None

    async def _start(self, stack: AsyncExitStack) -> None:
        if self._servers.database_url is None and not self._may_make and not self.directory.has_data():
            raise self.directory.no_lab()
        deadline = monotonic() + _PATIENCE_SECONDS
        while not await self._is_started(stack, may_wait=monotonic() < deadline):  # noqa: ASYNC110 - of another process
            await asyncio.sleep(_LOOK_SECONDS)
        async with self.database.transaction() as session:
            self.is_running = await is_running(session)
        if not self.is_running:
            now = self.clock.now()
            async with self.database.transaction() as session:
                await drafts.void_leases(session, now)
            await pausing.pause_left_behind(self.database, now)

    async def _is_started(self, stack: AsyncExitStack, *, may_wait: bool) -> bool:
        """Start PostgreSQL, or share the server of a lab that runs; False while another command has the directory.

        Raises:
            InUse: it has it still, and this one may not wait any longer.
        """
        try:
            await super()._start(stack)
        except InUse:
            if not await self._runs_a_lab():
                if may_wait:
                    return False
                raise
            database = await self._connected(stack, embedded_postgres.url_of(self.directory.postgres))
            async with database.transaction() as session:
                self._operator_id = await keys.experimenter_named(session, OPERATOR, self.clock.now())
        return True

    async def _runs_a_lab(self) -> bool:
        """Whether a lab holds the directory; the server of a command is about to stop."""
        if not self.directory.has_data():
            return False
        database = connect(embedded_postgres.url_of(self.directory.postgres), pool_size=1)
        try:
            async with database.read() as session:
                return await read_revision(session) is not None and await is_running(session)
        except Unavailable:
            return False
        finally:
            await database.close()
