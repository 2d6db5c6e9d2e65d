"""Decides by a mock script about one call: a line, silence, a wait, a failure. Pure; chance is (seed, path)."""

import re
from dataclasses import dataclass
from typing import Final

from parley_lab.base.seeds import rng as seeded
from parley_lab.contracts.mock_script import MockFailure, MockScript
from parley_lab.contracts.models import HINT_OWN_MESSAGE_COUNT, ModelReply, ModelRequest

_ATTEMPT: Final = re.compile(r"/call:(\d+)$")


@dataclass(frozen=True, slots=True)
class Part:
    """The script's decision about one reply in a conversation; None: the mock decides as usual."""

    line: str | None = None
    speaks: bool | None = None
    is_ready: bool | None = None


def part_of(request: ModelRequest) -> Part:
    """The script's decision about the agent's next message. Silence uses up no line: only spoken lines count."""
    script = request.mock
    if script is None:
        return Part()
    if script.silence is not None:
        is_silent = seeded(request.seed, f"{request.path}/silence").random() < script.silence
        return Part(speaks=False) if is_silent else _next_line(script, request)
    return _next_line(script, request)


def _next_line(script: MockScript, request: ModelRequest) -> Part:
    lines = script.lines_in(request.stage_id)
    speaks = True if script.silence is not None else None
    if not lines:
        return Part(speaks=speaks)
    said = request.hints.get(HINT_OWN_MESSAGE_COUNT)
    number = int(said) if isinstance(said, int | float) else 0
    if number < len(lines):
        return Part(line=lines[number], speaks=True, is_ready=False)
    match script.after_lines:
        case "silence":
            return Part(speaks=False, is_ready=False)
        case "leave":
            return Part(speaks=False, is_ready=True)
        case "plausible":
            return Part(speaks=speaks)


def latency_seconds(request: ModelRequest) -> float | None:
    """How long the call takes by its script; None when the script does not say."""
    latency = request.mock.latency_seconds if request.mock else None
    if isinstance(latency, tuple):
        return seeded(request.seed, f"{request.path}/latency").uniform(*latency)
    return latency


def is_simulated(request: ModelRequest) -> bool:
    """Whether the script's times are recorded without a wait."""
    return request.mock is not None and request.pace == "fast" and not request.mock.always_wait


def failure(request: ModelRequest) -> ModelReply | None:
    """The failure of the call by its script; None when it succeeds."""
    failures = request.mock.failures if request.mock else ()
    for number, one in enumerate(failures):
        draw = seeded(request.seed, f"{request.path}/failure:{number}").random()
        if _concerns(one, request) and draw < one.probability:
            return ModelReply(
                status=one.status,
                raw=one.text,
                error=f"the mock script lets this call fail: {one.status}",
                model_returned="mock",
                retry_after_seconds=one.retry_after_seconds,
            )
    return None


def _concerns(failure: MockFailure, request: ModelRequest) -> bool:
    found = _ATTEMPT.search(request.path)
    attempt = int(found.group(1)) if found else 1
    return (not failure.attempts or attempt in failure.attempts) and (
        not failure.stages or request.stage_id in failure.stages
    )
