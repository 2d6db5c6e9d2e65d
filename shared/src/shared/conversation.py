"""What happens next in a thread, as a pure function of what stands in it.

`next_change` is level-triggered: given the present scene it names the one change that is due, or None. The caller holds
the thread's lock, writes the change, and asks again. Two agents never answer one trigger because writing a change that
publishes a draft claims the trigger (`shared.db.conversation`); nothing here is needed for that.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any, Literal
from uuid import UUID

from shared import seeds
from shared.contracts.experiment import StageConfig
from shared.stage import TALK, Member, Speaker, Thread
from shared.stages import kind_of

START = "start"
"""The trigger of an empty room, shared by all agents without a fixed opening line."""

LONGEST_TYPING_SECONDS = 10.0
SIMULATED_THINKING_SECONDS = (1.0, 4.0)
"""How long a model is taken to think in pace `fast`, uniformly drawn; order and transcript times follow from it."""

TIME_IS_UP = "time limit"
DraftState = Literal["wanted", "thinking", "ready"]
Closing = Literal["declined", "moved_on", "lost_claim", "cancelled", "ended"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A reply that is being made for a trigger of this thread. `text` None in a ready draft: the agent says nothing."""

    id: UUID
    path: str
    member_id: UUID
    trigger_key: str
    state: DraftState
    due_at: datetime | None = None
    finish_ms: int | None = None
    text: str | None = None
    explanation: str | None = None
    ready_to_end: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """Turn-taking facts kept with the thread.

    `asked` and `wave` are about the current trigger; `opened` had their opening line wanted; `ready` are ready to end.
    """

    asked: frozenset[UUID] = frozenset()
    wave: int = 0
    opened: frozenset[UUID] = frozenset()
    ready: frozenset[UUID] = frozenset()
    spoken: Mapping[UUID, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scene:
    """A thread, everybody in it, and its open drafts, as read under its lock."""

    experiment_id: UUID
    cohort_id: UUID
    thread_id: UUID
    path: str
    stage: StageConfig
    seed: int
    pace: Literal["live", "fast"]
    now: datetime
    opened_at: datetime
    ended: bool
    held: bool
    last_seq: int
    last_spoken_id: UUID | None
    last_spoken_trigger: str | None
    last_author_id: UUID | None
    last_text: str
    agent_run: int
    clock_ms: int
    turn: Turn
    members: tuple[Member, ...]
    providers: Mapping[UUID, str]
    drafts: tuple[Draft, ...]

    @property
    def trigger_key(self) -> str:
        return START if self.last_spoken_id is None else f"message:{self.last_spoken_id}"

    @property
    def has_people(self) -> bool:
        return any(member.player == "person" and member.present for member in self.members)

    def member(self, member_id: UUID) -> Member:
        return next(member for member in self.members if member.id == member_id)

    def elapsed_ms(self) -> int:
        """Time since the opening: real, but in pace `fast` never before the simulated time."""
        real = int((self.now - self.opened_at) / timedelta(milliseconds=1))
        return max(self.clock_ms, real) if self.pace == "live" or self.has_people else self.clock_ms


@dataclass(frozen=True, slots=True)
class NewMessage:
    id: UUID
    seq: int
    author: Member | None
    text: str
    elapsed_ms: int
    trigger_key: str | None = None
    explanation: str | None = None
    client_key: str | None = None
    reply_to: UUID | None = None
    quote: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NewDraft:
    id: UUID
    path: str
    member_id: UUID
    trigger_key: str
    wave: int
    as_of_seq: int
    provider: str
    purpose: str = TALK
    state: Literal["wanted", "ready"] = "wanted"
    text: str | None = None
    due_at: datetime | None = None
    finish_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One write: all of it happens or, when `claims` loses its trigger, nothing but the closing of that draft.

    `after` is the scene once it is written.
    """

    after: Scene
    claims: Draft | None = None
    messages: tuple[NewMessage, ...] = ()
    wanted: tuple[NewDraft, ...] = ()
    closed: tuple[tuple[Draft, Closing], ...] = ()
    end_reason: str | None = None


def typing_seconds(text: str, words_per_minute: float | None, rng: Random) -> float:
    """How long typing `text` takes: words / words_per_minute minutes times 0.75 to 1.25, at most 10 seconds."""
    if not words_per_minute:
        return 0.0
    seconds = len(text.split()) / words_per_minute * 60 * rng.uniform(0.75, 1.25)
    return min(seconds, LONGEST_TYPING_SECONDS)


def thinking_seconds(rng: Random) -> float:
    return rng.uniform(*SIMULATED_THINKING_SECONDS)


def next_change(scene: Scene) -> Change | None:
    """The change that is due now; None when the thread waits for somebody, or is over and tidied up."""
    if scene.ended:
        return _close_leftovers(scene)
    if scene.held:
        return None
    return _greet(scene) or _publish_next(scene) or _ask_next(scene)


def say(
    scene: Scene, author: Member, text: str, *, client_key: str | None = None, reply_to: UUID | None = None
) -> Change:
    """A person's message, and whom it makes think. The thread must be open."""
    message = _message(scene, author, text, scene.elapsed_ms(), client_key=client_key, reply_to=reply_to)
    return _with_next_wave(Change(_after_speaking(scene, message), messages=(message,)))


def say_goodbye(scene: Scene, member: Member) -> Change | None:
    """The lab's line that `member` has left; None when it was said already or the thread is over."""
    if scene.ended or member.id in scene.turn.ready:
        return None
    return _add_goodbye(Change(scene), member)


def end(scene: Scene, reason: str) -> Change:
    """The thread is over: nothing more is said in it. A reply that is being thought about is dropped when it comes."""
    messages: tuple[NewMessage, ...] = ()
    if reason == TIME_IS_UP:
        limit = kind_of(scene.stage).time_limit_seconds(scene.stage) or 0
        messages = (_message(scene, None, "The time for this conversation is over.", int(limit * 1000)),)
    after = replace(scene, ended=True, last_seq=scene.last_seq + len(messages))
    leftovers = _close_leftovers(after)
    closed = leftovers.closed if leftovers else ()
    return Change(_without(after, closed), messages=messages, closed=closed, end_reason=reason)


def lose(scene: Scene, draft: Draft) -> Change:
    """The scene after `draft` lost its claim: its author leaves all the same when it was ready to end."""
    return _close(scene, draft, "lost_claim")


def view_of(scene: Scene) -> Thread:
    """The thread as the kind's turn-taking sees it."""
    speakers = (
        Speaker(member, scene.turn.spoken.get(member.id, 0), member.id in scene.turn.ready) for member in scene.members
    )
    return Thread(
        path=scene.path,
        pace=scene.pace,
        trigger_key=scene.trigger_key,
        last_author_id=scene.last_author_id,
        message_count=scene.last_seq,
        agent_run=scene.agent_run,
        speakers=tuple(speakers),
        asked=scene.turn.asked,
        ended=scene.ended,
        last_text=scene.last_text,
    )


def _close_leftovers(scene: Scene) -> Change | None:
    # A thinking draft belongs to the worker that leased it: it is closed when that worker is back or its lease ends.
    closed: tuple[tuple[Draft, Closing], ...] = tuple(
        (draft, "ended") for draft in scene.drafts if draft.state != "thinking"
    )
    return Change(_without(scene, closed), closed=closed) if closed else None


def _greet(scene: Scene) -> Change | None:
    """Fixed opening lines of agents that are here and have not had theirs."""
    newcomers = [
        member
        for member in scene.members
        if member.present
        and member.player == "agent"
        and member.chat.initial_message
        and member.id not in scene.turn.opened | scene.turn.ready
    ]
    if not newcomers:
        return None
    wanted = tuple(_opening_line(scene, member) for member in newcomers)
    turn = replace(scene.turn, opened=scene.turn.opened | {member.id for member in newcomers})
    return Change(replace(scene, turn=turn, drafts=scene.drafts + _as_drafts(wanted)), wanted=wanted)


def _opening_line(scene: Scene, member: Member) -> NewDraft:
    path = f"{member.path}/{scene.stage.id}/opening"
    delay = typing_seconds(member.chat.initial_message, member.chat.words_per_minute, seeds.rng(scene.seed, path))
    return NewDraft(
        id=seeds.row_id(scene.experiment_id, path),
        path=path,
        member_id=member.id,
        trigger_key=f"{START}:{member.id}",
        wave=0,
        as_of_seq=scene.last_seq,
        provider="line",
        state="ready",
        text=member.chat.initial_message,
        due_at=scene.now + timedelta(seconds=delay) if scene.pace == "live" else scene.now,
        finish_ms=scene.clock_ms + int(delay * 1000),
    )


def _publish_next(scene: Scene) -> Change | None:
    """The next ready draft that is due: published, or closed with the reason why not."""
    draft = next(_due(scene), None)
    if draft is None:
        return None
    limit = kind_of(scene.stage).time_limit_seconds(scene.stage)
    if scene.pace == "fast" and not scene.has_people and limit is not None and (draft.finish_ms or 0) > limit * 1000:
        return end(scene, TIME_IS_UP)
    closing = why_not(scene, draft)
    return _close(scene, draft, closing) if closing else _publish(scene, draft)


def _due(scene: Scene) -> Iterator[Draft]:
    """Ready drafts in the order in which they take effect.

    In pace `fast` nothing is due before everybody asked about the current trigger is ready, so that the order depends
    on the drawn finish times alone and not on which call happened to return first.
    """
    ready = [draft for draft in scene.drafts if draft.state == "ready"]
    if scene.pace == "live":
        yield from sorted(
            (draft for draft in ready if draft.due_at is not None and draft.due_at <= scene.now),
            key=lambda draft: (draft.due_at, draft.path),
        )
    elif not any(draft.state != "ready" and draft.trigger_key == scene.trigger_key for draft in scene.drafts):
        # Openings come before replies: a reply to one of several opening lines would be drawn by chance of arrival.
        yield from sorted(ready, key=lambda draft: (not _is_opening(draft), draft.finish_ms or 0, draft.path))


def why_not(scene: Scene, draft: Draft) -> Closing | None:
    """Why this ready draft must not be published; None when it may try to claim its trigger.

    A message that answers the same trigger does not count as the conversation moving on: which of several answers is
    the one is decided by the claim.
    """
    author = scene.member(draft.member_id)
    if scene.ended:
        return "ended"
    if not author.present or (author.id in scene.turn.ready):
        return "cancelled"
    if draft.text is None:
        return "declined"
    if not _is_opening(draft) and draft.trigger_key not in (scene.trigger_key, scene.last_spoken_trigger):
        return "moved_on"
    spoken = scene.turn.spoken.get(author.id, 0)
    if author.chat.max_responses is not None and spoken >= author.chat.max_responses:
        return "cancelled"
    return None


def _is_opening(draft: Draft) -> bool:
    return draft.trigger_key.startswith(f"{START}:")


def _publish(scene: Scene, draft: Draft) -> Change:
    author = scene.member(draft.member_id)
    elapsed = scene.elapsed_ms() if scene.pace == "live" else max(scene.elapsed_ms(), draft.finish_ms or 0)
    message = _message(
        scene, author, draft.text or "", elapsed, trigger_key=draft.trigger_key, explanation=draft.explanation
    )
    after = _after_speaking(_without(scene, ((draft, "ended"),)), message)
    change = Change(after, claims=draft, messages=(message,))
    if draft.ready_to_end and author.kind == "participant":
        change = _add_goodbye(change, author)
    if scene.pace == "fast":
        change = _close_losers(change, draft)
    return _with_next_wave(change)


def _close_losers(change: Change, winner: Draft) -> Change:
    """In pace `fast` the wave is decided at once: the others lost the claim, and those who are ready to end leave."""
    losers = [
        draft for draft in change.after.drafts if draft.state == "ready" and draft.trigger_key == winner.trigger_key
    ]
    for loser in losers:
        change = _close_in(change, loser, "declined" if loser.text is None else "lost_claim")
    return change


def _close(scene: Scene, draft: Draft, closing: Closing) -> Change:
    return _close_in(Change(scene), draft, closing)


def _close_in(change: Change, draft: Draft, closing: Closing) -> Change:
    change = replace(
        change,
        after=_without(change.after, ((draft, closing),)),
        closed=(*change.closed, (draft, closing)),
    )
    author = change.after.member(draft.member_id)
    leaves = draft.ready_to_end and author.kind == "participant" and closing not in ("cancelled", "ended")
    return _add_goodbye(change, author) if leaves and author.id not in change.after.turn.ready else change


def _add_goodbye(change: Change, member: Member) -> Change:
    scene = change.after
    line = f"{member.profile.name or 'A participant'} has left the chat."
    message = replace(_message(scene, None, line, scene.elapsed_ms()), elapsed_ms=_latest(change, scene))
    turn = replace(scene.turn, ready=scene.turn.ready | {member.id})
    after = replace(scene, last_seq=message.seq, turn=turn)
    return replace(change, after=after, messages=(*change.messages, message))


def _latest(change: Change, scene: Scene) -> int:
    return max([scene.elapsed_ms(), *(message.elapsed_ms for message in change.messages)])


def _ask_next(scene: Scene) -> Change | None:
    change = _with_next_wave(Change(scene))
    return change if change.wanted or change.end_reason else None


def _with_next_wave(change: Change) -> Change:
    """Add the drafts of the members who are asked next, or the end of a thread in which nobody will speak again."""
    scene = change.after
    if _is_waiting(scene):
        return change
    rng = seeds.rng(scene.seed, f"{scene.path}/{_trigger_label(scene)}/wave:{scene.turn.wave + 1}")
    wave = kind_of(scene.stage).next_wave(scene.stage, view_of(scene), rng)
    if wave.over is not None:
        if any(member.awaited for member in scene.members):
            return change
        ending = end(scene, wave.over)
        return replace(
            change,
            after=ending.after,
            messages=change.messages + ending.messages,
            closed=change.closed + ending.closed,
            end_reason=wave.over,
        )
    wanted = tuple(_wanted(scene, scene.member(member_id), wave.purpose) for member_id in wave.speakers)
    if not wanted:
        return change
    turn = replace(scene.turn, asked=scene.turn.asked | set(wave.speakers), wave=scene.turn.wave + 1)
    after = replace(scene, turn=turn, drafts=scene.drafts + _as_drafts(wanted))
    return replace(change, after=after, wanted=change.wanted + wanted)


def _is_waiting(scene: Scene) -> bool:
    """Whether somebody is still at work on the current trigger, or an opening line comes first."""
    openings_first = scene.pace == "fast" or scene.trigger_key == START
    return any(
        draft.trigger_key == scene.trigger_key or (openings_first and _is_opening(draft)) for draft in scene.drafts
    )


def _wanted(scene: Scene, member: Member, purpose: str) -> NewDraft:
    path = f"{member.path}/{scene.stage.id}/{_trigger_label(scene)}"
    return NewDraft(
        id=seeds.row_id(scene.experiment_id, path),
        path=path,
        member_id=member.id,
        trigger_key=scene.trigger_key,
        wave=scene.turn.wave + 1,
        as_of_seq=scene.last_seq,
        provider=scene.providers[member.id],
        purpose=purpose,
    )


def _trigger_label(scene: Scene) -> str:
    """The current trigger by its position, which ids do not tell."""
    return START if scene.last_spoken_id is None else f"after:{sum(scene.turn.spoken.values())}"


def _as_drafts(wanted: tuple[NewDraft, ...]) -> tuple[Draft, ...]:
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
        )
        for draft in wanted
    )


def _without(scene: Scene, closed: tuple[tuple[Draft, str], ...]) -> Scene:
    gone = {draft.id for draft, _ in closed}
    return replace(scene, drafts=tuple(draft for draft in scene.drafts if draft.id not in gone))


def _message(
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
        trigger_key=trigger_key,
        explanation=explanation,
        client_key=client_key,
        reply_to=reply_to,
    )


def _after_speaking(scene: Scene, message: NewMessage) -> Scene:
    """The scene once a member's message stands: a new trigger, about which nobody was asked yet."""
    author = message.author
    assert author is not None  # the lab's own lines are no trigger
    spoken = {**scene.turn.spoken, author.id: scene.turn.spoken.get(author.id, 0) + 1}
    return replace(
        scene,
        last_seq=message.seq,
        last_spoken_id=message.id,
        last_spoken_trigger=message.trigger_key,
        last_author_id=author.id,
        last_text=message.text,
        agent_run=0 if author.player == "person" else scene.agent_run + 1,
        clock_ms=max(scene.clock_ms, message.elapsed_ms),
        turn=replace(scene.turn, spoken=spoken, asked=frozenset(), wave=0),
    )
