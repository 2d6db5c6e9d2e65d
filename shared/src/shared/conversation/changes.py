"""The parts that changes are put together from: messages, lines of the lab, drafts that close, an end."""

from collections.abc import Collection
from dataclasses import replace
from uuid import UUID

from shared import seeds
from shared.chat.speaking import TIME_IS_UP
from shared.contracts.experiment import StageConfig
from shared.conversation.scene import Change, Closing, Draft, NewDraft, NewMessage, Scene
from shared.conversation.view import view_of
from shared.stage import Member
from shared.stages import kind_of

_TOPIC = "topic:"
"""What the trigger keys of topics that have just begun begin with."""


def new_message(
    scene: Scene,
    author: Member | None,
    text: str,
    elapsed_ms: int,
    *,
    trigger_key: str | None = None,
    explanation: str | None = None,
    client_key: str | None = None,
    reply_to: UUID | None = None,
) -> NewMessage:
    seq = scene.last_seq + 1
    return NewMessage(
        id=seeds.row_id(scene.experiment_id, f"{scene.path}/{seq}"),
        seq=seq,
        author=author,
        text=text,
        elapsed_ms=elapsed_ms,
        topic=topic_of(scene.stage, scene.turn.topic),
        trigger_key=trigger_key,
        explanation=explanation,
        client_key=client_key,
        reply_to=reply_to,
    )


def topic_of(stage: StageConfig, number: int) -> str | None:
    """The id of the topic at this place; None in a conversation without topics."""
    topics = kind_of(stage).topics(stage)
    return topics[number][0] if topics else None


def after_speaking(scene: Scene, message: NewMessage, *, overlooked: int = 0) -> Scene:
    """The scene once a member's message stands: a new trigger, about which nobody was asked yet.

    `overlooked`: how many messages of members its author had not read. When one of those is a person's, the message is
    still to what was said before that, and does not count in the run of agents' messages since.
    """
    author, turn = message.author, scene.turn
    assert author is not None  # the lab's own lines are no trigger
    is_person = author.player == "person"
    spoken = {**turn.spoken, author.id: turn.spoken.get(author.id, 0) + 1}
    return replace(
        scene,
        last_seq=message.seq,
        last_spoken_id=message.id,
        last_spoken_trigger=message.trigger_key,
        last_spoken_at=scene.now,
        last_author_id=author.id,
        last_text=message.text,
        agent_run=0 if is_person else scene.agent_run + (turn.person_spoke_at <= turn.said - overlooked),
        clock_ms=max(scene.clock_ms, message.elapsed_ms),
        failed={},
        turn=replace(
            turn,
            spoken=spoken,
            asked=frozenset(),
            wave=0,
            trigger=None,
            skips=0,
            unanswered=0,
            is_waking=False,
            has_noticed=False,
            is_resting=False,
            started_ms=message.elapsed_ms if turn.started_ms is None else turn.started_ms,
            late=_overtaken(scene),
            has_overlooked=overlooked > 0,
            person_spoke_at=turn.said + 1 if is_person else turn.person_spoke_at,
            quiet_until=turn.quiet_until if is_person else None,
            quiet_timer=turn.quiet_timer if is_person else None,
        ),
    )


def _overtaken(scene: Scene) -> dict[str, int]:
    """The triggers that nothing but messages has overtaken once the next one stands, and that somebody works on."""
    lateness = scene.lateness
    if lateness is None:
        return {}
    late = dict(scene.turn.late)
    if scene.turn.trigger is None or scene.turn.trigger.startswith(_TOPIC):
        late[scene.trigger_key] = scene.turn.said + lateness.max_behind
    at_work = {draft.trigger_key for draft in scene.drafts}
    return {key: most for key, most in late.items() if key in at_work}


def with_line(change: Change, text: str, *, elapsed_ms: int | None = None) -> Change:
    """The change with a line of the lab's at its end, said at `elapsed_ms` or now."""
    scene = change.after
    said_at = max([scene.elapsed_ms(), *(message.elapsed_ms for message in change.messages)])
    message = new_message(scene, None, text, said_at if elapsed_ms is None else elapsed_ms)
    return replace(change, after=replace(scene, last_seq=message.seq), messages=(*change.messages, message))


def with_goodbye(change: Change, member: Member) -> Change:
    """The member leaves the conversation, and the lab says so."""
    change = with_line(change, f"{member.profile.name or 'A participant'} has left the chat.")
    scene = change.after
    left = {**scene.turn.left, member.id: scene.last_seq}
    turn = replace(scene.turn, ready=scene.turn.ready | {member.id}, left=left)
    return replace(change, after=replace(scene, turn=turn))


def with_closed(change: Change, draft: Draft, closing: Closing) -> Change:
    """The change with this draft closed without a message; its author is heard when they said that they are ready."""
    change = replace(change, after=without(change.after, draft), closed=(*change.closed, (draft, closing)))
    return change if closing in ("cancelled", "ended") else heard_as_ready(change, draft)


def heard_as_ready(change: Change, draft: Draft) -> Change:
    """An agent that is ready leaves the conversation or, while more topics follow, is done with this one.

    Before its minimum time a conversation is left by nobody: the wish is forgotten. So is one about an earlier topic.
    """
    scene = change.after
    author = scene.member(draft.member_id)
    is_about_this = draft.as_of_seq >= scene.turn.topic_since_seq
    if not draft.ready_to_end or not is_about_this or author.kind != "participant" or author.id in scene.turn.ready:
        return change
    if has_more_topics(scene):
        turn = replace(scene.turn, done=scene.turn.done | {author.id})
        return replace(change, after=replace(scene, turn=turn))
    return with_goodbye(change, author) if _may_leave(scene) else change


def has_more_topics(scene: Scene) -> bool:
    return scene.turn.topic + 1 < len(kind_of(scene.stage).topics(scene.stage))


def _may_leave(scene: Scene) -> bool:
    return kind_of(scene.stage).too_early(scene.stage, view_of(scene)) is None


def without(scene: Scene, *drafts: Draft) -> Scene:
    gone = {draft.id for draft in drafts}
    return replace(scene, drafts=tuple(draft for draft in scene.drafts if draft.id not in gone))


def with_begun(scene: Scene, draft_ids: Collection[UUID]) -> Scene:
    """The scene in which workers have begun to think about these drafts."""
    drafts = (replace(draft, state="thinking") if draft.id in draft_ids else draft for draft in scene.drafts)
    return replace(scene, drafts=tuple(drafts))


def as_drafts(wanted: tuple[NewDraft, ...]) -> tuple[Draft, ...]:
    return tuple(
        Draft(
            draft.id,
            draft.path,
            draft.member_id,
            draft.trigger_key,
            draft.state,
            draft.due_at,
            draft.finish_ms,
            draft.text,
            as_of_seq=draft.as_of_seq,
        )
        for draft in wanted
    )


def ending(change: Change, reason: str) -> Change:
    """The thread is over: nothing more is said in it. A reply that is being thought about is dropped when it comes."""
    scene = change.after
    if reason == TIME_IS_UP:
        limit = kind_of(scene.stage).time_limit_seconds(scene.stage) or 0
        last = max((message.elapsed_ms for message in change.messages), default=scene.clock_ms)
        said_at = max(int(limit * 1000), last if scene.turn.is_overtime else 0)
        change = with_line(change, "The time for this conversation is over.", elapsed_ms=said_at)
    over = close_leftovers(replace(change.after, ended=True))
    return replace(change, after=over.after, closed=change.closed + over.closed, end_reason=reason)


def close_leftovers(scene: Scene) -> Change:
    """In a thread that is over, every draft is closed.

    Except those that are thought about: they belong to the worker that leased them, and are closed when that worker is
    back or its lease ends.
    """
    left = tuple(draft for draft in scene.drafts if draft.state != "thinking")
    closed: tuple[tuple[Draft, Closing], ...] = tuple((draft, "ended") for draft in left)
    return Change(without(scene, *left), closed=closed)
