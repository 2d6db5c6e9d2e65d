"""What a view holds for whom: one rule for settling, pages, prompts and data."""

import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import pytest

from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import PAGE
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.stages import read_stage
from parley_lab.views.builder import Facts, People, by_tag, lab_view, own_view, public_view

SPACE = UUID(int=7)
ROOT = Path(__file__).parents[3]
MAKES = re.compile(r"(?<!class )\b(?:Own|Lab)?View\(|(?<!class )\bMember\(")
WAY = ("first", "chat", "alone", "last")
FIRST = read_stage({"kind": "survey", "id": "first", "questions": [{"kind": "text", "id": "q", "title": "Q?"}]})
CHAT = read_stage({"kind": "group_chat", "id": "chat"})
ALONE = read_stage({"kind": "private_chat", "id": "alone"})
LAST = read_stage({"kind": "survey", "id": "last", "questions": [{"kind": "text", "id": "q", "title": "Q?"}]})


def row(name: str, at: int, **changes: Any) -> Attendee:
    fields: dict[str, Any] = {
        "id": uuid5(SPACE, name),
        "path": f"c1/{name}",
        "kind": "participant",
        "player": "agent",
        "status": "in_progress",
        "stage_ids": WAY,
        "position": at,
        "profile": Profile(name=name).model_dump(),
        "persona": f"persona-of-{name}",
        "script": {"matrix_game": {"policy": "TFT"}},
    }
    return Attendee(**{**fields, **changes})


ANA, BEN, CAI = row("ana", 2), row("ben", 2, player="person"), row("cai", 1)
DAN = row("dan", 1, status="removed")
EVE = row("eve", 0, status="left")
MO = row("mo", 0, kind="mediator")
EVERYBODY = (ANA, BEN, CAI, DAN, EVE, MO)


def facts(*rows: Attendee, **fields: Any) -> Facts:
    return Facts(people=People(rows or EVERYBODY), **fields)


def met(known: Facts, stage: Any, reader: Attendee) -> list[str]:
    return [one.name for one in own_view(known, stage, reader.id).members]


def test_a_member_sees_neither_who_plays_others_nor_persona_and_script() -> None:
    view = own_view(facts(), CHAT, ANA.id)
    others = [one for one in view.members if one.id != ANA.id]

    assert {(one.player, one.persona) for one in others} == {("hidden", "")}
    assert not any(one.script for one in others)
    assert view.me in view.members
    assert (view.me.player, view.me.persona, view.me.script) == ("agent", "persona-of-ana", ANA.script)


def test_the_lab_sees_who_plays_whom() -> None:
    members = public_view(facts(), CHAT).members

    assert [(one.player, one.persona) for one in members[:2]] == [
        ("agent", "persona-of-ana"),
        ("person", "persona-of-ben"),
    ]


def test_whom_one_meets_has_come_or_may_still_come() -> None:
    assert met(facts(), ALONE, ANA) == ["ana", "mo"]
    assert met(facts(), LAST, ANA) == ["ana", "ben", "cai", "mo"]
    assert met(facts(), CHAT, CAI) == ["ana", "ben", "cai", "dan", "mo"]


def test_looked_back_at_a_stage_has_the_people_who_came_to_it() -> None:
    late = row("fay", 0)

    assert met(facts(*EVERYBODY, late), CHAT, ANA) == ["ana", "ben", "cai", "dan", "mo"]
    assert met(facts(*EVERYBODY, late), CHAT, CAI) == ["ana", "ben", "cai", "dan", "mo", "fay"]


def test_a_mediator_meets_in_private_the_one_with_whom_it_is_alone() -> None:
    assert met(facts(at="alone", partner=BEN.id), ALONE, MO) == ["ben", "mo"]
    assert met(facts(at="last"), ALONE, MO) == ["mo"]


ANSWERS = {"first": {one.id: {PAGE: {"q": one.path}, "question:q": one.path} for one in (ANA, BEN, CAI, DAN)}}


def test_own_answers_are_there_and_of_others_none() -> None:
    known = facts(answers=ANSWERS, over=WAY, whole=WAY)

    view = own_view(known, FIRST, ANA.id)

    assert view.own == {PAGE: {"q": "c1/ana"}, "question:q": "c1/ana"}
    assert view.shown == {}
    assert own_view(known, CHAT, ANA.id).earlier == {"first": {"q": "c1/ana"}}
    assert own_view(known, FIRST, ANA.id).earlier == {}
    assert lab_view(known, FIRST).answer(CAI.id, "question:q") == "c1/cai"


def shown(known: Facts, reader: Attendee, audience: str) -> set[str]:
    told = FIRST.model_copy(update={"audience": audience})
    return {page["q"].removeprefix("c1/") for page in own_view(known, told, reader.id).shown.values()}


def test_answers_for_the_cohort_are_read_when_the_stage_is_over_by_who_has_it_behind_them() -> None:
    late = row("fay", 0)
    known = facts(*EVERYBODY, late, answers=ANSWERS, at=None)

    assert shown(known, ANA, "cohort") == shown(known, MO, "cohort") == set()
    assert shown(replace(known, over=("first",)), ANA, "cohort") == {"ben", "cai", "dan"}
    assert shown(replace(known, over=("first",), at="chat"), MO, "cohort") == {"ana", "ben", "cai", "dan"}
    assert shown(replace(known, over=("first",)), late, "cohort") == set()
    assert shown(replace(known, over=("first",)), DAN, "cohort") == set()


def test_answers_for_mediators_are_read_by_them_alone() -> None:
    known = facts(answers=ANSWERS, over=WAY)

    assert shown(known, ANA, "mediators") == shown(known, CAI, "mediators") == set()
    assert shown(replace(known, at="chat"), MO, "mediators") == {"ana", "ben", "cai", "dan"}
    assert shown(replace(known, at="first"), MO, "mediators") == set()


def test_the_lab_has_no_view_of_answers_that_were_not_all_read() -> None:
    with pytest.raises(ValueError, match="'first' were not read"):
        lab_view(facts(answers={"first": {ANA.id: {PAGE: {}}}}), FIRST)


def test_as_of_a_number_later_answers_are_not_known() -> None:
    answers = {"last": {ANA.id: {"question:a": 1, "question:b": 2, "question:c": 3}}}
    counted = {"last": {(ANA.id, "question:a"): 4, (ANA.id, "question:b"): 5, (ANA.id, "question:c"): None}}
    known = facts(answers=answers, counted_at=counted)

    assert own_view(known, LAST, ANA.id, as_of=4).own == {"question:a": 1}
    assert own_view(known, LAST, ANA.id).own == answers["last"][ANA.id]


def test_nothing_else_makes_a_view_or_a_member() -> None:
    """Look-backs and previews were wrong wherever a view was put together by hand."""
    found = [path.relative_to(ROOT) for path in ROOT.glob("**/src/**/*.py")]
    sources = [path for path in found if not {"tests", "testing", ".venv"} & {*path.parts}]
    makers = {str(path) for path in sources if MAKES.search((ROOT / path).read_text())}

    assert len(sources) > 100
    assert makers == {"shared/src/parley_lab/views/builder.py"}


def test_someone_is_present_where_they_are_and_awaited_where_they_may_still_come() -> None:
    by_stage = {stage_id: {one.name: one for one in People(EVERYBODY).on(stage_id)} for stage_id in WAY}

    assert [stage_id for stage_id in WAY if by_stage[stage_id]["ana"].present] == ["alone"]
    assert [stage_id for stage_id in WAY if by_stage[stage_id]["ana"].awaited] == ["last"]
    assert all(by_stage[stage_id]["mo"].present and not by_stage[stage_id]["mo"].awaited for stage_id in WAY)
    assert not any(
        by_stage[stage_id][gone].present or by_stage[stage_id][gone].awaited
        for stage_id in WAY
        for gone in ("dan", "eve")
    )


def test_no_list_of_members_tells_where_one_sits() -> None:
    seats = [row(f"m{number}", 1) for number in (1, 2, 3)]

    def shown(seed: int, *rows: Attendee) -> tuple[str, ...]:
        view = own_view(Facts(people=by_tag(seed, rows)), CHAT, seats[0].id)
        return tuple(one.name for one in view.members)

    orders = [shown(seed, *seats) for seed in range(300)]

    assert orders == [shown(seed, *reversed(seats)) for seed in range(300)]
    assert all(orders.count(order) > 25 for order in permutations(("m1", "m2", "m3")))


def test_a_seat_is_known_to_the_lab_alone() -> None:
    rows = facts(*(row(f"m{number}", 1) for number in (1, 2, 11)), MO, whole=("chat",))

    assert [one.seat for one in lab_view(rows, CHAT).members] == [1, 2, 11, None]
    view = own_view(rows, CHAT, rows.people.rows[0].id)
    assert {one.seat for one in (view.me, *view.members)} == {None}
