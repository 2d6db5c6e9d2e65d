"""Turn-taking and publishing as pure functions: whatever happens in a thread, its invariants hold."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley_lab import talk as conversation
from parley_lab.contracts.experiment import ChatSettings
from parley_lab.kinds import Member
from parley_lab.talk import Draft, typing_seconds
from parley_lab.testing.thread_world import World, a_member, a_scene

ROOM = (
    a_member("ada"),
    a_member("bob", words_per_minute=60),
    a_member("cid", initial_message="Good morning, everybody."),
    a_member("dan", max_responses=2),
    a_member("eve", can_self_trigger=True),
    a_member("med", kind="mediator"),
    a_member("pia", player="person"),
)


STAGES = st.fixed_dictionaries(
    {
        "turn_taking": st.sampled_from(["race", "select", "round"]),
        "time_limit_seconds": st.sampled_from([None, 20.0]),
        "minimum_seconds": st.sampled_from([None, 5.0]),
        "ready_check_every": st.sampled_from([None, 1]),
        "wake_up_after_seconds": st.sampled_from([None, 4.0]),
        "topics": st.sampled_from([(), ({"id": "a", "name": "A"}, {"id": "b", "name": "B"})]),
        "max_agent_run": st.just(6),
        "late_replies": st.sampled_from(["said", "said", "dropped"]),
        "max_behind": st.sampled_from([0, 2, 10]),
        "quiet_seconds": st.sampled_from([0, 1.5]),
    }
)
HAPPENINGS = ["reply"] * 4 + ["begin"] * 3 + ["post"] * 2
HAPPENINGS += ["leave", "later", "again", "fail", "go on", "wake", "time"]


@settings(max_examples=500, deadline=None)
@given(
    data=st.data(),
    members=st.sets(st.sampled_from(ROOM), min_size=1).map(lambda chosen: tuple(sorted(chosen, key=lambda m: m.path))),
    pace=st.sampled_from(["live", "fast"]),
    stage=STAGES,
)
def test_whatever_happens_one_reply_per_trigger_no_gaps_and_silence_after_the_end(
    data: st.DataObject, members: tuple[Member, ...], pace: str, stage: dict[str, Any]
) -> None:
    world = World(a_scene(*members, pace=pace, **stage))
    world.advance()
    for _ in range(data.draw(st.integers(0, 25))):
        scene = world.scene
        thinking = [draft for draft in scene.drafts if draft.state in ("wanted", "thinking")]
        present_people = [m for m in scene.members if m.player == "person" and m.present]
        happening = data.draw(st.sampled_from(HAPPENINGS))
        if happening == "reply" and thinking:
            draft = data.draw(st.sampled_from(thinking))
            world.save(
                draft,
                text=data.draw(st.sampled_from(["I agree.", None])),
                ready_to_end=data.draw(st.booleans()),
                due_at=scene.now + timedelta(seconds=data.draw(st.integers(0, 3))),
                finish_ms=scene.clock_ms + data.draw(st.integers(0, 9000)),
            )
        elif happening == "post" and present_people and world.may_speak(present_people[0]):
            world.write(conversation.say(scene, present_people[0], "What do you think?"))
        elif happening == "begin":
            world.begin_all()
        elif happening == "leave":
            member = data.draw(st.sampled_from(scene.members))
            world.set_present(member, False)
            goodbye = conversation.say_goodbye(world.scene, member)
            if goodbye is not None:
                world.write(goodbye)
        elif happening == "fail" and thinking:
            world.fail(data.draw(st.sampled_from(thinking)))
        elif happening == "go on" and present_people:
            world.write_if(conversation.go_on(scene, present_people[0]))
        elif happening == "wake":
            world.write_if(conversation.wake_up(scene, data.draw(st.integers(1, 4))))
        elif happening == "time" and not scene.ended:
            world.write(conversation.time_is_up(scene))
        elif happening == "later":
            world.later(data.draw(st.integers(0, 30)))
        world.advance()
        at_work = [draft.member_id for draft in world.scene.drafts if is_about_messages(world, draft)]
        assert stage["late_replies"] == "dropped" or len(at_work) == len(set(at_work)), "asked again before it replied"

    assert [message.seq for message in world.messages] == list(range(1, len(world.messages) + 1))
    assert world.scene.last_seq == len(world.messages)
    answered = [message.trigger_key for message in world.messages if message.trigger_key is not None]
    assert len(answered) == len(set(answered))
    assert list(world.outcomes.values()).count("published") == len(answered)
    if world.scene.ended:
        for draft in world.scene.drafts:
            assert draft.state == "thinking", "what nobody works on is closed at once"
            world.save(draft, text="Too late.", due_at=world.scene.now)
        world.advance()
        assert world.scene.drafts == ()
    for place, message in enumerate(world.messages):
        assert behind(world, place) <= (stage["max_behind"] if stage["late_replies"] == "said" else 0), message.text


def is_about_messages(world: World, draft: Draft) -> bool:
    """Whether this reply is about the current trigger, or about one that nothing but messages has overtaken."""
    is_speech = not draft.is_opening and not draft.is_check
    return is_speech and (draft.trigger_key == world.scene.trigger_key or draft.trigger_key in world.scene.turn.late)


def behind(world: World, place: int) -> int:
    """How many messages of members came between this message and the one that it answers."""
    key = world.messages[place].trigger_key or ""
    answered = next((n for n, one in enumerate(world.messages) if key == f"message:{one.id}"), None)
    return 0 if answered is None else sum(one.author is not None for one in world.messages[answered + 1 : place])


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


def test_two_talkative_mediators_do_not_shut_out_the_participants() -> None:
    ada, med, zoe = a_member("ada"), a_member("med", kind="mediator"), a_member("zoe", kind="mediator")
    world = World(a_scene(ada, med, zoe, pace="fast", max_agent_run=12))
    world.advance()

    while not world.scene.ended:
        for draft in world.scene.drafts:
            world.save(draft, text="I have something to say.", finish_ms=world.scene.clock_ms + 10)
        world.advance()

    speakers = [message.author.name for message in world.messages if message.author]
    assert speakers[1::2] == ["Ada"] * 6


def test_where_late_replies_are_dropped_a_reply_to_an_older_message_is_and_everybody_is_asked_anew() -> None:
    pia, ada = a_member("pia", player="person"), a_member("ada")
    world = World(a_scene(pia, ada, late_replies="dropped"))
    world.write(conversation.say(world.scene, pia, "First."))
    late = world.begin(world.scene.drafts[0])
    change = conversation.say(world.scene, pia, "Second.")
    assert [draft.member_id for draft in change.wanted] == [ada.id]
    world.write(change)
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


@given(
    words=st.integers(0, 400),
    words_per_minute=st.one_of(st.none(), st.just(0.0), st.floats(1, 500)),
    seed=st.integers(0, 2**32),
)
def test_typing_takes_the_time_of_its_words_within_a_quarter_and_ten_seconds_at_most(
    words: int, words_per_minute: float | None, seed: int
) -> None:
    chat = ChatSettings(words_per_minute=words_per_minute)

    seconds = typing_seconds(" ".join(["word"] * words), chat.words_per_minute, Random(seed))

    plain = words / words_per_minute * 60 if words_per_minute else 0.0
    assert min(plain * 0.75, 10) <= seconds <= min(plain * 1.25, 10)


@pytest.mark.parametrize(("words", "per_minute", "shortest", "longest"), [(6, 120, 2.25, 3.75), (50, 60, 10, 10)])
def test_typing_delay_of_known_texts(words: int, per_minute: float, shortest: float, longest: float) -> None:
    draws = [typing_seconds("w " * words, per_minute, Random(seed)) for seed in range(200)]

    assert shortest <= min(draws) <= max(draws) <= longest
