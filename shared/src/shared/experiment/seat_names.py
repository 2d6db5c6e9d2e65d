"""How the others know a member whose persona has no name, and a person who has chosen none: by the number of the seat.

The name is in the language of the experiment, since those who talk call each other by it, agents included.
"""

from collections.abc import Mapping
from typing import Final

_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {"participant": "Participant", "mediator": "Mediator"},
    "de": {"participant": "Person", "mediator": "Moderation"},
}
_OTHERWISE: Final = "en"


def seat_name(kind: str, number: int, language: str | None) -> str:
    """The name of the seat with this number among those of its kind, `participant` or `mediator`.

    language: of the experiment, such as `de-CH`; English where it has none, or one without names here.
    """
    code = (language or _OTHERWISE).partition("-")[0].lower()
    return f"{_NAMES.get(code, _NAMES[_OTHERWISE])[kind]} {number}"
