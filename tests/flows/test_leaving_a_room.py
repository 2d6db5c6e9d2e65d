"""Every way of leaving a room in which people wait for a group, at three moments, with every rule for those left over.

Each person ends in a named state, and no one waits on. A few drawn cases are for every run, the others are `long`.
"""

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any, Final

import pytest

from parley_lab.store.session import Database
from tests.flows.meeting import Meeting, leave, study, study_at_one_clock

pytestmark = pytest.mark.postgres

WAYS: Final = {
    "leaves": "left",
    "removed": "removed",
    "gone": "released",
    "moved": "in_progress",
    "paused": "paused",
    "time up": "in_progress",
}
"""The state to which each way leads, where those left over go on."""
MOMENTS: Final = ("alone", "beside another", "asked")
"""The person waits alone, beside another one, or is asked to confirm being there."""
RULES: Final = {
    "release": "then: release",
    "go_on": "then: go_on, min_participants: 2",
    "fill": "then: fill, fill_with: ada",
}
AT_MOST: Final = 100.0
FOR_EVERY_RUN: Final = 2


def _params() -> Iterator[Any]:
    found = list(product(WAYS, MOMENTS, RULES))
    drawn = Random(15).sample(found, FOR_EVERY_RUN)
    for one in found:
        marks = [] if one in drawn else [pytest.mark.long]
        yield pytest.param(*one, id="-".join(one).replace(" ", "_"), marks=marks)


@pytest.mark.parametrize(("way", "moment", "then"), list(_params()))
async def test_a_person_who_waits_for_a_group_ends_in_a_named_state(
    database: Database, way: str, moment: str, then: str
) -> None:
    seconds = f"at_most_seconds: {AT_MOST:g}"
    document = study(people=2, progress=f"{seconds}, {RULES[then]}", match="{confirm_seconds: 20}")
    async with study_at_one_clock(database, document) as meeting:
        group = await a_group(meeting)
        person = await meeting.come("A")
        others = [] if moment == "alone" else [await meeting.come("B")]
        await (meeting.look() if moment == "asked" else meeting.lab.drain())

        await leave(meeting, way, person, group)
        there = [*others, *([person] if way == "time up" else [])]
        for _ in range(13):
            await meeting.pass_time(10, *there)
            for one in there:
                await one.post("/v1/me/confirm", {})

        ends = await meeting.ends()
        expected = "released" if (way, then) == ("time up", "release") and moment == "alone" else WAYS[way]
        assert ends["A"] == expected
        assert ends.get("B", "released") in ("released", "in_progress")
        assert await still_waiting(meeting) == []
        (await person.get("/v1/me"))["status"]


async def a_group(meeting: Meeting) -> str:
    """The id of a group that was made before."""
    people = [await meeting.come("C"), await meeting.come("D")]
    await meeting.look()
    for one in people:
        await one.post("/v1/me/confirm", {})
    await meeting.look()
    (made,) = await meeting.lab.rows("SELECT cohort_id FROM matches")
    return str(made.cohort_id)


async def still_waiting(meeting: Meeting) -> list[str]:
    """The names of people who are in no group and whose part goes on."""
    rows = await meeting.lab.rows(
        "SELECT m.profile ->> 'name' AS name FROM members m JOIN cohorts c ON c.id = m.cohort_id "
        "WHERE c.alone AND m.status IN ('in_progress', 'attention_check', 'transfer_pending')"
    )
    return [row.name for row in rows]
