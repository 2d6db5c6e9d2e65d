"""How the mock plays an agent in a rehearsal; researchers write it, and real models never see it."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Seconds = Annotated[float, Field(ge=0, le=600)]
Probability = Annotated[float, Field(ge=0, le=1)]
Line = Annotated[str, Field(pattern=r"\S")]
StageId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Failure = Literal[
    "invalid",
    "refused",
    "too_long",
    "rate_limited",
    "unavailable",
    "unreachable",
    "auth_error",
    "no_quota",
    "bad_request",
    "timeout",
    "error",
]


class _Script(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


class MockFailure(_Script):
    """Calls that fail. When several failures match a call, the first applies."""

    status: Failure
    """How the call fails, as in the column `status` of the data."""
    probability: Probability = 1.0
    """The share of matching calls that fails; drawn for each call."""
    attempts: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Which attempts at one reply fail: `[1, 2]` are the first two. Empty: any."""
    stages: tuple[StageId, ...] = ()
    """In which stages. Empty: in all."""
    retry_after_seconds: Seconds | None = None
    """For `rate_limited` and `unavailable`: how long the provider asks to wait."""
    text: str = ""
    """For `invalid`: what the model wrote."""


class MockScript(_Script):
    """What the mock does for a persona. Without a setting it acts as usual: plausible replies at once."""

    lines: tuple[Line, ...] = ()
    """What the agent says in every conversation, one line per message of its own, an opening line included."""
    stage_lines: dict[StageId, tuple[Line, ...]] = {}
    """The same for one conversation, by the id of its stage; overrides `lines`."""
    after_lines: Literal["plausible", "silence", "leave"] = "plausible"
    """What follows the last line: plausible messages, silence, or that the agent is ready to end."""
    silence: Probability | None = None
    """The probability that the agent stays silent when it is asked, lines left or not; left out: as usual."""
    latency_seconds: Seconds | tuple[Seconds, Seconds] | None = None
    """How long a call takes: a number, or the least and the most of a range to draw from. Pace `fast` simulates it.
    Left out: no time in pace `live`, and the usual thinking time in `fast`.
    """
    always_wait: bool = False
    """True: latencies, and waits after failures, take real time in pace `fast` as well."""
    failures: tuple[MockFailure, ...] = ()
    """Which calls fail, and how."""

    @model_validator(mode="after")
    def _least_before_most(self) -> Self:
        if isinstance(self.latency_seconds, tuple) and self.latency_seconds[0] > self.latency_seconds[1]:
            raise ValueError("latency_seconds: the least comes before the most")
        return self

    def lines_in(self, stage_id: str) -> tuple[str, ...]:
        """The lines for the conversation of this stage."""
        return self.stage_lines.get(stage_id, self.lines)
