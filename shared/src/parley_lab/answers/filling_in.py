"""What a participant has filled in and not sent, when their time on a page is up or their part is over.

What counts of it is stored as their answer, each field with a mark; the rest is kept for the data. A question says what
counts (`Question.filled_in`): nothing of a consent, a move in a game, or an attempt.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

import structlog
from sqlalchemy import text

from parley_lab.answers.answering import answer, record_answer, write_page
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import PAGE, Ask, Json
from parley_lab.kinds.parts import FilledIn
from parley_lab.kinds.stages import parts_of
from parley_lab.members.standing import Standing
from parley_lab.store.session import Session
from parley_lab.store.statements import as_json

log = structlog.get_logger(__name__)

Mark = Literal["timed_out", "not_sent"]
"""Why it was not sent: its time was up, or the part of the member was over."""

_KEEP: Final = text(
    """
    UPDATE partial_answers SET value = CAST(:value AS jsonb)
    WHERE member_id = :member_id AND stage_id = :stage_id AND key = :key
    """
)
_KEEP_REST: Final = text(
    """
    WITH empty AS (
        DELETE FROM partial_answers WHERE member_id = :member_id AND value IN ('null', '{}', '[]', '""')
    )
    UPDATE partial_answers SET outcome = :mark
    WHERE member_id = :member_id AND outcome IS NULL AND value NOT IN ('null', '{}', '[]', '""')
    """
)
_KEEP_TIMED_OUT: Final = text(
    """
    INSERT INTO partial_answers (member_id, stage_id, key, value, saved_at, outcome)
    VALUES (:member_id, :stage_id, :key, CAST(:value AS jsonb), :now, 'timed_out')
    ON CONFLICT (member_id, stage_id, key) DO UPDATE
        SET ask_id = NULL, value = excluded.value, saved_at = excluded.saved_at, outcome = excluded.outcome
    """
)


def keep_timed_out(session: Session, standing: Standing, rest: Mapping[str, Json], now: datetime) -> None:
    """Keep for the data what a page that was sent has no use for, because the time of a part of it was up.

    The caller holds the member's lock, and moves the member on: then what was begun there and has no outcome is gone.
    """
    assert standing.stage is not None
    where = {"member_id": standing.member.id, "stage_id": standing.stage.id, "key": PAGE}
    session.later(_KEEP_TIMED_OUT, {**where, "value": as_json(dict(rest)), "now": now})


async def fill_in(
    session: Session,
    standing: Standing,
    now: datetime,
    *,
    mark: Mark,
    cause: str,
    default: Mapping[str, Json] | None = None,
) -> Standing:
    """Store what counts of what the member has begun on the stage where they are; the standing with these answers.

    `default`: the answer of the file, which counts for fields that are not filled in. Where it alone would count,
    nothing is stored. The caller holds the member's lock.
    """
    stage = standing.stage
    if stage is not None and not standing.is_locked:
        for ask, ask_id, begun in [*_begun(standing, stage)]:
            found = _counting(standing, stage, ask, begun, default if ask.key == PAGE else None, now)
            where = {"member_id": standing.member.id, "stage_id": stage.id, "key": ask.key}
            await session.run(_KEEP, {**where, "value": as_json(_left(begun, {} if found is None else found.marks))})
            if found is not None:
                await _store(session, standing, stage, ask, ask_id, found, now, mark=mark, cause=cause)
                standing = standing.with_answer(stage.id, ask.key, found.value)
    if standing.begun:
        await session.run(_KEEP_REST, {"member_id": standing.member.id, "mark": mark})
    return standing


def _begun(standing: Standing, stage: StageConfig) -> Iterator[tuple[Ask, UUID | None, Json]]:
    """What is asked of the member on the stage, with what they have begun to answer; of agents their page."""
    for one in standing.asks:
        begun = standing.begun.get((stage.id, one.key, one.id))
        if one.stage_id == stage.id and begun is not None:
            yield Ask(standing.member.id, one.key, one.purpose), one.id, begun
    begun = standing.begun.get((stage.id, PAGE, None))
    if standing.page(stage.id) is None and (begun is not None or standing.member.player != "person"):
        yield Ask(standing.member.id, PAGE, "page"), None, begun


def _counting(
    standing: Standing,
    stage: StageConfig,
    ask: Ask,
    begun: Json,
    default: Mapping[str, Json] | None,
    now: datetime,
) -> FilledIn | None:
    """What counts; nothing does where the rules of the stage fail, since that must keep no one on a page."""
    questions = parts_of(stage).questions
    try:
        view = standing.view(stage, now)
        question = None if questions is None else questions.question(view, ask)
        return None if question is None else question.filled_in(begun, default or {})
    except Exception:
        log.exception("answer.not_filled_in", member=standing.member.path, stage=stage.id, key=ask.key)
        return None


async def _store(
    session: Session,
    standing: Standing,
    stage: StageConfig,
    ask: Ask,
    ask_id: UUID | None,
    found: FilledIn,
    now: datetime,
    *,
    mark: Mark,
    cause: str,
) -> None:
    marks = {field: mark if why == "begun" else why for field, why in found.marks.items()}
    if ask_id is None:
        write_page(session, standing, found.value, now, missing=found.missing, marks=marks)
        return
    stored = await answer(session, ask_id, found.value, now, marks=marks)
    if stored and parts_of(stage).state is not None:
        record_answer(session, standing, stage.id, ask, found.value, now, cause=cause)


def _left(begun: Json, marks: Mapping[str, str]) -> Json:
    """The fields that do not count; empty ones are not kept."""
    if "" in marks:
        return None
    if not isinstance(begun, Mapping):
        return begun
    is_left = {name: marks.get(name) != "begun" and value not in (None, "", [], {}) for name, value in begun.items()}
    return {name: value for name, value in begun.items() if is_left[name]}
