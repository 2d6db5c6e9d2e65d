"""What an agent worker is told by its environment."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class WorkerSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="AGENT_WORKER_", extra="ignore", frozen=True)

    prefetch: int = Field(default=256, ge=1, le=10_000)
    """How many replies of one provider this process works on at a time; the limit of calls in flight per provider."""
    step_prefetch: int = Field(default=32, ge=1, le=10_000)
    """How many agents of this process take a step at a time."""
    lease_seconds: float = Field(default=30.0, gt=0)
    """How long a draft is leased. A lease is renewed while its model thinks; that of a dead worker runs out."""
    limit_patience_seconds: float = Field(default=5.0, ge=0, le=20)
    """How long a reply waits here for room under a limit; then its draft is put back, which counts as no attempt."""
    retry_share: float = Field(default=0.2, ge=0, le=1)
    """Which share of this process's calls with one key may be repetitions of failed ones; more wait."""
    retries_per_minute: int = Field(default=10, ge=0)
    """How many repetitions there may be in any case, per key and process."""
    retry_seconds: float = Field(default=900.0, gt=0)
    """A draft whose next attempt would come later than this after its first is given up."""
    look_seconds: float = Field(default=0.02, ge=0)
    """How long after a model was called what its answer will be checked against is read: the call goes out first."""
    presence_seconds: float = Field(default=30.0, gt=0)
    """For how long the lab believes that this process serves its providers after it last said so; it says so thrice."""
    poll_seconds: float = Field(default=1.0, gt=0)
    """How often this process looks for replies that are due and that it does not know of."""
