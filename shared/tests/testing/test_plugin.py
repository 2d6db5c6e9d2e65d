"""Fixtures that every member relies on, and the rule that no test reaches the network."""

import asyncio
import gc
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from parley_lab.store.session import Database
from parley_lab.testing import rabbitmq_node, run_servers, services
from parley_lab.testing.fake_clock import FakeClock
from parley_lab.testing.network import NetworkGuard, free_port

INSERT = text("INSERT INTO experimenters (id, name, created_at) VALUES (gen_random_uuid(), 'Ada', now())")
COUNT = text("SELECT count(*) AS n FROM experimenters")


@pytest.mark.parametrize("_", ["first", "second"])
async def test_each_test_has_a_database_of_its_own(database: Database, _: str) -> None:
    async with database.transaction() as session:
        await session.run(INSERT)

    async with database.transaction() as session:
        assert (await session.one(COUNT)).n == 1


@pytest.mark.parametrize("_", ["first", "second"])
async def test_shared_database_works_in_every_event_loop(shared_database: Database, _: str) -> None:
    async with shared_database.transaction() as session:
        assert (await session.one(COUNT)).n >= 0


def test_database_fixtures_mark_their_tests(request: pytest.FixtureRequest, database_url: str) -> None:
    assert request.node.get_closest_marker("postgres")


def test_fake_clock_is_still_until_it_is_moved(fake_clock: FakeClock) -> None:
    before = fake_clock.now()

    fake_clock.advance(1.5)

    assert fake_clock.now() - before == timedelta(seconds=1.5)
    assert fake_clock.now().tzinfo is not None


async def test_servers_on_this_machine_can_be_reached() -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "localhost", 0)
    host, port = server.sockets[0].getsockname()[:2]

    _, writer = await asyncio.open_connection(host, port)

    writer.close()
    server.close()
    await server.wait_closed()


def test_a_test_that_reaches_the_network_fails_though_it_swallows_the_error(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('pytest_plugins = ["parley_lab.testing.plugin"]')
    pytester.makepyfile(
        """
        import asyncio
        import socket

        def test_by_name():
            try:
                socket.create_connection(("models.example", 443), timeout=1)
            except Exception:
                pass

        def test_by_address():
            try:
                socket.create_connection(("192.0.2.1", 443), timeout=1)
            except Exception:
                pass

        def test_in_a_loop():
            async def call():
                await asyncio.open_connection("192.0.2.1", 443)
            try:
                asyncio.run(call())
            except Exception:
                pass

        def test_without():
            pass
        """
    )

    outcome = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    outcome.assert_outcomes(passed=1, failed=3)
    outcome.stdout.fnmatch_lines(["*The test tried to reach models.example. No test may use the network.*"])


def test_guard_is_taken_away_with_the_session() -> None:
    program = (
        "import socket, pytest; before = socket.getaddrinfo, socket.socket.connect;"
        "pytest.main(['--version', '-p', 'parley_lab.testing.plugin']);"
        "assert before == (socket.getaddrinfo, socket.socket.connect)"
    )

    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert outcome.returncode == 0, outcome.stderr


def test_environment_names_the_database_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(services.DATABASE_VARIABLE, "postgresql://somebody:secret@database.example/postgres")

    with services.postgres() as server:
        assert server.url == "postgresql://somebody:secret@database.example/postgres"
        assert "secret" not in server.source


def test_without_program_and_docker_there_is_no_rabbitmq(without_rabbitmq: None) -> None:
    with pytest.raises(services.NoServer, match="no Docker engine"), services.rabbitmq_of_a_run():
        pass


@pytest.fixture
def without_rabbitmq(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(services.AMQP_VARIABLE, raising=False)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))


@pytest.mark.parametrize(
    ("variable", "url"),
    [
        (services.DATABASE_VARIABLE, "postgresql://postgres@127.0.0.1:{port}/postgres"),
        (services.AMQP_VARIABLE, "amqp://guest:guest@127.0.0.1:{port}/"),
    ],
)
def test_a_named_server_that_does_not_answer_ends_the_run_before_the_first_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, variable: str, url: str
) -> None:
    for one in (services.DATABASE_VARIABLE, services.AMQP_VARIABLE):
        monkeypatch.delenv(one, raising=False)
    port = free_port()
    monkeypatch.setenv(variable, url.format(port=port))
    pytester.makepyprojecttoml('[tool.pytest]\nasyncio_default_fixture_loop_scope = "function"\n')
    pytester.makepyfile("def test_one(): pass")

    result = pytester.runpytest_subprocess("-p", "parley_lab.testing.plugin", "-p", "no:cacheprovider")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*answers at 127.0.0.1:{port}, which {variable} names.*"])
    assert "passed" not in result.stdout.str()


def test_processes_of_a_run_share_its_servers_and_the_end_of_the_run_stops_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[str] = []

    @contextmanager
    def one() -> Iterator[services.Server]:
        events.append("started")
        yield services.Server("amqp://x", "a test")
        events.append("stopped")

    @contextmanager
    def none() -> Iterator[services.Server]:
        raise services.NoServer("not here")
        yield

    monkeypatch.setattr(run_servers, "_WAYS", {"RabbitMQ": one, "PostgreSQL": none})
    keeper = run_servers.Keeper()
    processes: list[run_servers.RunServers] = [keeper, *(run_servers.Asking(keeper.address()) for _ in range(2))]

    found = {process.get("RabbitMQ").url for process in processes}
    for process in processes:
        with pytest.raises(services.NoServer, match="not here"):
            process.get("PostgreSQL")
    before = list(events)
    keeper.close()

    assert found == {"amqp://x"}
    assert (before, events) == (["started"], ["started", "stopped"])


@pytest.mark.rabbitmq
def test_a_node_of_a_run_takes_connections_and_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    if rabbitmq_node.programs() is None:
        pytest.skip("no rabbitmq-server is on the PATH")
    monkeypatch.delenv(services.AMQP_VARIABLE, raising=False)

    with services.rabbitmq_of_a_run() as server:
        answers = rabbitmq_node.speaks_amqp(server.url)

    assert answers
    assert not rabbitmq_node.speaks_amqp(server.url)


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "several"])
def test_a_run_without_docker_is_not_blamed_for_sockets_of_the_docker_client(
    pytester: pytest.Pytester, without_rabbitmq: None, processes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{pytester.path}/no-engine")
    pytester.makepyprojecttoml(
        '[tool.pytest]\nasyncio_default_fixture_loop_scope = "function"\n'
        'markers = ["services", "rabbitmq"]\nfilterwarnings = ["error"]\n'
    )
    pytester.makepyfile("def test_left_out(amqp_url): pass")

    result = pytester.runpytest_subprocess(*processes, "-p", "parley_lab.testing.plugin", "-p", "no:cacheprovider")

    assert (result.ret, result.parseoutcomes()) == (pytest.ExitCode.OK, {"skipped": 1}), result.stderr.str()


def test_an_engine_that_does_not_answer_leaves_no_socket_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no-engine")
    before = _open_sockets()

    with pytest.raises(services.NoServer, match="no Docker engine answers"):
        services.require_docker()

    assert _open_sockets() == before


def _open_sockets() -> set[int]:
    """Those on this machine, by their number."""
    found = [one for one in gc.get_objects() if isinstance(one, socket.socket)]
    return {one.fileno() for one in found if one.family == socket.AF_UNIX and one.fileno() >= 0}


@pytest.mark.docker
@pytest.mark.slow
def test_docker_starts_a_postgres(monkeypatch: pytest.MonkeyPatch, network_guard: NetworkGuard) -> None:
    monkeypatch.delenv(services.DATABASE_VARIABLE, raising=False)

    with services.postgres() as server:
        if not server.source.startswith("Docker"):
            pytest.skip(server.source)
        network_guard.allow(server.url)
        with psycopg.connect(server.url) as connection:
            asked = connection.execute("SELECT current_user, current_setting('server_version_num')::int").fetchone()

    assert asked is not None
    assert asked[0] == "postgres"
    assert asked[1] >= 150_000


@pytest.mark.docker
@pytest.mark.slow
def test_docker_starts_a_rabbitmq(monkeypatch: pytest.MonkeyPatch, network_guard: NetworkGuard) -> None:
    monkeypatch.delenv(services.AMQP_VARIABLE, raising=False)

    with ExitStack() as stack:
        try:
            server = stack.enter_context(services.rabbitmq())
        except services.NoServer as error:
            pytest.skip(str(error))
        network_guard.allow(server.url)
        host, _, port = server.url.rpartition("@")[2].strip("/").partition(":")
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(b"AMQP\x00\x00\x09\x01")
            assert connection.recv(1)
