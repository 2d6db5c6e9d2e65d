"""How long agents take: to think in simulated time, to type, and to read and fill in pages."""

from random import Random

from parley_lab.contracts.experiment import PageSettings

LONGEST_TYPING_SECONDS = 10.0
SIMULATED_THINKING_SECONDS = (1.0, 4.0)
"""The range of thinking times of models in pace `fast`, drawn uniformly; order and transcript times follow from it."""


def typing_seconds(text: str, words_per_minute: float | None, rng: Random) -> float:
    """How long typing `text` takes: words / words_per_minute minutes times 0.75 to 1.25, at most 10 seconds."""
    if not words_per_minute:
        return 0.0
    return min(_seconds(text, words_per_minute) * rng.uniform(0.75, 1.25), LONGEST_TYPING_SECONDS)


def page_seconds(shown: str, written: str, settings: PageSettings, rng: Random) -> float:
    """How long it takes to read what is `shown` and write what is `written`, times 0.75 to 1.25."""
    reading = _seconds(shown, settings.reading_words_per_minute)
    return (reading + _seconds(written, settings.writing_words_per_minute)) * rng.uniform(0.75, 1.25)


def _seconds(text: str, words_per_minute: float | None) -> float:
    return len(text.split()) / words_per_minute * 60 if words_per_minute else 0.0


def thinking_seconds(rng: Random) -> float:
    return rng.uniform(*SIMULATED_THINKING_SECONDS)
