"""Lab staff add groups to an experiment that runs: each like a group of the file, after all others."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base import seeds
from parley_lab.base.errors import Conflict, InvalidInput, Paused, Problem
from parley_lab.design import MAX_MEMBERS, CohortAssignment, Experiment, SeatAssignment, allocate
from parley_lab.design.treatments import treatment_named
from parley_lab.members.designs import design
from parley_lab.people.assigning import given_at_opening
from parley_lab.people.making import arm_of, make_cohorts
from parley_lab.people.own_arms import draw_own_arm, lock_draws
from parley_lab.store.session import Session

_HAS_DRAWS: Final = text("SELECT FROM joining WHERE experiment_id = :experiment_id")
_EXPERIMENT: Final = """
    SELECT id, status, seed, pace, model_mode, language, is_test, version, document
    FROM experiments WHERE id = :experiment_id
"""
# A pause and the end of the experiment take a lock on this row that waits for both of these.
_HOLD: Final = text(f"{_EXPERIMENT} FOR SHARE")
# An experiment that no one joins has no draws to lock: of two who add at once the second waits here.
_LOCK: Final = text(f"{_EXPERIMENT} FOR NO KEY UPDATE")
_COHORTS: Final = text(
    """
    SELECT c.path, c.treatment_id, (SELECT count(*) FROM members m WHERE m.cohort_id = c.id) AS members
    FROM cohorts c WHERE c.experiment_id = :experiment_id
    """
)


_MADE_TOGETHER: Final = (
    "The lab makes the groups of this file of people who are there (`made: when_together`), so none can be added by "
    "hand. It makes as many as `count` says in the file. For more, raise `count` and start the experiment anew."
)
_STATUS: Final = text("SELECT status FROM experiments WHERE id = :experiment_id")


def _require_running(status: str) -> None:
    if status == "paused":
        raise Paused
    if status != "running":
        raise Conflict("This experiment is not running.", reason="not_running")


async def add_groups(
    session: Session, experiment_id: UUID, count: int, arm: str | None, now: datetime, *, actor: str
) -> list[UUID]:
    """The ids of so many new groups of this arm; None: each of the arm that has the fewest groups then.

    The lock of draws is held, or that of the experiment: of two who add at once, the second comes after the groups of
    the first.

    Raises:
        NotFound: there is no such arm.
        InvalidInput: no group of the file can be added to, its groups are made of people who are there, or there would
            be too many members.
        Paused: the experiment is paused.
        Conflict: it does not run.
    """
    # One that has not begun has no draws to lock.
    _require_running((await session.one(_STATUS, {"experiment_id": experiment_id})).status)
    has_draws = await session.first(_HAS_DRAWS, {"experiment_id": experiment_id}) is not None
    if has_draws:
        await lock_draws(session, experiment_id)
    row = await session.one(_HOLD if has_draws else _LOCK, {"experiment_id": experiment_id})
    _require_running(row.status)
    experiment = Experiment.model_validate(row.document)
    if arm is not None:
        treatment_named(experiment, arm)
    plan = allocate(experiment, row.seed)
    there = await session.all(_COHORTS, {"experiment_id": experiment_id})
    patterns = _patterns(plan, arm)
    used = Counter(one.treatment_id for one in there)
    # Groups that are still made by people who come have their numbers already.
    last = max(_number(one.path) for one in (*plan, *there))
    added = _added(patterns, used, count, last, actor)
    if sum(one.members for one in there) + sum(len(one.seats) + len(one.mediators) for one in added) > MAX_MEMBERS:
        problem = Problem("count", str(count), f"groups with which there are at most {MAX_MEMBERS} members")
        raise InvalidInput("So many groups cannot be added.", [problem])
    for like in added:
        cohort = await _with_own_arms(session, experiment_id, like)
        given = await given_at_opening(session, row.document.get("assigned") or [], experiment_id, row.seed, cohort)
        arms = {arm_of(cohort), *cohort.own_arms}
        designs = {one: await design(session, experiment_id, row.version, one) for one in sorted(arms)}
        await make_cohorts(session, row, [cohort], designs, given, now)
    return [seeds.row_id(experiment_id, cohort.path) for cohort in added]


def _patterns(plan: Sequence[CohortAssignment], arm: str | None) -> Mapping[str, CohortAssignment]:
    """The first group of each arm, or of this one."""
    found: dict[str, CohortAssignment] = {}
    for cohort in plan:
        if arm in (None, cohort.treatment_id):
            found.setdefault(arm_of(cohort), cohort)
    # They have numbers of their own.
    if any(cohort.together for cohort in plan):
        raise InvalidInput(_MADE_TOGETHER)
    if not found:
        problem = Problem("treatment", repr(arm), "the arm of a group of the file")
        raise InvalidInput("No group of the file is like that.", [problem])
    return found


def _added(
    patterns: Mapping[str, CohortAssignment], used: Counter[str], count: int, last: int, actor: str
) -> list[CohortAssignment]:
    added = []
    for number in range(last + 1, last + 1 + count):
        arm = min(patterns, key=lambda one: used[one])
        used[arm] += 1
        added.append(_like(patterns[arm], f"c{number}", actor))
    return added


def _like(cohort: CohortAssignment, path: str, actor: str) -> CohortAssignment:
    return replace(
        cohort,
        path=path,
        name=path,
        seats=tuple(replace(one, path=_below(path, one.path)) for one in cohort.seats),
        mediators=tuple(replace(one, path=_below(path, one.path)) for one in cohort.mediators),
        allocated={"rule": "added", "by": actor},
        on_arrival=False,
    )


async def _with_own_arms(session: Session, experiment_id: UUID, cohort: CohortAssignment) -> CohortAssignment:
    """The group with an arm that is drawn now for each agent whose arm the file does not name."""
    return replace(cohort, seats=tuple([await _with_own_arm(session, experiment_id, one) for one in cohort.seats]))


async def _with_own_arm(session: Session, experiment_id: UUID, seat: SeatAssignment) -> SeatAssignment:
    if seat.treatment_id is None or seat.allocated["rule"] == "named":
        return seat
    own = await draw_own_arm(session, experiment_id)
    return seat if own is None else replace(seat, treatment_id=own.id, allocated=own.how)


def _below(path: str, seat: str) -> str:
    return f"{path}/{seat.partition('/')[2]}"


def _number(path: str) -> int:
    return int(path.removeprefix("c"))
