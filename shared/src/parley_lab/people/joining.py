"""People who join: each draws an arm, where there are several, and takes a seat of it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from secrets import token_urlsafe
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import record_member
from parley_lab.base.errors import Conflict, InvalidInput, NotFound, Paused, Problem
from parley_lab.contracts.allocation import Allocation
from parley_lab.contracts.experiment import Profile
from parley_lab.contracts.hints import ORCHESTRATOR, Hint
from parley_lab.contracts.lives import STILL_IN
from parley_lab.design import CohortAssignment, Experiment, draw_arm
from parley_lab.members.alerts import raise_alert
from parley_lab.members.completions import place_taken, study_full
from parley_lab.members.forgetting import hash_of_id, keyed
from parley_lab.members.names import tell_apart
from parley_lab.members.person_ids import comparable, is_person
from parley_lab.members.standings import hash_token
from parley_lab.people.assigning import arrive
from parley_lab.people.attention import Whose, arm_schedule
from parley_lab.people.giving_back import give_back
from parley_lab.people.guests import person_of, require_guest
from parley_lab.people.link_values import filled_in, require_filled_in
from parley_lab.people.opening import may_be_opened, open_next
from parley_lab.people.own_arms import give_own_arm, keep_draws, lock_draws
from parley_lab.people.presence import free_seats_of_gone
from parley_lab.people.rooms import has_room, make_alone
from parley_lab.store import tables
from parley_lab.store.facts import Event
from parley_lab.store.session import Session
from parley_lab.store.statements import Row, as_json


async def prepare(
    session: Session, experiment_id: UUID, experiment: Experiment, plan: Sequence[CohortAssignment]
) -> None:
    """Store by which rule people will join; nothing where every seat is taken from the beginning, and lab staff can
    add no one who would draw an arm."""
    # Groups that are made of those who are there draw their arms themselves.
    arms = {
        cohort.treatment_id
        for cohort in plan
        if not cohort.together and any(seat.persona_id is None for seat in cohort.seats)
    }
    if not arms and not any(cohort.together for cohort in plan) and experiment.allocation.by == "cohort":
        return
    rule = "one_arm" if experiment.joining == "drawn" and len(arms) <= 1 else experiment.joining
    await session.insert(tables.joining, [{"experiment_id": experiment_id, "rule": rule}])


# The first seat in the order of the file; c10 comes after c2. An experiment may have thousands of cohorts of one, and
# people come before Postgres has statistics: each open seat has its cohort looked up by its id (OFFSET keeps that), and
# those that have begun are read once.
_TAKE: Final = """
    UPDATE members SET status = 'in_progress', token_hash = :token_hash, joined_at = :now, arrived_at = :now,
        joins = 1, external_id = :external_id, compared_id = :compared, parameters = CAST(:parameters AS jsonb),
        version = version + 1, profile = profile || CAST(:profile AS jsonb), joining = CAST(:joining AS jsonb)
    WHERE id = (
        SELECT m.id
        FROM members m CROSS JOIN LATERAL (
            SELECT c.path FROM cohorts c
            WHERE c.id = m.cohort_id AND NOT c.locked AND c.status = 'running'
                AND (CAST(:arm AS text) IS NULL OR c.treatment_id = :arm)
            OFFSET 0
        ) c
        WHERE m.experiment_id = :experiment_id AND m.status = 'expected'
            AND (CAST(:cohort_id AS uuid) IS NULL OR m.cohort_id = :cohort_id)
        ORDER BY NOT (CAST(:in_order AS boolean) OR m.cohort_id IN (
                SELECT o.cohort_id FROM members o
                WHERE o.experiment_id = :experiment_id AND o.player = 'person' AND o.status <> 'expected'
            )), length(c.path), c.path COLLATE "C", length(m.path), m.path COLLATE "C"
        LIMIT 1
        FOR NO KEY UPDATE OF m {locked}
    )
    RETURNING id, cohort_id, path
"""
_TAKE_SEAT: Final = text(_TAKE.format(locked="SKIP LOCKED"))
# Waits for one seat after the other: a pause holds all for a moment, and the join of another person may be undone.
_TAKE_SEAT_THAT_IS_HELD: Final = text(_TAKE.format(locked=""))
_EXPERIMENT = text(
    """
    SELECT e.status, e.seed, e.document -> 'assigned' AS assigned, e.document ->> 'rejoin' AS rejoin,
        e.document -> 'allocation' AS allocation, e.document -> 'join' -> 'parameters' AS parameters, e.secret, j.rule
    FROM experiments e LEFT JOIN joining j ON j.experiment_id = e.id
    WHERE e.id = :experiment_id
    """
)
_PLACES = text(
    """
    SELECT c.treatment_id AS arm FROM members m JOIN cohorts c ON c.id = m.cohort_id
    WHERE m.experiment_id = :experiment_id AND m.status = 'expected' AND NOT c.locked AND c.status = 'running'
    UNION SELECT treatment_id FROM planned_cohorts WHERE experiment_id = :experiment_id
    """
)


async def join(
    session: Session,
    experiment_id: UUID,
    now: datetime,
    *,
    cohort_id: UUID | None,
    profile: Profile | None,
    external_id: str | None = None,
    parameters: Mapping[str, str] | None = None,
    old_token: str | None = None,
) -> tuple[UUID, str]:
    """Take an open seat, in the cohort that is named or by the rule of the experiment; the member's id, and the token,
    which is shown this once.

    A person who has joined with this `external_id` gets their place back, wherever it is, with a new token that ends
    the old one; the file may demand that one (`old_token`). Joins under one id come one after another (an advisory
    lock). `parameters` of the link's address are kept with the member; the first that they came with stay. Those that
    are placeholders are left out.

    Exact under concurrent joins: a seat is one row, taken by one conditional update, and draws of one experiment come
    one after another (`tests/races/test_joining_race.py`).

    A person who has declined and of whom nothing is kept gets their end again.

    Raises:
        NotFound: there is no such experiment.
        InvalidInput: its file names no such parameter, or the external id is a placeholder.
        Conflict: it is not running, it is paused, no seat is open, the old token is missing, or the person is not on
            the guest list.
    """
    row = await session.first(_EXPERIMENT, {"experiment_id": experiment_id})
    if row is None:
        raise NotFound("There is no such experiment.")
    require_named(parameters or {}, row.parameters or [])
    values = filled_in(parameters or {})
    kept = as_json(values) if values else None
    token = token_urlsafe(32)
    if external_id is not None:
        require_filled_in(external_id)
        external_id = await person_of(session, experiment_id, external_id)
    if external_id is not None:
        await one_after_another(session, experiment_id, external_id)
        known = {"external_id": external_id, "compared": comparable(external_id)}
        place = await session.first(_PLACE, {"experiment_id": experiment_id, **known})
        if place is not None:
            # Where coming back takes the token from before, it takes it here as well (`giving_back.come_back`).
            if place.player != "person" and (row.rejoin == "token" or not await give_back(session, place.id, now)):
                raise await place_taken(session, experiment_id)
            if row.rejoin == "token" and (old_token is None or hash_token(old_token) != place.token_hash):
                raise Conflict("To come back, send the token that you had.", reason="token_needed")
            await _give_back(session, experiment_id, place, token, kept, now)
            return place.id, token
        hashed = hash_of_id(experiment_id, external_id)
        declined = {"experiment_id": experiment_id, "hash": hashed, "keyed": keyed(row.secret, hashed)}
        place = await session.first(_DECLINED, {**declined, "token_hash": hash_token(token)})
        if place is not None:
            return place.id, token
    _require_running(row.status)
    await require_guest(session, experiment_id, external_id)
    chosen = {} if profile is None else profile.model_dump(exclude_defaults=True)
    joiner = {
        "experiment_id": experiment_id,
        "token_hash": hash_token(token),
        "profile": as_json(chosen),
        "external_id": external_id,
        "compared": None if external_id is None else comparable(external_id),
        "parameters": kept,
        "now": now,
        "in_order": row.rule == "by_arrival",
    }
    await free_seats_of_gone(session, experiment_id, now)
    has_own_arm = (row.allocation or {}).get("by") == "participant"
    if has_own_arm:
        await lock_draws(session, experiment_id)
    if cohort_id is None and await has_room(session, experiment_id):
        seat, how = await _seat_alone(session, joiner)
    elif cohort_id is not None:
        seat, how = await _seat(session, joiner, {"rule": "named"}, cohort_id=cohort_id)
    elif row.rule == "drawn":
        seat, how = await _drawn_seat(session, joiner, row.seed, Allocation.model_validate(row.allocation or {}))
    else:
        seat, how = await _next_seat(session, joiner, {"rule": row.rule})
    if seat is None:
        if cohort_id is not None and await session.first(_IS_LOCKED, {"cohort_id": cohort_id}) is not None:
            raise Conflict(_LOCKED, reason="locked")
        _require_running((await session.one(_EXPERIMENT, {"experiment_id": experiment_id})).status)
        raise await study_full(session, experiment_id)
    # Once more now that the seat is locked: pausing the experiment and locking the cohort lock all seats before.
    place = await session.one(_NOW, {"cohort_id": seat.cohort_id})
    _require_running(place.status)
    if place.locked:
        raise Conflict(_LOCKED, reason="locked")
    if has_own_arm:
        await give_own_arm(session, experiment_id, seat.id)
    if row.assigned:
        await arrive(session, experiment_id, seat.id, seat.path.rpartition("/")[0], row.assigned)
    record_member(
        session,
        experiment_id,
        seat.cohort_id,
        seat.id,
        seat.path,
        "member.joined",
        {"joining": how},
        now,
        cause="request",
    )
    if chosen.get("name"):
        await tell_apart(session, seat.id, now, cause="request")
    await arm_schedule(session, Whose(experiment_id, seat.cohort_id, seat.id, seat.path), now)
    return seat.id, token


def require_named(parameters: Mapping[str, str], known: Sequence[str]) -> None:
    """Raises:
    InvalidInput: one of the parameters is not among the `known`, which the file names.
    """
    unknown = [name for name in parameters if name not in known]
    if unknown:
        expected = (
            f"one of {', '.join(known)}" if known else "nothing: the file of the study names no `join.parameters`"
        )
        problems = [Problem(f"parameters.{name}", "a parameter that is not kept", expected) for name in unknown]
        raise InvalidInput("The study does not keep all of these parameters.", problems)


async def one_after_another(session: Session, experiment_id: UUID, external_id: str) -> None:
    """Wait for the other transactions that join under this id; those that come later wait for this one."""
    await session.first(_ONE_AFTER_ANOTHER, {"key": f"{experiment_id}/{comparable(external_id)}"})


_ONE_AFTER_ANOTHER = text("SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))")
_PLACE = text(
    f"""
    SELECT m.id, m.cohort_id, m.path, m.player, m.token_hash, m.status FROM members m
    WHERE m.experiment_id = :experiment_id AND {is_person("m")}
    ORDER BY m.external_id <> :external_id, m.joined_at LIMIT 1
    """  # noqa: S608 - put together from constants
)
# A person who comes again only sees their end and its code: they need it to return what they took.
_DECLINED = text(
    """
    UPDATE members SET token_hash = :token_hash
    WHERE experiment_id = :experiment_id AND declined_id_hash IN (:hash, :keyed) RETURNING id
    """
)
# Without an id they were forgotten meanwhile.
_GIVE_BACK = text(
    """
    UPDATE members SET token_hash = :token_hash, joins = joins + 1,
        parameters = coalesce(parameters, CASE WHEN external_id IS NOT NULL THEN CAST(:parameters AS jsonb) END)
    WHERE id = :member_id RETURNING joins
    """
)
_LOCKED: Final = "This group is locked; nobody can join it."
_NOW = text(
    "SELECT e.status, c.locked FROM cohorts c JOIN experiments e ON e.id = c.experiment_id WHERE c.id = :cohort_id"
)
_IS_LOCKED = text("SELECT 1 AS one FROM cohorts WHERE id = :cohort_id AND locked")


async def _give_back(
    session: Session, experiment_id: UUID, place: Row, token: str, parameters: str | None, now: datetime
) -> None:
    """End the old token, and record it: another person may have got the id. A visit to one's own end is no matter for
    staff."""
    known = {"member_id": place.id, "token_hash": hash_token(token), "parameters": parameters}
    row = await session.one(_GIVE_BACK, known)
    record_return(session, experiment_id, place, row.joins, now)
    if place.status not in STILL_IN:
        return
    await raise_alert(
        session,
        experiment_id=experiment_id,
        cohort_id=place.cohort_id,
        member_id=place.id,
        path=f"{place.path}/joins:{row.joins}",
        alert_type="rejoined",
        text=f"{place.path} was joined again under the same external id; the token from before is void.",
        now=now,
    )


def record_return(session: Session, experiment_id: UUID, place: Row, joins: int, now: datetime) -> None:
    """Record that the place was joined again under a new token, which ends the streams of the old one."""
    record_member(
        session,
        experiment_id,
        place.cohort_id,
        place.id,
        place.path,
        "member.rejoined",
        {"joins": joins},
        now,
        cause="request",
    )


_LOCK_COHORT = text("SELECT id, path, experiment_id, locked FROM cohorts WHERE id = :cohort_id FOR NO KEY UPDATE")
_HOLD_SEATS = text(
    "SELECT 1 AS one FROM members WHERE cohort_id = :cohort_id AND status = 'expected' ORDER BY id FOR NO KEY UPDATE"
)
_SET_LOCKED = text("UPDATE cohorts SET locked = :locked WHERE id = :cohort_id")


async def set_locked(session: Session, cohort_id: UUID, locked: bool, now: datetime, *, actor: str) -> bool:
    """Close the cohort for people who join, or open it again; False when it was so already.

    A seat that is taken when this returns stays taken: the lock waits for joins that are under way, and later ones
    find it.
    """
    row = await session.one(_LOCK_COHORT, {"cohort_id": cohort_id})
    if row.locked == locked:
        return False
    await session.all(_HOLD_SEATS, {"cohort_id": cohort_id})
    await session.run(_SET_LOCKED, {"cohort_id": cohort_id, "locked": locked})
    session.record(
        Event(
            experiment_id=row.experiment_id,
            cohort_id=cohort_id,
            type="cohort.locked" if locked else "cohort.unlocked",
            actor=actor,
            cause="request",
            subject=row.path,
            subject_id=cohort_id,
            at=now,
            unsettles=True,
        )
    )
    session.announce(Hint(ORCHESTRATOR, "cohort.unsettled", str(cohort_id)))
    return True


def _require_running(status: str) -> None:
    if status == "paused":
        raise Paused
    if status != "running":
        raise Conflict("This experiment is not running.", reason="not_running")


async def _drawn_seat(
    session: Session, joiner: Mapping[str, Any], seed: int, allocation: Allocation
) -> tuple[Row | None, Mapping[str, Any]]:
    experiment = {"experiment_id": joiner["experiment_id"]}
    block = await lock_draws(session, joiner["experiment_id"])
    places = {row.arm for row in await session.all(_PLACES, experiment)}
    while places:
        draw, rest = draw_arm(block, sorted(places), seed, allocation)
        how = {"rule": "drawn", "draw": draw.draw, "block": draw.block, "probability": draw.probability}
        seat, _ = await _seat_or_new(session, joiner, how, arm=draw.arm)
        if seat is not None:
            await keep_draws(session, joiner["experiment_id"], rest)
            return seat, how
        # Meanwhile a person who named the cohort got the last seat.
        places.remove(draw.arm)
    return None, {}


async def _next_seat(
    session: Session, joiner: Mapping[str, Any], how: Mapping[str, Any]
) -> tuple[Row | None, Mapping[str, Any]]:
    """The next seat of any arm. Where cohorts are made on arrival, people come one after another: each sees the seats
    of the cohort that the one before has made."""
    if not await may_be_opened(session, joiner["experiment_id"]):
        return await _seat(session, joiner, how)
    await lock_draws(session, joiner["experiment_id"])
    return await _seat_or_new(session, joiner, how)


async def _seat_alone(session: Session, joiner: Mapping[str, Any]) -> tuple[Row | None, Mapping[str, Any]]:
    """The seat of a cohort of one, for a person who will meet others at a stage."""
    await lock_draws(session, joiner["experiment_id"])
    made = await make_alone(session, joiner["experiment_id"], joiner["now"])
    how = {"rule": "when_together"}
    return (None, how) if made is None else await _seat(session, joiner, how, cohort_id=made)


async def _seat_or_new(
    session: Session, joiner: Mapping[str, Any], how: Mapping[str, Any], *, arm: str | None = None
) -> tuple[Row | None, Mapping[str, Any]]:
    """A seat in a cohort that there is, else in a new one. The caller holds the lock of `joining`."""
    found = await _seat(session, joiner, how, arm=arm)
    if found[0] is None and await open_next(session, joiner["experiment_id"], arm, joiner["now"]):
        return await _seat(session, joiner, how, arm=arm)
    return found


async def _seat(
    session: Session,
    joiner: Mapping[str, Any],
    how: Mapping[str, Any],
    *,
    arm: str | None = None,
    cohort_id: UUID | None = None,
) -> tuple[Row | None, Mapping[str, Any]]:
    """The seat that was taken, None when there is none, and how it was come by."""
    wanted = {**joiner, "cohort_id": cohort_id, "arm": arm, "joining": as_json(dict(how))}
    seat = await session.first(_TAKE_SEAT, wanted) or await session.first(_TAKE_SEAT_THAT_IS_HELD, wanted)
    return seat, how
