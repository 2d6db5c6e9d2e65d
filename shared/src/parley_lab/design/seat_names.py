"""How the others know a member without a name of a persona or of their own: by the number of the seat."""

from collections.abc import Mapping
from typing import Final

from parley_lab.contracts.languages import PARTICIPANT, NameLanguage, language_of_names

_MEDIATOR: Final[Mapping[NameLanguage, str]] = {
    "en": "Mediator",
    "de": "Moderation",
    "es": "Moderación",
    "ar": "ميسّر",
}
_NAMES: Final = {"participant": PARTICIPANT, "mediator": _MEDIATOR}


def seat_name(kind: str, number: int, language: str | None) -> str:
    """The name of the seat with this number among those of its kind, `participant` or `mediator`.

    language: of the experiment; see `language_of_names`.
    """
    return f"{_NAMES[kind][language_of_names(language)]} {number}"
