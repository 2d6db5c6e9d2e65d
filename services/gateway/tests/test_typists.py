"""How long one who types is shown as typing, by the signs that come of it."""

import asyncio
import json
from uuid import UUID, uuid4

from parley_lab.gateway.typists import TypingFrame, Typists

COHORT = uuid4()


def sign(thread_id: UUID, member_id: UUID, *, for_ms: int) -> str:
    where = {"cohort_id": str(COHORT), "thread_id": str(thread_id), "stage_id": "talk", "scope": "group"}
    return json.dumps({**where, "member_id": str(member_id), "for_ms": for_ms})


async def test_a_renewed_sign_counts_from_its_own_time_and_is_not_told_again() -> None:
    told: list[tuple[UUID, bool]] = []
    is_over = asyncio.Event()
    ana, bob, thread_id = uuid4(), uuid4(), uuid4()

    def hear(_: UUID, frame: TypingFrame) -> None:
        told.append((frame.hint.member_id, frame.is_typing))
        if told[-1] == (bob, False):
            is_over.set()

    typists = Typists(hear)
    typists.hear(sign(thread_id, ana, for_ms=1))
    typists.hear(sign(thread_id, ana, for_ms=60_000))
    # Its time ends after the first sign's.
    typists.hear(sign(thread_id, bob, for_ms=20))
    await is_over.wait()
    now = {frame.hint.member_id for frame in typists.now(COHORT)}
    typists.close()

    assert now == {ana}
    assert told == [(ana, True), (bob, True), (bob, False)]
