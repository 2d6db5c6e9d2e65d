"""Which agents are seen to begin or to stop typing with a change of their thread, in pace live, where it takes time."""

from datetime import timedelta
from uuid import UUID

from parley_lab.store.session import ReadSession
from parley_lab.talk import Change, Draft, Scene
from parley_lab.talk.typing_hints import LASTS_MS, TypingHint, send


async def tell_typing(session: ReadSession, scene: Scene, change: Change) -> None:
    """Who begins with an opening line, and whose reply is dropped while they are seen to type it."""
    if scene.pace != "live":
        return
    dropped = [_hint(scene, draft.member_id, 0) for draft, _ in change.closed if draft.state == "ready"]
    begun = [
        _hint(scene, draft.member_id, int((draft.due_at - scene.now) / timedelta(milliseconds=1)) + LASTS_MS)
        for draft in change.wanted
        if draft.state == "ready" and draft.text is not None and draft.due_at is not None and draft.due_at > scene.now
    ]
    await send(session, dropped + begun)


async def tell_stopped(session: ReadSession, scene: Scene, draft: Draft) -> None:
    """The author of a reply that has lost its claim stops."""
    if scene.pace == "live":
        await send(session, [_hint(scene, draft.member_id, 0)])


def _hint(scene: Scene, member_id: UUID, for_ms: int) -> TypingHint:
    return TypingHint(scene.cohort_id, scene.thread_id, scene.stage.id, scene.scope, member_id, for_ms)
