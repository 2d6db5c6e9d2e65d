"""Links by which people join: a code that leads to an experiment, or to one of its cohorts."""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from secrets import token_urlsafe
from typing import Any, Final, Literal
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.seats_again import any_may_be_given
from parley_lab.base.errors import NotFound
from parley_lab.contracts.experiment import Profile
from parley_lab.contracts.lives import STILL_IN, in_sql
from parley_lab.members.completions import place_taken
from parley_lab.members.forgetting import keyed
from parley_lab.members.person_ids import comparable, is_person
from parley_lab.members.standings import hash_token
from parley_lab.people.giving_back import give_back
from parley_lab.people.guests import person_of
from parley_lab.people.joining import join, one_after_another, record_return, require_named
from parley_lab.people.link_values import filled_in, is_placeholder
from parley_lab.people.rooms import IS_OPEN, PLACES
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import as_json

LinkState = Literal["open", "full", "paused", "over", "not_started"]


@dataclass(frozen=True, slots=True)
class Link:
    """Where a code leads, and whether a place can be taken there now; `cohort_id` None: the whole experiment."""

    code: str
    experiment_id: UUID
    cohort_id: UUID | None
    state: LinkState
    title: str
    text: str
    external_id_parameter: str
    parameters: Sequence[str]
    language: str | None
    record: Literal["process"] | None
    secret: UUID | None = field(repr=False)


_PLACES_OF_RECORD: Final = ("$.record", "$.stages[*].record", "$.treatments[*].stages.*.record")


def _records(place: str) -> str:
    """Whether the file records how answers come about, as it says at this place, as SQL."""
    return f"""jsonb_path_exists(e.document, '{place} ? (@ == "process")')"""


_FIND = text(
    f"""
    WITH led AS (
        SELECT e.id, CAST(NULL AS uuid) AS cohort_id FROM experiments e WHERE e.join_code = :code
        UNION ALL SELECT c.experiment_id, c.id FROM cohorts c WHERE c.join_code = :code
    )
    SELECT e.id, led.cohort_id, e.status, e.document -> 'join' AS page,
        CASE WHEN {" OR ".join(map(_records, _PLACES_OF_RECORD))} THEN 'process' END AS record,
        e.language, e.secret,
        EXISTS (
            SELECT FROM members m JOIN cohorts c ON c.id = m.cohort_id
            WHERE m.experiment_id = e.id AND m.status = 'expected' AND NOT c.locked AND c.status = 'running'
                AND (led.cohort_id IS NULL OR c.id = led.cohort_id)
        ) OR led.cohort_id IS NULL AND (
            EXISTS (SELECT FROM planned_cohorts p WHERE p.experiment_id = e.id)
            OR {PLACES.format(experiment="e.id")} > 0) AS has_place
    FROM led JOIN experiments e ON e.id = led.id
    """  # noqa: S608 - put together from constants
)
_IN_ANY_CASE: Final = text(
    """
    SELECT e.join_code FROM experiments e WHERE lower(e.join_code) = lower(:code)
    UNION ALL SELECT c.join_code FROM cohorts c WHERE lower(c.join_code) = lower(:code) LIMIT 2
    """
)
_STATES: Final[dict[str, LinkState]] = {"draft": "not_started", "paused": "paused", "ended": "over"}


async def find(session: ReadSession, code: str) -> Link:
    """What the code leads to, also as people type it where that can mean only one.

    Raises:
        NotFound: it leads nowhere.
    """
    row = await session.first(_FIND, {"code": code})
    if row is None:
        code = await _find_code_meant(session, code)
        row = await session.one(_FIND, {"code": code})
    page: dict[str, Any] = row.page or {}
    return Link(
        code=code,
        experiment_id=row.id,
        cohort_id=row.cohort_id,
        state=_STATES.get(row.status) or ("open" if row.has_place else "full"),
        title=page.get("title", ""),
        text=page.get("text", ""),
        external_id_parameter=page.get("external_id", ""),
        parameters=page.get("parameters", ()),
        language=row.language,
        record=row.record,
        secret=row.secret,
    )


async def _find_code_meant(session: ReadSession, typed: str) -> str:
    rows = await session.all(_IN_ANY_CASE, {"code": plain_code(typed)})
    if len(rows) != 1:
        raise NotFound("This link belongs to no study.")
    found: str = rows[0].join_code
    return found


def plain_code(typed: str) -> str:
    """A code without the spaces, quotes and marks of a sentence around it, in plain letters and hyphens.

    Word processors make dashes of hyphens; keyboards for Chinese and Japanese write wide letters.
    """
    seen = comparable(unicodedata.normalize("NFKC", typed))
    hyphens = "".join("-" if unicodedata.category(one) == "Pd" else one for one in seen)
    return re.sub(r"^[^A-Za-z0-9_-]+|[^A-Za-z0-9_-]+$", "", hyphens)


_ROOM_IS_OPEN: Final = text(f"SELECT {IS_OPEN.format(experiment='CAST(:experiment_id AS uuid)')} AS it")


async def may_get_free(session: ReadSession, link: Link) -> bool:
    """Whether a place of a full study may get free: a member is in it whose seat would be given again."""
    if link.state != "full":
        return False
    if link.cohort_id is None and (await session.one(_ROOM_IS_OPEN, {"experiment_id": link.experiment_id})).it:
        return True
    return await any_may_be_given(session, link.experiment_id, link.cohort_id)


# Two requests with one key come one after the other, so that the second finds the place of the first.
_ONE_AT_A_TIME = text("SELECT pg_advisory_xact_lock(hashtextextended(:key_hash, 0)) IS NULL AS waited")
# A seat that an agent plays on has no token: its person has lost it. Who came without an id or parameters has those
# with which they come back; the id of another place leads there. Of who has declined nothing is kept, since it may be
# deleted. Who is still in it may have the streams of the old token open, in another browser.
_RETURN = text(
    f"""
    UPDATE members m SET token_hash = CASE WHEN player = 'person' THEN :token_hash END,
        joins = joins + CASE WHEN status IN {in_sql(STILL_IN)} THEN 1 ELSE 0 END,
        external_id = coalesce(external_id, CASE WHEN status <> 'declined' THEN CAST(:new_id AS text) END),
        compared_id = coalesce(CASE WHEN external_id IS NOT NULL THEN compared_id END,
            CASE WHEN status <> 'declined' THEN CAST(:new_compared AS text) END),
        parameters = coalesce(parameters, CASE WHEN status <> 'declined' THEN CAST(:new_parameters AS jsonb) END)
    WHERE experiment_id = :experiment_id AND join_key_hash IN (:key_hash, :forgotten)
        AND (CAST(:external_id AS text) IS NULL OR {is_person("m")} OR external_id IS NULL AND NOT EXISTS (
            SELECT FROM members o WHERE o.experiment_id = m.experiment_id AND {is_person("o")}))
    RETURNING id, player, cohort_id, path, joins, status IN {in_sql(STILL_IN)} AS is_in
    """  # noqa: S608 - put together from constants
)
# Another person at the same browser: the key goes with the last one, and the one before comes back by their id.
_FREE_KEY = text(
    """
    UPDATE members SET join_key_hash = NULL
    WHERE experiment_id = :experiment_id AND join_key_hash IN (:key_hash, :forgotten)
    """
)
# Who comes back by their id in another browser keeps the key of the first, which would take a second place otherwise.
# Who has declined may be forgotten: they come back by their id alone.
_KEEP_KEY = text(
    """
    UPDATE members SET join_key_hash = :key_hash
    WHERE id = :member_id AND join_key_hash IS NULL AND status <> 'declined'
    """
)


_REHEARSED: Final = text(
    "UPDATE members SET joining = coalesce(joining, '{}') || '{\"rehearsed\": true}' WHERE id = :member_id"
)


async def mark_rehearsed(session: Session, member_id: UUID) -> None:
    """Record that this person is made up."""
    await session.run(_REHEARSED, {"member_id": member_id})


async def join_by(
    session: Session,
    code: str,
    join_key: str,
    now: datetime,
    *,
    profile: Profile | None,
    external_id: str | None,
    parameters: Mapping[str, str],
    old_token: str | None = None,
) -> tuple[UUID, str]:
    """Take a place where the code leads; the member's id, and the token, which is shown this once.

    The key is chosen by the client. The same key again gives the place back with a new token, and the old token ends:
    an answer that was lost costs no place (an advisory lock; `services/gateway/tests/test_links.py`). With the external
    id of another person it gives none back. Of ids and parameters, the first that the member came with stay. An id that
    is a placeholder says nothing of who comes: the key alone gives a place back then, and takes no new one.

    Raises:
        NotFound: the code leads nowhere.
        InvalidInput: the file names no such parameter, or the external id of who has no place is a placeholder.
        Conflict: the experiment is not running, it is paused, no seat is open, an agent has taken the place over, or
            the person is not on the guest list.
    """
    link = await find(session, code)
    require_named(parameters, link.parameters)
    key_hash = hashlib.sha256(f"{link.experiment_id}:{join_key}".encode()).hexdigest()
    await session.one(_ONE_AT_A_TIME, {"key_hash": key_hash})
    own_id = None
    if external_id is not None and not is_placeholder(external_id):
        own_id = await person_of(session, link.experiment_id, external_id)
    if own_id is not None:
        await one_after_another(session, link.experiment_id, own_id)
    own_compared = None if own_id is None else comparable(own_id)
    values = filled_in(parameters)
    token = token_urlsafe(32)
    forgotten = keyed(link.secret, key_hash)
    known = {"experiment_id": link.experiment_id, "key_hash": key_hash, "forgotten": forgotten}
    # Once the experiment has ended, what is known of people may be deleted.
    may_be_kept = link.state != "over"
    news = {
        "token_hash": hash_token(token),
        "external_id": own_id,
        "compared": own_compared,
        "new_id": own_id if may_be_kept else None,
        "new_compared": own_compared if may_be_kept else None,
        "new_parameters": as_json(values) if may_be_kept and values else None,
    }
    row = await session.first(_RETURN, {**known, **news})
    if row is not None and row.player != "person":
        if not await give_back(session, row.id, now):
            raise await place_taken(session, link.experiment_id)
        row = await session.one(_RETURN, {**known, **news})
    if row is not None:
        if row.is_in:
            record_return(session, link.experiment_id, row, row.joins, now)
        return row.id, token
    member_id, token = await join(
        session,
        link.experiment_id,
        now,
        cohort_id=link.cohort_id,
        profile=profile,
        external_id=external_id,
        parameters=parameters,
        old_token=old_token,
    )
    session.later(_FREE_KEY, known)
    await session.run(_KEEP_KEY, {"key_hash": key_hash, "member_id": member_id})
    return member_id, token
