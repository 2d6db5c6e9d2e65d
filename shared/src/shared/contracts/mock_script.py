"""How the mock plays an agent in a rehearsal, as a researcher writes it; real models never see it."""

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
    """Calls that fail. Of several failures that a call could have, it has the first."""

    status: Failure
    """What becomes of the call, as in the column `status` of the data."""
    probability: Probability = 1.0
    """Which share of the calls below fails; drawn for each call by itself."""
    attempts: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Which attempts at one reply fail: `[1, 2]` are the first two. Empty: any."""
    stages: tuple[StageId, ...] = ()
    """In which stages. Empty: in all."""
    retry_after_seconds: Seconds | None = None
    """For `rate_limited` and `unavailable`: how long the provider asks to wait."""
    text: str = ""
    """For `invalid`: what the model wrote."""


class MockScript(_Script):
    """What the mock does for a persona. What is left out, it does as always: plausible replies at once."""

    lines: tuple[Line, ...] = ()
    """What the agent says in every conversation, one line per message of its own, an opening line included."""
    stage_lines: dict[StageId, tuple[Line, ...]] = {}
    """The same for one conversation, by the id of its stage; goes before `lines`."""
    after_lines: Literal["plausible", "silence", "leave"] = "plausible"
    """What follows the last line: plausible messages, silence, or that the agent is ready to end."""
    silence: Probability | None = None
    """How likely the agent says nothing when it is asked, lines left or not; left out: no more than usual."""
    latency_seconds: Seconds | tuple[Seconds, Seconds] | None = None
    """How long a call takes: a number, or the least and the most of what is drawn. In pace `fast` it is simulated.
    Left out: no time in pace `live`, and the usual thinking time in `fast`.
    """
    always_wait: bool = False
    """True: latencies are waited for in pace `fast` as well, and so is what failures ask for."""
    failures: tuple[MockFailure, ...] = ()
    """Which calls fail, and how."""

    @model_validator(mode="after")
    def _least_before_most(self) -> Self:
        if isinstance(self.latency_seconds, tuple) and self.latency_seconds[0] > self.latency_seconds[1]:
            raise ValueError("latency_seconds: the least stands before the most")
        return self

    def lines_in(self, stage_id: str) -> tuple[str, ...]:
        """The lines for the conversation of this stage."""
        return self.stage_lines.get(stage_id, self.lines)
