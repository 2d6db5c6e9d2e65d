"""What processes are told by their environment: small classes, put together by each service, read once at its start."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.errors import SettingsInvalid


def _postgres_url(value: str) -> str:
    if urlsplit(value).scheme not in ("postgresql", "postgres"):
        raise ValueError("must start with postgresql://")
    return value


def _amqp_url(value: str) -> str:
    if urlsplit(value).scheme not in ("amqp", "amqps"):
        raise ValueError("must start with amqp:// or amqps://")
    return value


PostgresUrl = Annotated[str, AfterValidator(_postgres_url)]
AmqpUrl = Annotated[str, AfterValidator(_amqp_url)]


class DatabaseSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)

    database_url: PostgresUrl
    """Where Postgres is: postgresql://user:password@host:5432/name"""
    database_pool_size: int = Field(default=20, ge=1, le=500)
    """The most connections of one process to Postgres."""


class BrokerSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)

    amqp_url: AmqpUrl
    """Where RabbitMQ is: amqp://user:password@host:5672/"""
    amqp_prefix: str = ""
    """Goes before the name of every queue and exchange, so that several labs can share one broker."""


class ServerSettings(BaseSettings):
    """Where a lab runs on servers of its own; what is left out, the embedded lab brings itself."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)

    database_url: PostgresUrl | None = None
    amqp_url: AmqpUrl | None = None
    amqp_prefix: str = ""
    """Goes before the name of every queue and exchange, so that several labs can share one broker."""


class LogSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)

    log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")
    """What is logged at least."""
    log_format: str = Field(default="json", pattern="^(json|console)$")
    """JSON lines, or readable for development."""


class HealthSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)

    health_host: str = "127.0.0.1"
    """The address on which the process answers /healthz and /readyz."""
    health_port: int = Field(default=8080, ge=1, le=65535)
    """The port for that."""


class LabSettings(DatabaseSettings, BrokerSettings, LogSettings):
    """What every process of a distributed lab is told."""

    # Said here again, since the checker does not see what the bases agree on.
    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)


class ProcessSettings(LabSettings, HealthSettings):
    """What a service without an API of its own is told."""

    # Said here again, since the checker does not see what the bases agree on.
    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)


SettingsT = TypeVar("SettingsT", bound=BaseSettings)


def read_settings(settings: type[SettingsT]) -> SettingsT:
    """The settings in the environment; a variable that is set to nothing counts as not set.

    Raises:
        SettingsInvalid: naming every variable that is missing or wrong, and never a value, which may be a secret.
    """
    try:
        return settings(_env_ignore_empty=True)
    except ValidationError as error:
        prefix = settings.model_config.get("env_prefix", "")
        wrong = [_wrong(found, prefix) for found in error.errors(include_input=False, include_url=False)]
        raise SettingsInvalid("These settings are missing or wrong:\n" + "\n".join(wrong)) from error


def _wrong(found: Mapping[str, Any], prefix: str) -> str:
    field = str(found["loc"][0]) if found["loc"] else ""
    name = field if field.isupper() else f"{prefix}{field.upper()}"
    return f"  {name}: {'is not set' if found['type'] == 'missing' else found['msg']}"
