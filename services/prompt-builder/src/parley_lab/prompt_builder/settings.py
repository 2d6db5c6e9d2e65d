"""Settings of prompt-builder, from its environment."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from parley_lab.base.settings import DatabaseSettings, LogSettings


class PromptBuilderSettings(DatabaseSettings, LogSettings):
    model_config = SettingsConfigDict(env_prefix="PARLEY_", extra="ignore", frozen=True)

    host: str = Field(default="127.0.0.1", validation_alias="PROMPT_BUILDER_HOST")
    """The address to listen on."""
    port: int = Field(default=8001, ge=1, le=65535, validation_alias="PROMPT_BUILDER_PORT")
    """The port to listen on."""
