"""Checks a file whose groups are made of those who are there: each goes through the stages before it alone.

What a person did before would stay behind if it belonged to a cohort, so those stages are such on which each is alone.
An arm of a group is drawn when it is made, so all arms are the same up to there.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product, takewhile
from typing import Any, Final

from parley_lab.base import variables as texts
from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import one_of, unknown
from parley_lab.contracts.assigned import Assigned, Balanced, ByCohort, Permutation
from parley_lab.contracts.experiment import CohortPlan, StageConfig, Treatment
from parley_lab.design import conditions, matching
from parley_lab.design import treatments as arm
from parley_lab.design.own_arms import why_shared
from parley_lab.kinds.parts import plays_together
from parley_lab.kinds.stages import parts_of

Json = Any
_BEFORE: Final = "a stage that each goes through alone: people meet at {stage!r}"
_NOT_LEFT_OUT: Final = "a stage that is not left out: people meet at {stage!r}"
_ALIKE: Final = "the same in all arms: the arm of a group is drawn at {stage!r}"


@dataclass(frozen=True)
class Meeting:
    """The valid parts of the file by position, and the plan whose groups are made at a stage."""

    stages: Mapping[int, StageConfig]
    cohorts: Mapping[int, CohortPlan]
    treatments: Mapping[int, Treatment]
    assigned: Sequence[Assigned]
    by_participant: bool

    @property
    def in_order(self) -> list[StageConfig]:
        return [self.stages[place] for place in sorted(self.stages)]


def problems(file: Meeting) -> Iterator[Problem]:
    """What is wrong with plans whose groups are made at a stage, and with the stages before it."""
    meeting = [index for index, plan in file.cohorts.items() if plan.made == "when_together"]
    for index, plan in file.cohorts.items():
        yield from _of_plan(f"cohorts[{index}]", plan, file)
        yield from matching.problems(f"cohorts[{index}]", _matched(plan, file))
    for index in meeting[:1]:
        yield from _beside(index, file)
        meetings = file.cohorts[index].meetings
        if meetings and all(any(one.id == stage_id for one in file.in_order) for stage_id in meetings):
            yield from _left_out(meetings, file)
            yield from _before(meetings[0], file)
            yield from _of_rules(meetings[0], file)
            yield from _again(f"cohorts[{index}]", meetings, file)


def _matched(plan: CohortPlan, file: Meeting) -> matching.Matched:
    ids = [one.id for one in file.in_order]
    ahead = _ahead_of(plan.meetings[0], file) if plan.meetings and plan.meetings[0] in ids else []
    own = [one for one in file.assigned if not _is_of_cohort(one)]
    return matching.Matched(plan, ahead, own, [one.id for one in file.treatments.values()])


def _of_plan(where: str, plan: CohortPlan, file: Meeting) -> Iterator[Problem]:
    ids = [one.id for one in file.in_order]
    if plan.made != "when_together":
        if plan.at is not None:
            yield Problem(f"{where}.at", repr(plan.at), "`made: when_together` beside it, which it is for")
        return
    if not plan.people:
        yield Problem(f"{where}.made", "when_together", "a seat with `open: true`: the group is made of people")
    if plan.groups_of is not None:
        yield Problem(f"{where}.groups_of", str(plan.groups_of), "nothing beside `made: when_together`")
    if plan.at is None:
        yield Problem(f"{where}.at", "nothing", f"the stage where people meet: {one_of('', ids, 'stage')}")
    for stage_id in plan.meetings:
        if stage_id not in ids:
            yield unknown(f"{where}.at", stage_id, ids, "stage")
        elif plan.match is not None and plan.match.grows_to is not None:
            yield from _growing(f"{where}.match.grows_to", file.stages[_place(stage_id, file)], plan.match.grows_to)
    for number, seat in enumerate(plan.seats):
        if seat.open and seat.treatment is not None:
            expected = "nothing: people get their arms when they join, and seats when they meet"
            yield Problem(f"{where}.seats[{number}].treatment", repr(seat.treatment), expected)


def _growing(where: str, stage: StageConfig, people: int) -> Iterator[Problem]:
    """A stage that people cannot join when it has begun, or not so many."""
    parts = parts_of(stage)
    if plays_together(parts):
        found = f"the {stage.kind} {stage.id!r}, where people meet"
        yield Problem(where, found, "a stage that people may join when it has begun, such as a conversation")
    elif parts.players[1] is not None and parts.players[1] < people:
        yield Problem(where, str(people), f"at most {parts.players[1]}, as the stage {stage.id!r}")


def _beside(index: int, file: Meeting) -> Iterator[Problem]:
    """Other places for people: no rule says who goes there."""
    for other, plan in file.cohorts.items():
        if other != index and plan.people:
            found = f"seats for people beside cohorts[{index}]"
            yield Problem(f"cohorts[{other}].seats", found, "seats of agents: people join to meet in one plan")
    for number, one in enumerate(file.assigned):
        if isinstance(one, Balanced) and one.across == "cohort":
            expected = "experiment: people come before their group is made"
            yield Problem(f"assigned[{number}].across", "cohort", expected)


def _arms_apart(meetings: Sequence[str], file: Meeting) -> Iterator[Problem]:
    """Arms of participants that have a stage on another side of a meeting: those who meet would not all come there."""
    usual = _sides(file.in_order, meetings)
    for index, treatment in file.treatments.items() if file.by_participant else ():
        with suppress(KeyError, StopIteration):
            whole = treatment.model_copy(update={"leave_out": ()})
            own = _sides(arm.in_order(file.in_order, whole), meetings)
            if moved := [one for one in usual if own[one] != usual[one]]:
                found = f"{', '.join(moved)} on another side of {' or '.join(map(repr, meetings))}, where people meet"
                yield Problem(f"treatments[{index}].order", found, "orders that keep stages on one side of a meeting")


def _sides(in_order: Sequence[StageConfig], meetings: Sequence[str]) -> dict[str, int]:
    """How many meetings have begun on each stage, by its id."""
    ids = [one.id for one in in_order]
    places = [ids.index(one) for one in meetings]
    return {one: _group_at(place, places) for place, one in enumerate(ids)}


def _before(stage_id: str, file: Meeting) -> Iterator[Problem]:
    ahead = _ahead_of(stage_id, file)
    of_cohort = {name for one in file.assigned if _is_of_cohort(one) for name in one.names}
    for stage in ahead:
        place = f"stages[{_place(stage.id, file)}]"
        if (why := why_shared(stage, ahead)) is not None:
            yield Problem(place, f"the {stage.kind} {stage.id!r}, {why}", _BEFORE.format(stage=stage_id))
        for where, name in texts.places(stage.model_dump(mode="json"), place):
            if name.partition(".")[0] in of_cohort:
                expected = f"a value that a person has before there is a group, which is made at {stage_id!r}"
                yield Problem(where, f"`{{{{{name}}}}}`, which a cohort has", expected)
    for index, treatment in file.treatments.items():
        yield from _of_arm(f"treatments[{index}]", stage_id, ahead, treatment, file)


def _ahead_of(stage_id: str, file: Meeting) -> Sequence[StageConfig]:
    return list(takewhile(lambda one: one.id != stage_id, file.in_order))


def _left_out(meetings: Sequence[str], file: Meeting) -> Iterator[Problem]:
    """Rules and arms that leave out a stage where people meet, and orders: some of a group would not come there."""
    for stage_id in meetings:
        found = f"a rule of {stage_id!r}, where people meet"
        expected = "no rule: everybody comes to the stage where groups are made; give the rule to a stage after it"
        place = _place(stage_id, file)
        if file.stages[place].show_if is not None:
            yield Problem(f"stages[{place}].show_if", found, expected)
        for index, treatment in file.treatments.items():
            if treatment.stages.get(stage_id, {}).get(conditions.FIELD) is not None:
                yield Problem(f"treatments[{index}].stages.{stage_id}.{conditions.FIELD}", found, expected)
    for stage_id, (index, treatment) in product(meetings[1:], file.treatments.items()):
        if stage_id in treatment.leave_out:
            yield Problem(f"treatments[{index}].leave_out", repr(stage_id), _NOT_LEFT_OUT.format(stage=stage_id))
    yield from _own_orders(meetings, file)
    yield from _arms_apart(meetings, file)


def _own_orders(meetings: Sequence[str], file: Meeting) -> Iterator[Problem]:
    """Blocks in an order of each participant, some stages of which are on the other side of a meeting."""
    ordered = {one.block for one in file.assigned if isinstance(one, Permutation)}
    places = [_place(stage_id, file) for stage_id in meetings]
    for block in sorted(filter(None, ordered)):
        mine = [place for place, stage in sorted(file.stages.items()) if stage.block == block]
        for place in mine:
            where = f"stages[{place}].block"
            if place in places:
                expected = "a stage outside the block: people come to it at different times"
                yield Problem(where, f"{file.stages[place].id!r}, where people meet", expected)
            elif _group_at(place, places) != _group_at(mine[0], places):
                meeting = file.stages[places[_group_at(mine[0], places)]].id
                found = f"a stage after {meeting!r}, in a block that begins before it"
                yield Problem(
                    where, found, f"another block: people meet at {meeting!r} after the whole block, or before it"
                )


def _of_rules(stage_id: str, file: Meeting) -> Iterator[Problem]:
    """Rules over the arm of a group, on the stages before there is one."""
    if file.by_participant:
        return
    of_arms = {name for treatment in file.treatments.values() for name in treatment.variables}
    expected = f"`allocation: {{by: participant}}`, or the rule on a stage after {stage_id!r}, where the arm is drawn"
    for stage in _ahead_of(stage_id, file):
        for where, one in conditions.compared(stage.model_dump(mode="json"), f"stages[{_place(stage.id, file)}]"):
            is_of_arm = one.subject == "variable" and one.name.partition(".")[0] in of_arms
            if is_of_arm or one.subject in ("treatment", "factor"):
                yield Problem(f"{where}.{one.subject}", f"{one.name!r}, which a group has", expected)


def _again(where: str, meetings: Sequence[str], file: Meeting) -> Iterator[Problem]:
    """What is wrong with stages at which people meet anew."""
    plan = next(one for one in file.cohorts.values() if one.made == "when_together")
    if plan.match is not None and plan.match.never_again and len(meetings) == 1:
        yield Problem(f"{where}.match.never_again", "true", "several stages in `at`, at which people meet anew")
    if len(meetings) == 1:
        return
    ids = [one.id for one in file.in_order]
    places = [ids.index(one) for one in meetings]
    if places != sorted({*places}):
        yield Problem(f"{where}.at", ", ".join(meetings), "each stage once, in the order of the file")
        return
    if file.treatments and not file.by_participant and plan.treatment is None:
        expected = "`allocation: {by: participant}`, or a `treatment` of the plan: an arm goes along with the person"
        yield Problem(f"{where}.at", "several stages with arms of groups", expected)
    for stage in file.in_order[places[1] :]:
        for read in parts_of(stage).reads:
            if (
                read.everybody
                and read.stage in ids
                and _group_at(ids.index(read.stage), places) != _group_at(ids.index(stage.id), places)
            ):
                found = f"{read.stage!r}, where people were in another group"
                yield Problem(f"stages[{_place(stage.id, file)}].{read.where}", found, "a stage of the same group")


def _group_at(place: int, meetings: Sequence[int]) -> int:
    """The number of the group in which people are at this stage; 0 before the first."""
    return sum(place >= one for one in meetings)


def _place(stage_id: str, file: Meeting) -> int:
    return next(place for place, one in file.stages.items() if one.id == stage_id)


def _is_of_cohort(one: Assigned) -> bool:
    return isinstance(one, ByCohort) or (isinstance(one, Permutation) and one.scope == "cohort")


def _of_arm(
    where: str, stage_id: str, ahead: Sequence[StageConfig], treatment: Treatment, file: Meeting
) -> Iterator[Problem]:
    """What an arm changes up to the stage. Arms of participants are drawn at joining, so there only the way to it."""
    expected = _ALIKE.format(stage=stage_id)
    if stage_id in treatment.leave_out:
        yield Problem(f"{where}.leave_out", repr(stage_id), _NOT_LEFT_OUT.format(stage=stage_id))
        return
    if file.by_participant:
        return
    ids = [one.id for one in ahead]
    for one in ahead:
        if one.id in treatment.stages:
            yield Problem(f"{where}.stages.{one.id}", f"a change of the stage {one.id!r}, which is before it", expected)
        if one.id in treatment.leave_out:
            yield Problem(f"{where}.leave_out", f"the stage {one.id!r}, which is before it", expected)
    yield from _order(where, stage_id, ids, treatment, file)
    named = {name.partition(".")[0] for one in ahead for _, name in texts.places(one.model_dump(mode="json"))}
    for name in sorted(named & {*treatment.variables}):
        yield Problem(f"{where}.variables.{name}", "a variable of stages before it", expected)


def _order(where: str, stage_id: str, ids: Sequence[str], treatment: Treatment, file: Meeting) -> Iterator[Problem]:
    known = {one.id for one in file.in_order}
    if any(one not in known for order in treatment.order.values() for one in order):
        return
    try:
        moved = [one.id for one in arm.in_order(file.in_order, treatment) if one.id not in treatment.leave_out]
    except (KeyError, StopIteration):
        return
    usual = [one for one in ids if one not in treatment.leave_out]
    if moved[: moved.index(stage_id)] != usual:
        found = f"{', '.join(moved[: moved.index(stage_id)]) or 'nothing'} before {stage_id!r}"
        yield Problem(f"{where}.order", found, f"{', '.join(usual) or 'nothing'} there in all arms")
