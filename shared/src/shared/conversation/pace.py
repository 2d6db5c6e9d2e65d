"""How long agents take: to think, when time is simulated, and to type."""

from random import Random

LONGEST_TYPING_SECONDS = 10.0
SIMULATED_THINKING_SECONDS = (1.0, 4.0)
"""How long a model is taken to think in pace `fast`, uniformly drawn; order and transcript times follow from it."""


def typing_seconds(text: str, words_per_minute: float | None, rng: Random) -> float:
    """How long typing `text` takes: words / words_per_minute minutes times 0.75 to 1.25, at most 10 seconds."""
    if not words_per_minute:
        return 0.0
    seconds = len(text.split()) / words_per_minute * 60 * rng.uniform(0.75, 1.25)
    return min(seconds, LONGEST_TYPING_SECONDS)


def thinking_seconds(rng: Random) -> float:
    return rng.uniform(*SIMULATED_THINKING_SECONDS)
