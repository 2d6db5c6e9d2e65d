"""The parts of changes: messages, system messages, closed drafts, an end."""

from collections.abc import Collection
from dataclasses import replace
from uuid import UUID

from parley_lab.base import seeds
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import Member
from parley_lab.kinds.chat.speaking import TIME_IS_UP
from parley_lab.kinds.sentences import LabLine
from parley_lab.kinds.stages import parts_of
from parley_lab.talk.scene import Change, Closing, Draft, NewDraft, NewMessage, Scene
from parley_lab.talk.view import view_of

_TIME_IS_OVER = LabLine("The time for this conversation is over.", "time_is_over")
_TOPIC = "topic:"
"""The prefix of trigger keys of new topics."""


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
    """The id of the topic with this number; None in a conversation without topics."""
    talk = parts_of(stage).talk
    return talk.rules.topics[number][0] if talk is not None and talk.rules.topics else None


def after_speaking(scene: Scene, message: NewMessage, *, overlooked: int = 0) -> Scene:
    """The scene after a member's message: a new trigger, about which no agent was asked yet.

    `overlooked`: how many messages of members its author had not read. When one of those is a person's, the message
    belongs to what was said before it, and does not count in the run of agents' messages since.
    """
    author, turn = message.author, scene.turn
    assert author is not None  # system messages are no trigger
    is_person = author.player == "person"
    # That of an agent is over with the next message.
    keeps_quiet_time = is_person and not scene.is_of_agent
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
            quiet_until=turn.quiet_until if keeps_quiet_time else None,
            quiet_timer=turn.quiet_timer if keeps_quiet_time else None,
        ),
    )


def _overtaken(scene: Scene) -> dict[str, int]:
    """The triggers that only messages have overtaken once the next one is published, and that have replies in the
    making."""
    lateness = scene.lateness
    if lateness is None:
        return {}
    late = dict(scene.turn.late)
    if scene.turn.trigger is None or scene.turn.trigger.startswith(_TOPIC):
        late[scene.trigger_key] = scene.turn.said + lateness.max_behind
    at_work = {draft.trigger_key for draft in scene.drafts}
    return {key: most for key, most in late.items() if key in at_work}


def with_line(change: Change, text: str, *, elapsed_ms: int | None = None) -> Change:
    """Append a system message to the change, at `elapsed_ms` or now; a `LabLine` keeps its code."""
    scene = change.after
    said_at = max([scene.elapsed_ms(), *(message.elapsed_ms for message in change.messages)])
    message = new_message(scene, None, str(text), said_at if elapsed_ms is None else elapsed_ms)
    if isinstance(text, LabLine):
        message = replace(message, line={"code": text.code, "params": dict(text.params)})
    return replace(change, after=replace(scene, last_seq=message.seq), messages=(*change.messages, message))


def with_goodbye(change: Change, member: Member) -> Change:
    """Let the member leave the conversation, with a system message."""
    change = with_line(change, _goodbye(member.profile.name))
    scene = change.after
    left = {**scene.turn.left, member.id: scene.last_seq}
    turn = replace(scene.turn, ready=scene.turn.ready | {member.id}, left=left)
    return replace(change, after=replace(scene, turn=turn))


def _goodbye(name: str | None) -> LabLine:
    if not name:
        return LabLine("A participant has left the chat.", "participant_has_left")
    return LabLine(f"{name} has left the chat.", "has_left", name=name)


def with_closed(change: Change, draft: Draft, closing: Closing) -> Change:
    """Close this draft without a message; an author that is ready to end is noted as ready."""
    change = replace(change, after=without(change.after, draft), closed=(*change.closed, (draft, closing)))
    return change if closing in ("cancelled", "ended") else heard_as_ready(change, draft)


def heard_as_ready(change: Change, draft: Draft) -> Change:
    """Let an agent that is ready leave the conversation or, while more topics follow, finish this one.

    Before the minimum time of a conversation the agent stays and its readiness is forgotten, and so is readiness for an
    earlier topic.
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
    return scene.turn.topic + 1 < len(scene.talk.rules.topics)


def _may_leave(scene: Scene) -> bool:
    return scene.talk.too_early(view_of(scene)) is None


def without(scene: Scene, *drafts: Draft) -> Scene:
    gone = {draft.id for draft in drafts}
    return replace(scene, drafts=tuple(draft for draft in scene.drafts if draft.id not in gone))


def with_begun(scene: Scene, draft_ids: Collection[UUID]) -> Scene:
    """The scene after workers have started on these drafts."""
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
    """End the thread: nothing more is said in it. A reply in the making is dropped when it comes."""
    scene = change.after
    if reason == TIME_IS_UP:
        limit = scene.talk.rules.time_limit_seconds or 0
        last = max((message.elapsed_ms for message in change.messages), default=scene.clock_ms)
        said_at = max(int(limit * 1000), last if scene.turn.is_overtime else 0)
        change = with_line(change, _TIME_IS_OVER, elapsed_ms=said_at)
    over = close_leftovers(replace(change.after, ended=True))
    return replace(change, after=over.after, closed=change.closed + over.closed, end_reason=reason)


def close_leftovers(scene: Scene) -> Change:
    """Close every draft of a thread that is over.

    A draft that a worker is thinking about is left to that worker: it is closed when the worker returns or its lease
    ends.
    """
    left = tuple(draft for draft in scene.drafts if draft.state != "thinking")
    closed: tuple[tuple[Draft, Closing], ...] = tuple((draft, "ended") for draft in left)
    return Change(without(scene, *left), closed=closed)
