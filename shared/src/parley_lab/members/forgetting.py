"""Deleting what was stored of one member who did not agree to it: answers, words, profile."""

import hmac
import re
from hashlib import sha256
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.experiment import Profile
from parley_lab.members.person_ids import comparable
from parley_lab.store.session import Session
from parley_lab.store.statements import Row, as_json

DELETED: Final = "[deleted]"
"""Replaces the texts of a participant who wanted them deleted."""

_KEYED: Final = "hmac-sha256:"
_KNOWN_BY: Final = text(
    """
    SELECT m.experiment_id, m.external_id, m.declined_id_hash, m.join_key_hash, m.own_name, e.secret
    FROM members m JOIN experiments e ON e.id = m.experiment_id WHERE m.id = :member_id
    """
)
_PROFILE: Final = text(
    """
    UPDATE members SET profile = CAST(:profile AS jsonb), own_name = NULL, external_id = NULL, compared_id = NULL,
        parameters = NULL, declined_id_hash = :declined_id_hash, join_key_hash = :join_key_hash
    WHERE id = :member_id
    """
)
# Their row stays without them: a list whose last guest goes is a list still. No id that is compared has a space.
_GUEST: Final = text(
    """
    UPDATE guests g SET compared = ' ' || g.place, external_id = '' FROM members m
    WHERE m.id = :member_id AND g.experiment_id = m.experiment_id AND g.compared = :compared
    """
)
_ANSWERS: Final = text("DELETE FROM answers WHERE member_id = :member_id")
_PARTIAL: Final = text("DELETE FROM partial_answers WHERE member_id = :member_id")
_PROCESSES: Final = text("DELETE FROM answer_processes WHERE member_id = :member_id")
_MESSAGES: Final = text(
    """
    UPDATE messages SET text = :deleted, author_name = NULL, known_as = NULL, explanation = NULL
    WHERE member_id = :member_id
    """
)
_ALERTS: Final = text("UPDATE alerts SET text = :deleted WHERE member_id = :member_id")
_NOTICES: Final = text("UPDATE notices SET text = :deleted WHERE member_id = :member_id")
_COHORTS: Final = """(
    SELECT c.id FROM (SELECT m.cohort_id AS id UNION SELECT s.cohort_id FROM stays s WHERE s.member_id = m.id) c
    WHERE c.id <> m.cohort_id OR NOT :only_elsewhere)"""
# What the lab and its staff say names members, such as one who has left.
_LINES: Final = text(
    f"""
    UPDATE messages g SET text = regexp_replace(g.text, :known, :name, 'g'),
        line = CASE WHEN g.text ~ :known THEN NULL ELSE g.line END
    FROM members m JOIN threads t ON t.cohort_id IN {_COHORTS}
    WHERE m.id = :member_id AND g.thread_id = t.id AND g.member_id IS NULL
    """  # noqa: S608 - put together from constants
)
_LINES_TOLD: Final = text(
    f"""
    UPDATE events e
    SET payload = jsonb_set(e.payload, '{{text}}', c.text), public = jsonb_set(e.public, '{{text}}', c.text)
            - CASE WHEN c.names_them THEN 'line' ELSE '' END
    FROM (
        SELECT o.seq, o.payload ->> 'text' ~ :known AS names_them,
            to_jsonb(regexp_replace(o.payload ->> 'text', :known, :name, 'g')) AS text
        FROM members m JOIN events o ON o.cohort_id IN {_COHORTS}
        WHERE m.id = :member_id AND o.type = 'message.created' AND o.payload ->> 'author' IS NULL
    ) c
    WHERE e.seq = c.seq
    """  # noqa: S608 - put together from constants
)
# A stream that goes on from an earlier event tells of them as of others, without what was in them.
_EVENTS: Final = text(
    f"""
    UPDATE events e SET
        payload = CASE WHEN c.is_own THEN e.payload - 'value' - 'explanation' ELSE e.payload END
            || c.words || c.author || c.profile || c.quote,
        public = e.public || c.words || c.author || c.profile || c.quote
    FROM (
        SELECT o.seq, o.actor = :path AS is_own,
            CASE WHEN o.type IN ('member.asked_for_help', 'member.messaged')
                    OR o.type = 'message.created' AND o.actor = :path
                THEN jsonb_build_object('text', CAST(:deleted AS text)) ELSE '{{}}' END AS words,
            CASE WHEN o.type = 'message.created' AND o.actor = :path THEN jsonb_build_object(
                'author', jsonb_build_object('id', CAST(:member_id AS text), 'profile', m.profile))
                ELSE '{{}}' END AS author,
            CASE WHEN o.type = 'member.profile_changed' THEN jsonb_build_object('profile', m.profile)
                ELSE '{{}}' END AS profile,
            CASE WHEN o.payload -> 'quote' -> 'author' ->> 'id' = CAST(:member_id AS text) THEN jsonb_build_object(
                'quote', o.payload -> 'quote' || jsonb_build_object('text', CAST(:deleted AS text),
                    'author', jsonb_build_object('id', CAST(:member_id AS text), 'profile', m.profile)))
                ELSE '{{}}' END AS quote
        FROM members m JOIN events o ON o.cohort_id IN {_COHORTS}
        WHERE m.id = :member_id AND (
            o.actor = :path AND o.type IN ('message.created', 'member.profile_changed', 'ask.answered')
            OR o.subject_id = m.id AND o.type IN ('member.asked_for_help', 'member.messaged')
            OR o.payload -> 'quote' -> 'author' ->> 'id' = CAST(:member_id AS text))
    ) c
    WHERE e.seq = c.seq
    """  # noqa: S608 - put together from constants
)


def hash_of_id(experiment_id: UUID, external_id: str) -> str:
    """Hash an external id as it is compared. By itself it tells everyone who has a list of ids whose it is."""
    return sha256(f"{experiment_id}/{comparable(external_id)}".encode()).hexdigest()


def keyed(secret: UUID | None, hashed: str | None) -> str | None:
    """Hash a hash with the secret of its experiment; None once the secret is gone, with which no one is known again."""
    if secret is None or hashed is None or hashed.startswith(_KEYED):
        return hashed if secret is not None else None
    return _KEYED + hmac.new(secret.bytes, hashed.encode(), "sha256").hexdigest()


async def _forget_name(session: Session, member_id: UUID, name: str, new: str, *, only_elsewhere: bool) -> None:
    """Put the new name in the lines of the lab; one with a number behind it ("Owl 2") is another's."""
    known = rf"(?<!\w){re.escape(name)}(?!\w)(?! \(?\d)"
    named = {"member_id": member_id, "known": known, "name": new, "only_elsewhere": only_elsewhere}
    await session.run(_LINES, named)
    await session.run(_LINES_TOLD, named)


def _known_again_by(row: Row) -> dict[str, str | None]:
    """With what a person who comes again finds their end, and no one else can find them."""
    own_id = None if row.external_id is None else hash_of_id(row.experiment_id, row.external_id)
    return {
        "declined_id_hash": keyed(row.secret, own_id or row.declined_id_hash),
        "join_key_hash": keyed(row.secret, row.join_key_hash),
    }


def forgotten_profile(path: str) -> dict[str, str]:
    """How the others know a member of whom nothing is kept: by the number of the seat."""
    return Profile(name=f"Participant {path.rpartition('/m')[2]}").model_dump(mode="json")


async def forget(session: Session, member_id: UUID, path: str, name: str) -> None:
    """Delete the answers of this member, and blank their words and their profile, also in what the streams told.

    `name`: as the others know them now; empty where they have none. The messages stay as places in their
    conversations, and the calls keep what models were shown of them. Deleting twice changes nothing. The caller holds
    the member's lock.
    """
    whose = {"member_id": member_id}
    profile = forgotten_profile(path)
    known = await session.one(_KNOWN_BY, whose)
    if known.external_id is not None:
        await session.run(_GUEST, {**whose, "compared": comparable(known.external_id)})
    await session.run(_PROFILE, {**whose, "profile": as_json(profile), **_known_again_by(known)})
    await session.run(_ANSWERS, whose)
    await session.run(_PARTIAL, whose)
    await session.run(_PROCESSES, whose)
    for words in (_MESSAGES, _ALERTS, _NOTICES):
        await session.run(words, {**whose, "deleted": DELETED})
    if name:
        await _forget_name(session, member_id, name, profile["name"], only_elsewhere=False)
    if known.own_name:
        # Where they are now, another member has it.
        await _forget_name(session, member_id, known.own_name, profile["name"], only_elsewhere=True)
    await session.run(_EVENTS, {**whose, "path": path, "deleted": DELETED, "only_elsewhere": False})
