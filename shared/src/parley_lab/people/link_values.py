"""What the address of a link says of who joins; placeholders that were not filled in are no values."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from parley_lab.base.errors import InvalidInput, Problem

# {{%PROLIFIC_PID%}} of Prolific, ${e://Field/PID} of Qualtrics, %SURVEY_CODE% of Sona, <id>, [workerId] and {workerId}.
# The first two are none wherever they are, since all who come would share the rest. In single brackets there may be a
# real value, such as {6F9619FF-8B86}: names have no digits.
_NAME: Final = r"[^\W\d](?:[^\W\d]|[ _.-])*"
_PLACEHOLDER: Final = re.compile(rf".*(?:\{{\{{|\$\{{).*|%[^\W\d]\w*%|<[^<>@]*>|\[{_NAME}\]|\{{{_NAME}\}}", re.DOTALL)
_MOST_ENCODINGS: Final = 3
"""How often a link is percent-encoded on its way at most, as far as is looked."""


def is_placeholder(value: str) -> bool:
    """Whether the value is the place of one, which the service that sends people has not filled in."""
    for _ in range(_MOST_ENCODINGS):
        if _PLACEHOLDER.fullmatch(value.strip()):
            return True
        value = unquote(value)
    return False


def filled_in(parameters: Mapping[str, str]) -> dict[str, str]:
    """Those parameters that have a value."""
    return {name: value for name, value in parameters.items() if not is_placeholder(value)}


def require_filled_in(external_id: str) -> None:
    """Everyone who comes by such a link would have the same id, and with it the place of the first.

    Raises:
        InvalidInput: the id is a placeholder.
    """
    if is_placeholder(external_id):
        expected = "the id of the participant, which the service that sends people puts in its place"
        problem = Problem(
            "external_id", repr(external_id), expected, wrong="a placeholder that was not filled in", code="placeholder"
        )
        raise InvalidInput("The link was opened without the id of a participant.", [problem])
