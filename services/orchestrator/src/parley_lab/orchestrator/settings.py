"""What an orchestrator is told by its environment."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class OrchestratorSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="ORCHESTRATOR_", extra="ignore", frozen=True)

    prefetch: int = Field(default=8, ge=1, le=1000)
    """How many cohorts this process settles at a time."""
    timer_seconds: float = Field(default=0.5, gt=0)
    """How often due timers are looked for; a time limit is late by at most about this."""
    room_seconds: float = Field(default=0.5, gt=0)
    """How often groups are made of people who wait; a group is late by at most about this."""
    watch_seconds: float = Field(default=5.0, gt=0)
    """How often the watchdog announces what is overdue."""
    overdue_seconds: float = Field(default=5.0, ge=0)
    """How long a wanted draft may wait before it is announced again."""
    keep_personal_days: int | None = Field(default=None, ge=1, le=36_500)
    """How many days after an experiment's end the data of its people are kept; a file may say fewer. None: as many as
    the file says, and without a word there until they are deleted by hand."""
    forget_seconds: float = Field(default=3600.0, gt=0)
    """How often experiments are looked for whose time is over."""
    retry_seconds: float = Field(default=0.05, gt=0)
    """When to come back to a cohort that another process is settling."""
