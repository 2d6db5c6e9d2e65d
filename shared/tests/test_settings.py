"""Settings that are missing or wrong stop a start, and the message says which without showing any value."""

import pytest

from shared.errors import SettingsInvalid
from shared.settings import ProcessSettings, ServerSettings, read_settings

DATABASE = "postgresql://user:secret@host/name"


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "AMQP_URL", "DATABASE_POOL_SIZE", "LOG_LEVEL", "LOG_FORMAT", "HEALTH_PORT"):
        monkeypatch.delenv(f"PARLEY_{name}", raising=False)


def test_every_missing_variable_is_named() -> None:
    with pytest.raises(SettingsInvalid) as refused:
        read_settings(ProcessSettings)

    assert "PARLEY_DATABASE_URL: is not set" in refused.value.message
    assert "PARLEY_AMQP_URL: is not set" in refused.value.message


def test_a_wrong_variable_is_named_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_DATABASE_URL", DATABASE)
    monkeypatch.setenv("PARLEY_AMQP_URL", DATABASE)

    with pytest.raises(SettingsInvalid) as refused:
        read_settings(ProcessSettings)

    assert "PARLEY_AMQP_URL" in refused.value.message
    assert "PARLEY_DATABASE_URL" not in refused.value.message
    assert "secret" not in refused.value.message


def test_what_is_set_to_nothing_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_DATABASE_URL", DATABASE)
    monkeypatch.setenv("PARLEY_AMQP_URL", "")

    assert read_settings(ServerSettings).amqp_url is None
    assert read_settings(ServerSettings).database_url == DATABASE
