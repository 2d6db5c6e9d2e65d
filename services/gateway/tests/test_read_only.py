"""A database that can only be read for a while: what people send is taken afterwards, and the readiness says so."""

from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from parley_lab.gateway.testing import Api

pytestmark = pytest.mark.postgres

OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


async def test_what_is_sent_to_a_database_that_only_reads_can_be_sent_again(api: Api) -> None:
    experiment_id = await api.running()
    token = await api.to_the_talk(experiment_id, "Ada")
    await api.to_the_talk(experiment_id, "Ben")
    thread = await api.thread(token)
    name = sql.Identifier(urlsplit(api.database.url).path.removeprefix("/"))

    async def answers(words: str) -> list[int]:
        said = {"text": words, "client_message_id": words}
        found = [
            await api.participant(token, "POST", f"/v1/me/threads/{thread}/messages", json=said),
            await api.participant(token, "POST", "/v1/me/help", json={"text": words}),
            await api.take_seat(experiment_id),
            await api.client.get("/readyz"),
        ]
        assert all(one.json()["can_retry"] for one in found if one.status_code == 503)
        return [one.status_code for one in found]

    options = "-c default_transaction_read_only=off"
    with psycopg.connect(api.database.url, autocommit=True, options=options) as connection:
        connection.execute(sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name))
        connection.execute(OTHERS)
        try:
            before, meanwhile = await answers("one"), await answers("two")
        finally:
            connection.execute(sql.SQL("ALTER DATABASE {} RESET default_transaction_read_only").format(name))
    await api.client.get("/readyz")

    assert (before, meanwhile) == ([503] * 4, [503] * 4)
    # The study has no third seat, and says so again.
    assert await answers("two") == [201, 204, 409, 200]
