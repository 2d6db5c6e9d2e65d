"""One database, one lab."""

import os

import psycopg
import pytest

from parley_lab.base.errors import SettingsInvalid
from parley_lab.store.lab import claim_lab


async def test_database_keeps_the_bus_that_came_first(database_url: str) -> None:
    await (await claim_lab(database_url, "rabbitmq")).close()

    with pytest.raises(SettingsInvalid, match="belongs to a lab on RabbitMQ"):
        await claim_lab(database_url, "in-process")


async def test_database_of_an_embedded_lab_is_refused_to_rabbitmq(database_url: str) -> None:
    await (await claim_lab(database_url, "in-process")).close()

    with pytest.raises(SettingsInvalid, match="belongs to an embedded lab"):
        await claim_lab(database_url, "rabbitmq")


async def test_many_processes_share_a_lab_on_rabbitmq(database_url: str) -> None:
    first = await claim_lab(database_url, "rabbitmq")
    second = await claim_lab(database_url, "rabbitmq")

    await first.renew()
    await first.close()
    await second.close()


async def test_second_in_process_bus_is_told_who_holds_the_lab(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley_lab.store.lab._OPTIONS", "-c lock_timeout=1")
    first = await claim_lab(database_url, "in-process")

    with pytest.raises(SettingsInvalid, match=f"parley, process {os.getpid()} on"):
        await claim_lab(database_url, "in-process")

    await first.close()


async def test_lab_is_free_once_its_process_has_gone(database_url: str) -> None:
    await (await claim_lab(database_url, "in-process")).close()

    second = await claim_lab(database_url, "in-process")

    await second.close()


@pytest.mark.fault
async def test_claim_is_renewed_after_its_connection_broke(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = await claim_lab(database_url, "in-process")
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as other:
        await other.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name LIKE 'parley, process%'"
        )

    await claim.renew()

    monkeypatch.setattr("parley_lab.store.lab._OPTIONS", "-c lock_timeout=1")
    with pytest.raises(SettingsInvalid, match="Another lab is running"):
        await claim_lab(database_url, "in-process")
    await claim.close()
