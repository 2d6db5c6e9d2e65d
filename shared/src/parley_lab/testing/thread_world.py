"""A database in memory for the rules of conversations: a trigger log, a transcript, atomic changes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from parley_lab import talk as conversation
from parley_lab.contracts.experiment import ChatSettings, Profile, StageConfig
from parley_lab.kinds import Member
from parley_lab.kinds.stages import parts_of
from parley_lab.kinds.stages.group_chat.config import GroupChatStage
from parley_lab.talk import Change, Draft, NewMessage, NewTimer, Scene, Turn, next_change

NAMESPACE = UUID(int=7)
START_OF_TIME = datetime(2026, 1, 1, tzinfo=UTC)


def a_member(name: str, *, kind: str = "participant", player: str = "agent", **chat: object) -> Member:
    return Member(
        id=uuid5(NAMESPACE, name),
        path=f"c1/{name}",
        kind="mediator" if kind == "mediator" else "participant",
        player="person" if player == "person" else "agent",
        profile=Profile(name=name.title()),
        chat=ChatSettings.model_validate(chat),
    )


def a_scene(*members: Member, pace: str = "live", of: StageConfig | None = None, **stage: Any) -> Scene:
    """An empty room; a private conversation with the mediators when the stage `of` has those."""
    return Scene(
        experiment_id=NAMESPACE,
        cohort_id=uuid5(NAMESPACE, "c1"),
        thread_id=uuid5(NAMESPACE, "thread"),
        path="c1/talk/group",
        stage=of or GroupChatStage.model_validate({"id": "talk", "kind": "group_chat", **stage}),
        scope=f"private:{members[0].path}" if of and parts_of(of).is_private else "group",
        seed=1,
        pace="fast" if pace == "fast" else "live",
        now=START_OF_TIME,
        opened_at=START_OF_TIME,
        ended=False,
        held=False,
        last_seq=0,
        last_spoken_id=None,
        last_spoken_trigger=None,
        last_author_id=None,
        last_text="",
        agent_run=0,
        clock_ms=0,
        turn=Turn(),
        members=members,
        providers={member.id: "mock" for member in members if member.player == "agent"},
        drafts=(),
    )


class World:
    """A database in memory: a trigger log, a transcript, and atomic writes of changes."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.claims: dict[str, UUID] = {}
        self.messages: list[NewMessage] = []
        self.outcomes: dict[UUID, str] = {}
        self.timers: list[NewTimer] = []

    def write(self, change: Change) -> None:
        draft = change.claims
        if draft is not None and draft.trigger_key in self.claims:
            self.outcomes[draft.id] = "lost_claim"
            self.write(conversation.lose(self.scene, draft))
            return
        if draft is not None:
            self.claims[draft.trigger_key] = draft.id
            self.outcomes[draft.id] = "published"
        assert not (self.scene.ended and change.messages), "nothing is said after the end"
        self.messages += change.messages
        self.timers += change.timers
        self.outcomes |= {closed.id: state for closed, state in change.closed}
        self.scene = change.after

    def advance(self) -> None:
        for _ in range(1000):
            change = next_change(self.scene)
            if change is None:
                return
            self.write(change)
        raise AssertionError("the thread never comes to rest")

    def begin(self, draft: Draft) -> Draft:
        """Let a worker start on the draft."""
        thinking = replace(draft, state="thinking")
        drafts = tuple(thinking if other.id == draft.id else other for other in self.scene.drafts)
        self.scene = replace(self.scene, drafts=drafts)
        return thinking

    def begin_all(self) -> None:
        """Let workers start on all wanted drafts."""
        for draft in self.scene.drafts:
            if draft.state == "wanted":
                self.begin(draft)

    def save(self, draft: Draft, **reply: object) -> None:
        ready = replace(draft, state="ready", **reply)  # type: ignore[arg-type]
        others = (other for other in self.scene.drafts if other.id != draft.id)
        self.scene = replace(self.scene, drafts=(*others, ready))

    def write_if(self, change: Change | None) -> None:
        if change is not None:
            self.write(change)

    def fail(self, draft: Draft, how: str = "failed") -> None:
        """Let the model give no usable reply."""
        self.outcomes[draft.id] = how
        failed = {**self.scene.failed, draft.member_id: how} if self.is_current(draft) else self.scene.failed
        others = tuple(other for other in self.scene.drafts if other.id != draft.id)
        self.scene = replace(self.scene, drafts=others, failed=failed)

    def is_current(self, draft: Draft) -> bool:
        return draft.trigger_key == self.scene.trigger_key

    def may_speak(self, member: Member) -> bool:
        thread = conversation.view_of(self.scene)
        return not self.scene.ended and self.scene.talk.may_not_speak(thread, member.id) is None

    def scene_at(self, seconds: float) -> Scene:
        """The scene, so many seconds later."""
        return replace(self.scene, now=self.scene.now + timedelta(seconds=seconds))

    def later(self, seconds: float) -> None:
        """Let so many seconds pass; every quiet time that is over by then ends."""
        self.scene = self.scene_at(seconds)
        for timer in self.timers:
            if timer.purpose == "quiet" and timer.due_at <= self.scene.now:
                self.write_if(conversation.end_quiet_time(self.scene, timer.generation))
        self.advance()

    def set_present(self, member: Member, present: bool) -> None:
        members = tuple(
            replace(other, present=present) if other.id == member.id else other for other in self.scene.members
        )
        self.scene = replace(self.scene, members=members)
