"""The error tree: each error with its HTTP status and whether a retry can help.

ParleyError
├── InvalidInput      422  the input is invalid; carries every problem at once
├── NotSignedIn       401
├── NotAllowed        403
├── NotFound          404
├── Conflict          409  valid, but not now: a locked stage, a full cohort, an ended thread
│   └── Paused             by its reason: the experiment is paused
├── ChangedMeanwhile  412  another one has saved a newer version; nothing was stored
├── TooLarge          413
├── TooSoon           429  valid, but only after so many seconds
│   └── TooManyRequests    of one token, key or address
├── Unavailable       503  a part of the lab is away; try again
│   └── GivenUp            the database gave this one statement up, and does others
├── HalfDone          500  a part of what was asked was done; the message says which
└── SettingsInvalid   500  the process cannot start with these settings
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

MISSING_FIELD: Final = "missing_field"
UNKNOWN_FIELD: Final = "unknown_field"
UNKNOWN_NAME: Final = "unknown_name"
REPEATED_ID: Final = "repeated_id"
IN_A_CELL: Final = "in_a_cell"
"""A problem of a workbook, in one of its cells or in the whole file."""
OF_AN_OBJECT: Final = frozenset({MISSING_FIELD, UNKNOWN_FIELD})
IN_WORDS: Final = "in_words"
IN_FULL: Final = OF_AN_OBJECT | {UNKNOWN_NAME, REPEATED_ID, IN_A_CELL, IN_WORDS}
"""The codes of problems whose `wrong` and `hint` say what is wrong and what to type, without `expected`."""


_BLANK: Final = ("nothing", "a blank cell")
_LACK: Final = re.compile(r"(nothing|no|none|neither)\b")
_WITH_A_CLAUSE: Final = re.compile(r", (which|as|whose|where|after|in a|shared|another)\b")


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of some input.

    `where` is the path into the input (`stages[2].questions[0].id`), or a cell of a sheet (`treatments!A2`). `wrong`
    describes the problem where `found` and `expected` are not enough; `hint` is what would mend it. `at` is the place
    for people, with its line and the ids of the parts. `code` and `params` are what a page makes words of its own from;
    a problem with one of the codes `IN_FULL` has all words in `wrong` and `hint`.
    """

    where: str
    found: str
    expected: str
    wrong: str = ""
    hint: str = ""
    at: str = ""
    code: str = ""
    params: Mapping[str, object] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        place = self._before()
        found = "" if self.found in _BLANK else f" (found {self.found})"
        if self.code in IN_FULL:
            return f"{place}{self.wrong}{found if self.code == IN_A_CELL else ''}. {self.hint}"
        wrong = f"{self.wrong}{found}" if self.wrong else self._in_words()
        hint = f" Hint: {self.hint}." if self.hint else ""
        return f"{place}{wrong}. Write {self.expected}.{hint}"

    def _in_words(self) -> str:
        if _LACK.match(self.found):
            return f"this has {self.found}"
        return f"{self.found}{',' if _WITH_A_CLAUSE.search(self.found) else ''} cannot be used here"

    def _before(self) -> str:
        where = self.at or self.place()
        return f"{where}: " if where else ""

    def describe_to_model(self) -> str:
        """The problem of a reply, as a model reads it before it replies again."""
        if self.code in IN_FULL or self.wrong:
            return str(self)
        return f"{self._before()}found {self.found}; expected {self.expected}"

    def place(self) -> str:
        """The path of the part to mend: for a field that is missing or unknown, the object around it."""
        return self.where.rpartition(".")[0] if self.code in OF_AN_OBJECT else self.where


class ParleyError(Exception):
    """Base of all errors that Parley raises on purpose; `code` is stable and part of the API."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    can_retry: ClassVar[bool] = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


MOST_PROBLEMS: Final = 500
"""Keeps answers small; no reader needs more."""


class InvalidInput(ParleyError):
    code = "invalid_input"
    status = 422

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        more = len(problems) - MOST_PROBLEMS
        super().__init__(f"{message} {more} of them are not listed." if more > 0 else message)
        self.problems = tuple(problems[:MOST_PROBLEMS])

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
    """The request is valid but not possible in the present state.

    `reason` is a stable word, and `params` are the values with which a page says it in words of its own.
    """

    code = "conflict"
    status = 409

    def __init__(self, message: str, *, reason: str, params: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.params = dict(params or {})


class Paused(Conflict):
    """The experiment is paused; the input was not stored."""

    def __init__(self) -> None:
        super().__init__("The experiment is paused. Nothing was stored; try again when it goes on.", reason="paused")


class ChangedMeanwhile(ParleyError):
    """`params` say which version there is, who saved it, and when."""

    code = "changed_meanwhile"
    status = 412

    def __init__(self, message: str, *, params: Mapping[str, object]) -> None:
        super().__init__(message)
        self.params = dict(params)


class TooLarge(ParleyError):
    code = "too_large"
    status = 413


class TooSoon(ParleyError):
    code = "too_soon"
    status = 429
    can_retry = True

    def __init__(self, message: str, *, wait_seconds: int) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


class TooManyRequests(TooSoon):
    code = "too_many_requests"


class Unavailable(ParleyError):
    code = "unavailable"
    status = 503
    can_retry = True


class GivenUp(Unavailable):
    """Another try may succeed; one that never does must not hold up other work."""


class HalfDone(ParleyError):
    code = "half_done"
    can_retry = True


class SettingsInvalid(ParleyError):
    code = "settings_invalid"
