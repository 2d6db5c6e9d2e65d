"""Going on from a stage, with everything that the stage says follows from it: one transaction, once."""

from datetime import datetime
from typing import Final

from sqlalchemy import text

from shared.acts.advancing import end_member, move_on, record_member
from shared.acts.forgetting import forget
from shared.contracts.experiment import Profile
from shared.db.session import Session, as_json
from shared.db.standing import Standing
from shared.stage import Done, End, Pay, SetProfile


async def go_on(
    session: Session, standing: Standing, done: Done, now: datetime, *, cause: str, is_step: bool = False
) -> bool:
    """Move the member one stage further than `standing` says, or end their part if that is what the stage says.

    False when that was done already; then nothing else follows either. `is_step` as in `move_on`. The caller holds the
    member's lock.
    """
    assert standing.stage is not None
    end = next((one for one in done.effects if isinstance(one, End)), None)
    if end is not None:
        has_ended = await end_member(session, standing, end.outcome, end.outcome, now, cause=cause)
        if has_ended and end.forgets:
            await forget(session, standing.member.id, standing.member.path, standing.member.profile.name or "")
        return has_ended
    if not await move_on(session, standing, now, cause=cause, is_step=is_step):
        return False
    for effect in done.effects:
        if isinstance(effect, SetProfile):
            await set_profile(session, standing, effect.profile, now, cause=cause)
        elif isinstance(effect, Pay):
            _pay(session, standing, effect, now)
    return True


_PAY: Final = text(
    """
    INSERT INTO payments (member_id, stage_id, currency, amount, parts, paid_at)
    VALUES (:member_id, :stage_id, :currency, CAST(:amount AS numeric), CAST(:parts AS jsonb), :now)
    ON CONFLICT (member_id, stage_id) DO NOTHING
    """
)


def _pay(session: Session, standing: Standing, pay: Pay, now: datetime) -> None:
    """Store what the member is paid. Idempotent: unique for member and stage."""
    assert standing.stage is not None
    params = {"member_id": standing.member.id, "stage_id": standing.stage.id, "currency": pay.currency, "now": now}
    session.later(_PAY, {**params, "amount": str(pay.amount), "parts": as_json(pay.parts)})


_SET_PROFILE: Final = text(
    """
    UPDATE members SET profile = CAST(:profile AS jsonb), version = version + 1
    WHERE id = :member_id AND profile <> CAST(:profile AS jsonb)
    """
)


async def set_profile(session: Session, standing: Standing, profile: Profile, now: datetime, *, cause: str) -> None:
    """Let the others know the member by this profile; nothing happens if they do already.

    The caller holds the member's lock.
    """
    member, fields = standing.member, profile.model_dump(mode="json")
    if not await session.run(_SET_PROFILE, {"member_id": member.id, "profile": as_json(fields)}):
        return
    record_member(
        session,
        standing.experiment_id,
        standing.cohort_id,
        member.id,
        member.path,
        "member.profile_changed",
        {"profile": fields},
        now,
        cause=cause,
    )
