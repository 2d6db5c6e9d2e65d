"""The one tree of errors: what went wrong, as which HTTP status, and whether trying again can help.

ParleyError
├── InvalidInput      422  the caller sent something that cannot be right; carries every problem at once
├── NotSignedIn       401
├── NotAllowed        403
├── NotFound          404
├── Conflict          409  right in itself, but not now: a locked stage, a full cohort, an ended thread
├── TooLarge          413
├── Unavailable       503  a part of the lab is away; try again
└── SettingsInvalid   500  the process cannot start with these settings
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with some input.

    `where` is the path into the input (`stages[2].questions[0].id`), or a cell of a sheet (`treatments!A2`). `wrong`
    says in words what is wrong where found and expected do not say it all, `hint` what would mend it.
    """

    where: str
    found: str
    expected: str
    wrong: str = ""
    hint: str = ""

    def __str__(self) -> str:
        if not self.wrong:
            return f"{self.where}: found {self.found}; expected {self.expected}"
        hint = f" Hint: {self.hint}." if self.hint else ""
        return f"{self.where}: {self.wrong}; expected {self.expected}; found {self.found}.{hint}"


class ParleyError(Exception):
    """Base of everything that Parley raises on purpose; `code` is stable and part of the API."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    can_retry: ClassVar[bool] = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidInput(ParleyError):
    code = "invalid_input"
    status = 422

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join([self.message, *(f"  {problem}" for problem in self.problems)])


class NotSignedIn(ParleyError):
    code = "not_signed_in"
    status = 401


class NotAllowed(ParleyError):
    code = "not_allowed"
    status = 403


class NotFound(ParleyError):
    code = "not_found"
    status = 404


class Conflict(ParleyError):
    """The request is right in itself but cannot be done in the present state; `reason` is a stable word."""

    code = "conflict"
    status = 409

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class TooLarge(ParleyError):
    code = "too_large"
    status = 413


class Unavailable(ParleyError):
    code = "unavailable"
    status = 503
    can_retry = True


class SettingsInvalid(ParleyError):
    code = "settings_invalid"
