"""Cursors of live streams and lists: where a reader has come to, as text that survives a reconnect."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.storable import is_storable_text
from parley_lab.experiments.listing import NamedPlace
from parley_lab.store.places import Place

START = "start"
"""The cursor before the first event."""

_LARGEST = 2**62
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def cohort_cursor(cursor: str, cohort_id: UUID) -> int:
    """The position in `<cohort>:<stream_seq>`; `start` is the beginning.

    Raises:
        InvalidInput: it is no cursor of this cohort.
    """
    if cursor == START:
        return 0
    cohort, _, number = cursor.rpartition(":")
    position = _number(number)
    if cohort.lower() != str(cohort_id) or position is None:
        raise _refusal(cursor, f"{cohort_id}:<number>, as the stream has given it")
    return position


def cohort_cursor_text(cohort_id: UUID, position: int) -> str:
    return f"{cohort_id}:{position}"


def experiment_cursor(cursor: str, cohorts: int) -> list[int]:
    """The positions in `<n>.<n>.<n>`, one for each cohort; those at the end may be missing.

    Raises:
        InvalidInput: it is no cursor of an experiment with so many cohorts.
    """
    positions = [] if cursor == START else [_number(part) for part in cursor.split(".")]
    known = [position for position in positions if position is not None]
    if len(known) < len(positions) or len(known) > cohorts:
        raise _refusal(cursor, "numbers joined by points, as the stream has given them")
    return known + [0] * (cohorts - len(known))


def experiment_cursor_text(positions: Iterable[int]) -> str:
    return ".".join(map(str, positions)) or START


def lab_cursor(cursor: str) -> int | None:
    """The number in `s<number>`; None for a cursor of another form."""
    return _number(cursor[1:]) if cursor.startswith("s") else None


def lab_cursor_text(seq: int) -> str:
    return f"s{seq}"


def list_cursor(cursor: str) -> Place:
    """The place in `<microseconds>.<id>`.

    Raises:
        InvalidInput: it is no cursor of a list that is ordered by time.
    """
    microseconds, _, row_id = cursor.partition(".")
    try:
        return Place(_EPOCH + (_number(microseconds) or 0) * _MICROSECOND, UUID(row_id))
    except (ValueError, OverflowError) as error:
        raise _refusal(cursor, "the `next_after` of the page before") from error


def list_cursor_text(place: Place) -> str:
    return f"{(place.created_at - _EPOCH) // _MICROSECOND}.{place.id}"


def name_cursor(cursor: str) -> NamedPlace:
    """The place in `<name>.<id>`, the name in letters of addresses.

    Raises:
        InvalidInput: it is no cursor of a list that is ordered by name.
    """
    name, _, row_id = cursor.rpartition(".")
    expected = "the `next_after` of the page before"
    try:
        place = NamedPlace(urlsafe_b64decode(name.encode()).decode(), UUID(row_id))
    except ValueError as error:
        raise _refusal(cursor, expected) from error
    if not is_storable_text(place.name):
        raise _refusal(cursor, expected)
    return place


def name_cursor_text(place: NamedPlace) -> str:
    return f"{urlsafe_b64encode(place.name.encode()).decode()}.{place.id}"


def _number(text: str) -> int | None:
    if not (text.isascii() and text.isdecimal()) or len(text) > 19:
        return None
    return min(int(text), _LARGEST)


def _refusal(cursor: str, expected: str) -> InvalidInput:
    return InvalidInput("This cursor cannot be used.", [Problem("after", repr(cursor[:80]), expected)])
