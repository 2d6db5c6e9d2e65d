"""Turn-taking and publishing as pure functions: whatever happens in a thread, its invariants hold."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID, uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared import conversation
from shared.contracts.experiment import ChatSettings, Profile
from shared.conversation import Change, Draft, NewMessage, Scene, Turn, next_change, typing_seconds
from shared.stage import Member
from shared.stages.group_chat.config import GroupChatStage

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


def a_scene(*members: Member, pace: str = "live", **stage: object) -> Scene:
    return Scene(
        experiment_id=NAMESPACE,
        cohort_id=uuid5(NAMESPACE, "c1"),
        thread_id=uuid5(NAMESPACE, "thread"),
        path="c1/talk/group",
        stage=GroupChatStage.model_validate({"id": "talk", "kind": "group_chat", **stage}),
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
    """Ten lines of database: a trigger log, a transcript, and the promise to write a change whole or not at all."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.claims: dict[str, UUID] = {}
        self.messages: list[NewMessage] = []
        self.outcomes: dict[UUID, str] = {}

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
        self.outcomes |= {closed.id: state for closed, state in change.closed}
        self.scene = change.after

    def advance(self) -> None:
        for _ in range(1000):
            change = next_change(self.scene)
            if change is None:
                return
            self.write(change)
        raise AssertionError("the thread never comes to rest")

    def save(self, draft: Draft, **reply: object) -> None:
        ready = replace(draft, state="ready", **reply)  # type: ignore[arg-type]
        others = (other for other in self.scene.drafts if other.id != draft.id)
        self.scene = replace(self.scene, drafts=(*others, ready))

    def set_present(self, member: Member, present: bool) -> None:
        members = tuple(
            replace(other, present=present) if other.id == member.id else other for other in self.scene.members
        )
        self.scene = replace(self.scene, members=members)


ROOM = (
    a_member("ada"),
    a_member("bob", words_per_minute=60),
    a_member("cid", initial_message="Good morning, everybody."),
    a_member("dan", max_responses=2),
    a_member("eve", can_self_trigger=True),
    a_member("med", kind="mediator"),
    a_member("pia", player="person"),
)


@settings(max_examples=300, deadline=None)
@given(
    data=st.data(),
    members=st.sets(st.sampled_from(ROOM), min_size=1).map(lambda chosen: tuple(sorted(chosen, key=lambda m: m.path))),
    pace=st.sampled_from(["live", "fast"]),
    limit=st.sampled_from([None, 20.0]),
)
def test_whatever_happens_one_reply_per_trigger_no_gaps_and_silence_after_the_end(
    data: st.DataObject, members: tuple[Member, ...], pace: str, limit: float | None
) -> None:
    world = World(a_scene(*members, pace=pace, time_limit_seconds=limit, max_agent_run=6))
    world.advance()
    for _ in range(data.draw(st.integers(0, 25))):
        scene = world.scene
        thinking = [draft for draft in scene.drafts if draft.state == "wanted"]
        present_people = [m for m in scene.members if m.player == "person" and m.present]
        happening = data.draw(st.sampled_from(["reply", "reply", "reply", "post", "leave", "later", "again"]))
        if happening == "reply" and thinking:
            draft = data.draw(st.sampled_from(thinking))
            world.save(
                draft,
                text=data.draw(st.sampled_from(["I agree.", None])),
                ready_to_end=data.draw(st.booleans()),
                due_at=scene.now + timedelta(seconds=data.draw(st.integers(0, 3))),
                finish_ms=scene.clock_ms + data.draw(st.integers(0, 9000)),
            )
        elif happening == "post" and present_people and not scene.ended:
            world.write(conversation.say(scene, present_people[0], "What do you think?"))
        elif happening == "leave":
            member = data.draw(st.sampled_from(scene.members))
            world.set_present(member, False)
            goodbye = conversation.say_goodbye(world.scene, member)
            if goodbye is not None:
                world.write(goodbye)
        elif happening == "later":
            world.scene = replace(scene, now=scene.now + timedelta(seconds=data.draw(st.integers(0, 30))))
        world.advance()

    assert [message.seq for message in world.messages] == list(range(1, len(world.messages) + 1))
    assert world.scene.last_seq == len(world.messages)
    answered = [message.trigger_key for message in world.messages if message.trigger_key is not None]
    assert len(answered) == len(set(answered))
    assert list(world.outcomes.values()).count("published") == len(answered)
    if world.scene.ended:
        assert world.scene.drafts == ()


def test_a_message_of_a_person_makes_mediators_think_first() -> None:
    pia, ada, med = a_member("pia", player="person"), a_member("ada"), a_member("med", kind="mediator")
    scene = a_scene(pia, ada, med)

    change = conversation.say(scene, pia, "Hello?")

    assert [draft.member_id for draft in change.wanted] == [med.id]


def test_participants_are_asked_when_no_mediator_speaks() -> None:
    pia, ada, med = a_member("pia", player="person"), a_member("ada"), a_member("med", kind="mediator")
    world = World(a_scene(pia, ada, med))
    world.write(conversation.say(world.scene, pia, "Hello?"))
    (asked,) = world.scene.drafts
    world.save(asked, text=None, due_at=world.scene.now)

    world.advance()

    assert world.outcomes[asked.id] == "declined"
    assert [draft.member_id for draft in world.scene.drafts] == [ada.id]


def test_a_reply_to_an_older_message_is_dropped() -> None:
    pia, ada = a_member("pia", player="person"), a_member("ada")
    world = World(a_scene(pia, ada))
    world.write(conversation.say(world.scene, pia, "First."))
    (late,) = world.scene.drafts
    world.write(conversation.say(world.scene, pia, "Second."))
    world.save(late, text="About the first.", due_at=world.scene.now)

    world.advance()

    assert world.outcomes[late.id] == "moved_on"
    assert [message.text for message in world.messages] == ["First.", "Second."]


def test_an_agent_that_is_ready_to_end_speaks_first_and_then_leaves() -> None:
    ada, bob = a_member("ada"), a_member("bob")
    world = World(a_scene(ada, bob, pace="fast"))
    world.advance()
    first, second = sorted(world.scene.drafts, key=lambda draft: draft.path)
    world.save(first, text="Goodbye.", ready_to_end=True, finish_ms=10)
    world.save(second, text="Hello.", finish_ms=20)

    world.advance()

    assert [message.text for message in world.messages] == ["Goodbye.", "Ada has left the chat."]
    assert world.outcomes[second.id] == "lost_claim"
    assert [draft.member_id for draft in world.scene.drafts] == [bob.id]


def test_in_pace_fast_nothing_is_published_before_the_wave_is_in() -> None:
    ada, bob = a_member("ada"), a_member("bob")
    world = World(a_scene(ada, bob, pace="fast"))
    world.advance()
    slow, quick = sorted(world.scene.drafts, key=lambda draft: draft.path)
    world.save(slow, text="I take my time.", finish_ms=9000)
    world.advance()
    assert world.messages == []

    world.save(quick, text="First!", finish_ms=1000)
    world.advance()

    assert [message.text for message in world.messages] == ["First!"]


def test_a_time_limit_ends_a_fast_chat_with_one_line_of_the_lab() -> None:
    ada, bob = a_member("ada"), a_member("bob")
    world = World(a_scene(ada, bob, pace="fast", time_limit_seconds=5))
    world.advance()
    for draft in world.scene.drafts:
        world.save(draft, text="Late.", finish_ms=6000)

    world.advance()

    assert world.scene.ended
    assert [message.author for message in world.messages] == [None]


@given(words=st.integers(0, 400), words_per_minute=st.one_of(st.none(), st.floats(1, 500)), seed=st.integers(0, 2**32))
def test_typing_takes_the_time_of_its_words_within_a_quarter_and_ten_seconds_at_most(
    words: int, words_per_minute: float | None, seed: int
) -> None:
    seconds = typing_seconds(" ".join(["word"] * words), words_per_minute, Random(seed))

    plain = words / words_per_minute * 60 if words_per_minute else 0.0
    assert min(plain * 0.75, 10) <= seconds <= min(plain * 1.25, 10)


@pytest.mark.parametrize(("words", "per_minute", "shortest", "longest"), [(6, 120, 2.25, 3.75), (50, 60, 10, 10)])
def test_typing_delay_of_known_texts(words: int, per_minute: float, shortest: float, longest: float) -> None:
    draws = [typing_seconds("w " * words, per_minute, Random(seed)) for seed in range(200)]

    assert shortest <= min(draws) <= max(draws) <= longest
