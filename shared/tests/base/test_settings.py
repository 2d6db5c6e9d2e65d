"""Settings that are missing or wrong stop a start, and the message says which without showing any value."""

import pytest

from parley_lab.base.errors import SettingsInvalid
from parley_lab.base.settings import ProcessSettings, ServerSettings, read_settings

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


@pytest.mark.parametrize("password", ["p@secret", "p/secret", "p?secret", "p#secret", "a:p@secret"])
@pytest.mark.parametrize("name", ["PARLEY_DATABASE_URL", "PARLEY_AMQP_URL"])
def test_a_password_that_ends_the_address_is_told_without_any_of_it(
    monkeypatch: pytest.MonkeyPatch, name: str, password: str
) -> None:
    scheme = "amqp" if name == "PARLEY_AMQP_URL" else "postgresql"
    monkeypatch.setenv(name, f"{scheme}://parley:{password}@127.0.0.1:5432/parley")

    with pytest.raises(SettingsInvalid) as refused:
        read_settings(ServerSettings)

    assert f"{name}: " in refused.value.message
    assert "In a password write @ as %40" in refused.value.message
    assert "secret" not in refused.value.message


def test_an_address_without_a_port_or_on_a_socket_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("postgresql:///parley?host=/run/postgresql", "postgresql://parley:p%40ss@host/parley"):
        monkeypatch.setenv("PARLEY_DATABASE_URL", address)

        assert read_settings(ServerSettings).database_url == address


@pytest.mark.parametrize("name", ["PARLEY_DATABASE_URL", "PARLEY_AMQP_URL"])
def test_an_address_has_no_empty_password(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    scheme = "postgresql" if "DATABASE" in name else "amqp"
    monkeypatch.setenv(name, f"{scheme}://parley:@127.0.0.1:5432/parley")

    with pytest.raises(SettingsInvalid, match=f"{name}: .*has an empty password"):
        read_settings(ServerSettings)

    monkeypatch.setenv(name, f"{scheme}://parley@127.0.0.1:5432/parley")
    read_settings(ServerSettings)
