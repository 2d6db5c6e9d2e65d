"""A member's standing, read with one statement, with or without the member's lock."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import Conflict, NotFound, NotSignedIn
from parley_lab.base.variables import fill
from parley_lab.contracts.experiment import PageSettings, StageConfig
from parley_lab.contracts.lives import ARRIVED, COUNTED, TAKING_PART, in_sql
from parley_lab.design import values_of
from parley_lab.kinds import Json
from parley_lab.kinds.attendees import Attendee, attendee
from parley_lab.kinds.stages import parts_of
from parley_lab.members.attendance import DRAWN_ELSEWHERE
from parley_lab.members.completions import place_taken
from parley_lab.members.designs import design
from parley_lab.members.held_cohorts import held_since, is_held
from parley_lab.members.parts import with_parts
from parley_lab.members.reader_texts import reader_roles, reader_values
from parley_lab.members.standing import OpenAsk, OpenTimer, Standing
from parley_lab.members.stays import LEAST, MOST, path_of
from parley_lab.store.batches import read_for_many
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row
from parley_lab.views.builder import Facts, People, draws_for, member_of

FREE_AGAIN: Final = "(o.status = 'expected' AND o.path LIKE '%.%')"
"""Whether a row `o` of members is a seat that is free again (`Attendee.is_free_again`), as part of a statement."""
# Of a row `s` of cohort_stages: no participant who is waited for is on it or on the way to it any more.
STAGE_IS_OVER: Final = f"""
    NOT EXISTS (SELECT FROM members o WHERE o.cohort_id = s.cohort_id AND o.kind = 'participant'
        AND o.status IN {in_sql(COUNTED)} AND o.position < array_position(o.stage_ids, s.stage_id)
        AND NOT {FREE_AGAIN})
"""
_STANDINGS = f"""
    SELECT m.id, m.path, m.kind, m.player, m.profile, m.provider, m.status, m.status_reason, m.stage_ids, m.position,
        m.stay, m.version, m.stepped_version, m.agent_config -> 'script' AS script, m.agent_config -> 'chat' AS chat,
        m.agent_config -> 'pages' AS pages,
        c.assigned || m.assigned AS assigned, c.alone,
        CASE WHEN m.player = 'person' THEN (
            SELECT jsonb_agg(jsonb_build_array(p.stage_id, p.key, p.ask_id, p.value))
            FROM partial_answers p WHERE p.member_id = m.id AND p.outcome IS NULL) END AS begun,
        CASE WHEN m.player = 'person' THEN (
            SELECT jsonb_agg(jsonb_build_array(i.purpose, i.path, i.stage_id, i.state, i.due_at, i.remaining_ms)
                ORDER BY i.due_at, i.path)
            FROM (
                SELECT r.*, NULL AS stage_id FROM timers r WHERE r.member_id = m.id
                UNION ALL SELECT r.*, t.stage_id FROM timers r JOIN threads t ON t.id = r.thread_id
                WHERE t.cohort_id = m.cohort_id AND t.stage_id = m.stage_ids[m.position + 1]
                    AND t.scope IN ('group', 'private:' || m.path)
            ) i WHERE i.state IN ('armed', 'held')) END AS timers,
        m.player = 'person' AND EXISTS (SELECT FROM notices n WHERE n.member_id = m.id AND n.read_at IS NULL)
            AS has_notices,
        m.player = 'person' AND {is_held("m.cohort_id")} AS is_in_held_cohort,
        (SELECT v.last FROM streams v WHERE v.cohort_id = m.cohort_id) AS cursor,
        m.cohort_id, m.experiment_id, e.seed, e.pace, e.model_mode, e.language, e.paused_at,
        e.version AS design_version, coalesce(m.treatment_id, c.treatment_id) AS treatment_id,
        (SELECT jsonb_object_agg(s.stage_id, jsonb_build_array(
                CASE WHEN CAST(:drawn_on AS text[]) IS NULL OR s.stage_id = m.stage_ids[m.position + 1]
                    OR s.stage_id = ANY(CAST(:drawn_on AS text[])) THEN s.draws END, s.state, s.result))
            FROM cohort_stages s WHERE s.cohort_id = m.cohort_id) AS opened,
        {DRAWN_ELSEWHERE} AS drawn_elsewhere,
        (SELECT jsonb_agg(jsonb_build_array(a.stage_id, a.key, a.value))
            FROM answers a WHERE a.member_id = m.id) AS answers,
        (SELECT jsonb_agg(jsonb_build_array(k.id, k.stage_id, k.key, k.purpose, k.opened_at)
                ORDER BY k.opened_at, k.path)
            FROM asks k WHERE k.member_id = m.id AND k.state = 'open') AS asks,
        (SELECT jsonb_object_agg(t.stage_id, jsonb_build_object('id', t.id, 'path', t.path, 'last_seq', t.last_seq,
                'agent_run', t.agent_run, 'ended_at', t.ended_at, 'turn_state', t.turn_state,
                'opened_at', t.opened_at, 'paused_ms', t.paused_ms, 'held_since', {held_since("t.cohort_id")},
                'paused_at', least(e.paused_at, CASE WHEN t.scope <> 'group' THEN m.paused_at END),
                'last_author_id', t.last_author_id, 'silent_since', CASE WHEN s.id IS NOT NULL THEN
                    greatest(s.created_at, e.resumed_at, CASE WHEN t.scope <> 'group' THEN m.resumed_at END) END,
                'is_thinking', EXISTS (SELECT FROM drafts d JOIN members thinker ON thinker.id = d.member_id
                    WHERE d.thread_id = t.id AND thinker.status IN {in_sql(TAKING_PART)}
                    AND d.state IN ('wanted', 'thinking', 'ready')
                    AND (t.turn_state -> 'late' ? d.trigger_key
                        OR d.trigger_key
                            = coalesce(t.turn_state ->> 'trigger', 'message:' || t.last_spoken_id, 'start')))))
            FROM threads t LEFT JOIN messages s ON s.id = t.last_spoken_id
            WHERE t.cohort_id = m.cohort_id AND t.stage_id = ANY(m.stage_ids[m.entered_position + 1:])
                AND t.scope IN ('group', 'private:' || m.path)) AS threads,
        CASE WHEN m.player = 'person' AND NOT EXISTS (SELECT FROM cohort_stages s
                WHERE s.cohort_id = m.cohort_id AND s.stage_id = m.stage_ids[m.position + 1]) THEN (
            SELECT jsonb_build_array(
                count(*) FILTER (WHERE o.status IN {in_sql(ARRIVED)}
                    AND array_position(o.stage_ids, m.stage_ids[m.position + 1]) <= o.position + 1),
                count(*) FILTER (WHERE o.status IN {in_sql(COUNTED)}
                    AND NOT {FREE_AGAIN}))
            FROM members o WHERE o.cohort_id = m.cohort_id AND o.kind = 'participant') END AS arrived
    FROM members m JOIN cohorts c ON c.id = m.cohort_id JOIN experiments e ON e.id = m.experiment_id
"""  # noqa: S608 - put together from constants
_STANDING = text(f"{_STANDINGS} WHERE m.id = :member_id")
_STANDING_BY_TOKEN = read_for_many(
    f"{_STANDINGS} WHERE m.token_hash = :token_hash",
    token_hash="text",
    drawn_on="text[]",
)
_STANDINGS_OF_ALL = text(f"{_STANDINGS} WHERE m.id = ANY(:member_ids)")
# The lock is a statement of its own, so that what is read next has a snapshot taken after the lock was acquired.
# NO KEY: new drafts and answers refer to the member while this lock is held.
_LOCK_BY_ID = text("SELECT id FROM members WHERE id = :key FOR NO KEY UPDATE")
# Settling locks the members of a cohort by several statements: a transaction that holds some and waits for others could
# be in its way.
_LOCK_FREE = text("SELECT id FROM members WHERE id = ANY(:keys) FOR NO KEY UPDATE SKIP LOCKED")
_LOCK_BY_TOKEN = text("SELECT id FROM members WHERE token_hash = :key FOR NO KEY UPDATE")


async def lock_standing(session: Session, member_id: UUID, *, drawn_on: Collection[str] | None = None) -> Standing:
    """This member's standing, locked until the transaction ends; `drawn_on` as in `standing_of`.

    Raises:
        NotFound: there is no such member.
    """
    session.later(_LOCK_BY_ID, {"key": member_id})
    return await standing_of(session, member_id, drawn_on=drawn_on)


async def lock_standings(
    session: Session, member_ids: Collection[UUID], *, drawn_on: Collection[str]
) -> Mapping[UUID, Standing]:
    """The standings of those of these members who exist, locked until the transaction ends, in the order given.

    Of several, those whom another transaction holds are left out; a single member is waited for.
    """
    if len(member_ids) == 1:
        with suppress(NotFound):
            return {one: await lock_standing(session, one, drawn_on=drawn_on) for one in member_ids}
        return {}
    ids = list(member_ids)
    params = {"member_ids": ids, "drawn_on": list(drawn_on)}
    locked, rows = await session.all_of_each((_LOCK_FREE, {"keys": ids}), (_STANDINGS_OF_ALL, params))
    held = {row.id for row in locked}
    standings = {row.id: await _as_standing(session, row) for row in rows if row.id in held}
    found = {one: standings[one] for one in ids if one in standings}
    for one, standing in found.items():
        if read_by_round(standing.stage) - {*drawn_on}:
            found[one] = await standing_of(session, one, drawn_on=drawn_on)
    return found


async def standing_of(session: ReadSession, member_id: UUID, *, drawn_on: Collection[str] | None = None) -> Standing:
    """This member's standing, without a lock; for callers that hold it, or only read.

    drawn_on: the stages whose draws are read beside those of the stage where the member is; None: all. Draws are of a
    whole cohort, so in a big one they are most of what is read.

    Raises:
        NotFound: there is no such member.
    """
    standing = await _standing(session, member_id, drawn_on=drawn_on)
    if standing is not None and drawn_on is not None and (more := read_by_round(standing.stage) - {*drawn_on}):
        standing = await _standing(session, member_id, drawn_on={*drawn_on, *more})
    if standing is None:
        raise NotFound("There is no such participant.")
    return standing


async def in_own_words(session: ReadSession, one: Attendee) -> Attendee:
    """The agent with its own values in its opening lines."""
    spoken = (one.chat, *one.chat.get("by_stage", {}).values())
    if not any("{{" in (fields.get("initial_message") or "") for fields in spoken):
        return one
    standing = await standing_of(session, one.id, drawn_on=())
    values = await reader_values(session, standing.design, standing.facts, one.id, standing.facts.variables)
    return replace(one, chat=fill(one.chat, values))


async def stage_for(
    session: ReadSession, member_id: UUID, experiment_id: UUID, version: int, treatment_id: str, stage_id: str
) -> StageConfig:
    """The stage as this member reads it."""
    resolved = await design(session, experiment_id, version, treatment_id)
    if stage_id not in resolved.unfilled:
        return resolved.stage(stage_id)
    return (await standing_of(session, member_id, drawn_on=(stage_id,))).design.stage(stage_id)


def read_by_round(stage: StageConfig | None) -> set[str]:
    """The stages of which this one reads columns round by round, which are made of their draws and states."""
    reads = () if stage is None else parts_of(stage).reads
    return {one.stage for one in reads if any(use.needs == "rounds" for use in one.uses)}


async def sign_in(session: Session, token: str, *, lock: bool) -> Standing:
    """The member of this token, locked when `lock` is True.

    Raises:
        NotSignedIn: the token is unknown.
        Conflict: another player has taken the place of its holder.
    """
    token_hash = hash_token(token)
    if lock:
        session.later(_LOCK_BY_TOKEN, {"key": token_hash})
    return await seen_by(session, token_hash)


async def seen_by(session: ReadSession, reader: UUID | str) -> Standing:
    """The standing of a member, by their id or the hash of their token, without a lock.

    Raises:
        NotSignedIn: the token is unknown.
        Conflict: another player has taken the place of its holder.
    """
    if isinstance(reader, UUID):
        return await standing_of(session, reader)
    row = await session.first_for_many(_STANDING_BY_TOKEN, {"token_hash": reader, "drawn_on": None})
    if row is None:
        raise await unknown_token(session, reader)
    return await _as_standing(session, row)


_WAS_HERE = text(
    "SELECT m.experiment_id FROM sittings s JOIN members m ON m.id = s.member_id WHERE s.token_hash = :token_hash"
)


async def unknown_token(session: ReadSession, token_hash: str) -> NotSignedIn | Conflict:
    """Why a token opens nothing: its holder was gone so long that the place was taken, or it never was one."""
    before = await session.first(_WAS_HERE, {"token_hash": token_hash})
    if before is not None:
        return await place_taken(session, before.experiment_id)
    return NotSignedIn("This participant token is not valid. Join the experiment to get one.")


_OPENED = text("SELECT draws, state FROM cohort_stages WHERE cohort_id = :cohort_id AND stage_id = :stage_id")


Ahead = dict[tuple[UUID, str], Row | None]
"""What is drawn and known on stages, by cohort and stage; None where the stage is locked."""


async def looking_ahead(session: ReadSession, standing: Standing, stage_id: str, found: Ahead) -> Standing:
    """The standing with what is drawn and known on this stage, if it is open; `found` keeps what was read."""
    of_stage = standing.cohort_id, stage_id
    if of_stage not in found:
        found[of_stage] = await session.first(_OPENED, {"cohort_id": standing.cohort_id, "stage_id": stage_id})
    row = found[of_stage]
    if row is None:
        return standing
    facts = replace(standing.facts, draws={**standing.facts.draws, stage_id: row.draws})
    if row.state is not None:
        facts = facts.with_state(stage_id, row.state)
    return replace(standing, facts=facts, unlocked=standing.unlocked | {stage_id})


async def looking_at(session: ReadSession, standing: Standing, stage: StageConfig) -> Standing:
    """The standing with all that this stage reads; without it, a standing has that of the current stage only."""
    facts = await with_parts(session, standing.facts, standing.cohort_id, [stage], but_own=standing.member.id)
    return replace(standing, facts=facts)


async def _standing(
    session: ReadSession, member_id: UUID, *, drawn_on: Collection[str] | None = None
) -> Standing | None:
    drawn = None if drawn_on is None else list(drawn_on)
    row = await session.first(_STANDING, {"member_id": member_id, "drawn_on": drawn})
    return None if row is None else await _as_standing(session, row)


async def _as_standing(session: ReadSession, row: Row) -> Standing:
    opened = row.opened or {}
    resolved = await design(session, row.experiment_id, row.design_version, row.treatment_id)
    me = attendee(row._asdict())
    answers: dict[str, dict[UUID, dict[str, Json]]] = {}
    for stage_id, key, value in row.answers or ():
        answers.setdefault(stage_id, {me.id: {}})[me.id][key] = value
    drawn = {stage_id: draws for stage_id, (draws, _, _) in opened.items() if draws is not None}
    facts = Facts(
        people=People((me,)),
        draws=draws_for(resolved.stages, drawn, row.drawn_elsewhere),
        states={stage_id: state for stage_id, (_, state, _) in opened.items() if state is not None},
        results={stage_id: result for stage_id, (_, _, result) in opened.items() if result is not None},
        stages=resolved.by_id,
        answers=answers,
        variables={**resolved.variables, **values_of(row.assigned)},
    )
    if resolved.unfilled:
        values = await reader_values(session, resolved, facts, me.id, values_of(row.assigned))
        resolved = resolved.for_reader(values, reader_roles(resolved, facts, me.id))
        facts = replace(facts, stages=resolved.by_id)
    # A locked stage shows nothing, and the stages that it reads are not over.
    if me.stage_id is not None and me.stage_id in opened:
        here = [resolved.stage(me.stage_id)]
        facts = await with_parts(session, facts, row.cohort_id, here, but_own=me.id)
    return Standing(
        member=member_of(me, me.stage_id or ""),
        experiment_id=row.experiment_id,
        cohort_id=row.cohort_id,
        cursor=row.cursor,
        seed=row.seed,
        pace=row.pace,
        model_mode=row.model_mode,
        language=row.language,
        status=row.status,
        status_reason=row.status_reason,
        position=row.position,
        stay=row.stay,
        version=row.version,
        stepped_version=row.stepped_version,
        provider=row.provider,
        pages=PageSettings.model_validate(row.pages or {}),
        paused_at=row.paused_at,
        design=resolved,
        stage_ids=me.stage_ids,
        unlocked=frozenset(opened),
        facts=facts,
        threads=row.threads or {},
        asks=tuple(_open_ask(*fields) for fields in row.asks or ()),
        timers=tuple(_timers(me, row.timers or ())),
        begun={(stage_id, key, ask_id and UUID(ask_id)): value for stage_id, key, ask_id, value in row.begun or ()},
        has_notices=row.has_notices,
        is_in_held_cohort=row.is_in_held_cohort,
        arrived=None if row.arrived is None or row.alone else tuple(row.arrived),
        is_alone=row.alone,
    )


def _open_ask(ask_id: str, stage_id: str, key: str, purpose: str, opened_at: str) -> OpenAsk:
    return OpenAsk(UUID(ask_id), stage_id, key, purpose, datetime.fromisoformat(opened_at))


def _timers(me: Attendee, rows: Sequence[Sequence[Any]]) -> Iterator[OpenTimer]:
    """Those that still matter: the times of a stage go on after its member has left it."""
    for purpose, path, thread_stage_id, state, due_at, left_ms in rows:
        stage_id = thread_stage_id
        if purpose in (LEAST, MOST):
            stage_id = me.stage_id
            if stage_id is None or path != path_of(me.path, stage_id, purpose):
                continue
        is_held = state == "held"
        due = None if is_held or due_at is None else datetime.fromisoformat(due_at)
        yield OpenTimer(purpose, stage_id, due, left_ms if is_held else None)


def hash_token(token: str) -> str:
    """The stored form of a token: tokens are long and random, so a plain hash is enough."""
    return sha256(token.encode()).hexdigest()


_PEOPLE = text(
    f"""
    SELECT EXISTS (SELECT FROM members
        WHERE cohort_id = :cohort_id AND player = 'person' AND status IN {in_sql(TAKING_PART)}) AS are_here
    """  # noqa: S608 - put together from constants
)


async def has_people(session: ReadSession, cohort_id: UUID) -> bool:
    """Whether the cohort has people in progress."""
    return bool((await session.one(_PEOPLE, {"cohort_id": cohort_id})).are_here)
