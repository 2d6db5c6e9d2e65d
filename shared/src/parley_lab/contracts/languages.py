"""The languages in which the lab gives names: those of seats, and those of the sets of `profile`.

Such a name is in the language of the experiment, since those who talk call each other by it, agents included.
"""

from collections.abc import Mapping
from typing import Final, Literal, get_args

NameLanguage = Literal["en", "de", "es", "ar"]

ENGLISH: Final[NameLanguage] = "en"
PARTICIPANT: Final[Mapping[NameLanguage, str]] = {
    "en": "Participant",
    "de": "Person",
    "es": "Persona",
    "ar": "مشارك",
}
"""The word for those who have no name but a number."""

_KNOWN: Final[tuple[NameLanguage, ...]] = get_args(NameLanguage)


def language_of_names(language: str | None) -> NameLanguage:
    """The language of the names in an experiment with this language, such as `de-CH`; English where it has none, or one
    without names."""
    code = (language or ENGLISH).partition("-")[0].lower()
    return next((one for one in _KNOWN if one == code), ENGLISH)
