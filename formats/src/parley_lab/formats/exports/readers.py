"""The texts of an arm as a participant read them, for the words in the tables: with assigned values and own answers."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from parley_lab.design import Resolved, values_of
from parley_lab.kinds import PAGE, Json
from parley_lab.members.reader_texts import known_values, reader_roles
from parley_lab.views.builder import Facts, People


class ReadFor:
    """An arm as one participant read it. The last one is kept: the rows of a participant follow each other."""

    def __init__(self, arms: Mapping[str, Resolved]) -> None:
        self._arms = arms
        self._last: tuple[UUID, str] | None = None
        self._read: Resolved | None = None

    @property
    def names_answers(self) -> bool:
        """Whether a text names what its reader has answered, or is for some roles only."""
        return any(arm.unfilled for arm in self._arms.values())

    def __call__(self, row: Mapping[str, Any], treatment: str) -> Resolved:
        """The arm for the participant of this row, which has `assigned`, `pages` and `results`."""
        arm = self._arms[treatment]
        if not arm.unfilled:
            return arm
        if self._read is None or self._last != (row["member_id"], treatment):
            self._last, self._read = (row["member_id"], treatment), _read(row, arm)
        return self._read


def _read(row: Mapping[str, Any], arm: Resolved) -> Resolved:
    member: UUID = row["member_id"]
    pages: Mapping[str, Json] = row["pages"] or {}
    facts = Facts(
        people=People(()),
        results=row["results"] or {},
        stages=arm.by_id,
        answers={stage_id: {member: {PAGE: page}} for stage_id, page in pages.items()},
    )
    # A member whom a text names is there by id, as in all tables.
    assigned = values_of(row["assigned"])
    told = {name: value for name, (_, value) in known_values(arm, facts, member, assigned).items()}
    return arm.for_reader({**assigned, **told}, reader_roles(arm, facts, member))
