"""People type while agents think: what is said all the same, who is asked again, and when."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from random import Random
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley_lab import talk as conversation
from parley_lab.kinds.stages import parts_of
from parley_lab.kinds.stages.private_chat.config import PrivateChatStage
from parley_lab.testing.late_talk import (
    ADA,
    BOB,
    CID,
    DEE,
    MED,
    PIA,
    a_room,
    asked,
    decline_all,
    draft_of,
    post,
    reply,
    texts,
)
from parley_lab.testing.thread_world import World, a_scene

TOPICS = ({"id": "cost", "name": "Who pays"}, {"id": "route", "name": "Where it goes"})


class TestSaid:
    @pytest.mark.parametrize("turn_taking", ["race", "select"])
    @pytest.mark.parametrize("since", [0, 1, 3])
    def test_a_reply_is_said_though_so_many_messages_came_after_the_one_it_answers(
        self, turn_taking: str, since: int
    ) -> None:
        world = a_room(ADA, PIA, turn_taking=turn_taking, max_behind=2)
        post(world, "First?")
        for _ in range(since):
            post(world)

        about_first = reply(world, ADA, "About the first.")

        assert world.outcomes[about_first.id] == ("published" if since <= 2 else "moved_on")
        if since <= 2:
            assert world.messages[-1].trigger_key == f"message:{world.messages[0].id}"

    def test_a_private_reply_is_said_too(self) -> None:
        chat = PrivateChatStage(id="questions", turn_based=False, quiet_seconds=0)
        world = World(a_scene(PIA, MED, of=chat))
        world.advance()
        reply(world, MED, None)
        post(world, "First?")
        post(world, "Second?")

        reply(world, MED, "To the first.")

        assert texts(world) == ["First?", "Second?", "To the first."]
        assert asked(world) == ["Med"]

    def test_two_replies_to_one_message_are_rivals_however_late_they_come(self) -> None:
        world = a_room(ADA, BOB, PIA)
        post(world, "First?")
        late = draft_of(world, BOB)
        post(world)
        reply(world, ADA, "I was faster.")
        post(world)

        world.save(late, text="Me, too.", due_at=world.scene.now)
        world.advance()

        assert world.outcomes[late.id] == "lost_claim"

    def test_a_reply_to_an_empty_room_is_said_after_someone_has_spoken(self) -> None:
        world = World(a_scene(ADA, PIA, quiet_seconds=0))
        world.advance()
        world.begin_all()
        post(world, "Hello?")

        reply(world, ADA, "Good morning, everybody.")

        assert texts(world) == ["Hello?", "Good morning, everybody."]
        assert asked(world) == ["Ada"]

    @pytest.mark.parametrize("event", ["topic", "call-off", "wake-up", "leaves"])
    def test_messages_are_forgiven_and_nothing_else(self, event: str) -> None:
        topics = TOPICS if event == "topic" else ()
        world = a_room(ADA, BOB, PIA, topics=topics, wake_up_after_seconds=5 if event == "wake-up" else None)
        post(world, "First?")
        late = draft_of(world, ADA)
        post(world)
        if event == "topic":
            reply(world, BOB, None, ready_to_end=True)
            world.set_present(ADA, False)
            world.write_if(conversation.go_on(world.scene, PIA))
            world.set_present(ADA, True)
        elif event == "call-off":
            world.write(conversation.call_off(world.scene))
        elif event == "wake-up":
            waking = replace(world.scene.turn, is_waking=True, wake_ups=1)
            world.scene = replace(world.scene, turn=waking)
            world.write_if(conversation.wake_up(world.scene, 1))
        else:
            world.set_present(ADA, False)

        world.save(late, text="To the first.", due_at=world.scene.now)
        world.advance()

        assert world.outcomes[late.id] == ("cancelled" if event == "leaves" else "moved_on")

    @pytest.mark.parametrize("most", [1, 3])
    def test_late_replies_do_not_let_agents_talk_among_themselves_for_ever(self, most: int) -> None:
        agents = (ADA, BOB, CID)
        world = a_room(*agents, PIA, max_agent_run=most, max_behind=100)
        for number in range(6):
            post(world, f"Thing {number}?")
            reply(world, agents[number % 3])

        for number in range(60):
            if at_work := [draft for draft in world.scene.drafts if not draft.is_check]:
                reply(world, world.scene.member(at_work[number % len(at_work)].member_id))

        authors = [message.author for message in world.messages]
        since_a_person = len(authors) - 1 - max(place for place, author in enumerate(authors) if author == PIA)
        assert not world.scene.drafts
        # Replies to what was said before the person do not count, and those on their way at the limit are still said.
        assert since_a_person <= most + 2 * len(agents)

    def test_a_person_is_answered_though_a_late_reply_came_between(self) -> None:
        world = a_room(ADA, PIA, max_agent_run=1)
        post(world, "First?")
        post(world, "Second?")

        reply(world, ADA, "To the first.")
        reply(world, ADA, "To the second.")

        assert texts(world)[-2:] == ["To the first.", "To the second."]
        assert not world.scene.drafts


def test_each_agent_gets_to_speak_though_all_think_for_the_same_time_and_a_person_posts_every_second() -> None:
    world = a_room(*(agents := (ADA, BOB, CID, DEE)), PIA, quiet_seconds=0.5)
    begun: dict[UUID, tuple[int, int]] = {}
    for now in range(0, 60_000, 10):
        if now % 1000 == 0:
            post(world)
        # A worker that has got free saves its reply some milliseconds after the one before it.
        done = [draft for draft in world.scene.drafts if draft.id in begun and now - begun[draft.id][0] >= 3000]
        for draft in sorted(done, key=lambda draft: begun[draft.id])[:1]:
            reply(world, world.scene.member(draft.member_id))
        for draft in world.scene.drafts:
            begun.setdefault(draft.id, (now, len(begun)))
        world.later(0.01)

    said = Counter(message.author for message in world.messages)
    assert all(said[agent] >= 3 for agent in agents), {agent.name: said[agent] for agent in agents}


class TestAskedAfter:
    def test_an_agent_with_a_call_in_flight_is_asked_only_after_it_about_all_that_came_meanwhile(self) -> None:
        world = a_room(ADA, PIA)
        post(world, "First?")
        post(world, "Second?")
        post(world, "Third?")
        assert [draft.as_of_seq for draft in world.scene.drafts] == [1]

        reply(world, ADA, "To the first.")

        assert [draft.as_of_seq for draft in world.scene.drafts] == [4]
        reply(world, ADA, "To all of it.")
        assert texts(world)[-2:] == ["To the first.", "To all of it."]
        assert not world.scene.drafts

    def test_an_agent_that_had_read_everything_is_not_asked_about_its_own_message(self) -> None:
        world = a_room(ADA, PIA)
        post(world)

        reply(world, ADA)

        assert not world.scene.drafts

    def test_what_no_one_works_on_yet_is_not_made(self) -> None:
        world = a_room(ADA, PIA)
        world.write(conversation.say(world.scene, PIA, "First?"))
        (waiting,) = world.scene.drafts

        world.write(conversation.say(world.scene, PIA, "Second?"))

        assert world.outcomes[waiting.id] == "moved_on"
        assert [draft.as_of_seq for draft in world.scene.drafts] == [2]

    def test_an_agent_that_is_asked_whether_it_is_ready_has_a_call_in_flight_too(self) -> None:
        world = a_room(ADA, BOB, PIA, ready_check_every=1)
        post(world)
        reply(world, BOB, None)
        reply(world, ADA, "Hello.")
        reply(world, BOB, None)
        (check,) = world.scene.drafts
        assert check.is_check

        post(world)
        assert asked(world) == ["Bob"]
        world.save(check, text=None, due_at=world.scene.now)
        world.advance()

        assert asked(world) == ["Ada", "Bob"]

    def test_agents_who_get_free_join_those_who_were_asked_before(self) -> None:
        world = a_room(ADA, BOB, PIA)
        post(world, "First?")
        post(world, "Second?")

        reply(world, ADA, None)
        assert {draft.as_of_seq for draft in world.scene.drafts} == {1, 2}
        reply(world, BOB, None)

        assert asked(world) == ["Ada", "Bob"]
        assert {draft.as_of_seq for draft in world.scene.drafts} == {2}

    def test_participants_do_not_wait_for_a_mediator_who_thinks_about_something_older(self) -> None:
        world = a_room(ADA, MED, PIA)
        post(world, "First?")
        assert asked(world) == ["Med"]

        post(world, "Second?")

        assert asked(world) == ["Ada", "Med"]

    def test_in_select_no_other_is_drawn_before_the_one_who_was_has_spoken(self) -> None:
        world = a_room(ADA, BOB, CID, PIA, turn_taking="select")
        post(world, "First?")
        (first,) = asked(world)
        post(world, "Second?")
        assert asked(world) == [first]

        reply(world, next(member for member in (ADA, BOB, CID) if member.name == first))

        (second,) = asked(world)
        assert second != first

    def test_nothing_is_over_while_a_late_reply_is_on_its_way(self) -> None:
        chat = PrivateChatStage(id="questions", turn_based=False, quiet_seconds=0, max_turns=2)
        world = World(a_scene(PIA, MED, of=chat))
        world.advance()
        reply(world, MED, None)
        post(world, "First?")
        post(world, "Second?")

        assert conversation.next_change(world.scene) is None
        reply(world, MED, "To the first.")
        reply(world, MED, "To the second.")
        assert texts(world)[-1] == "To the second."


class TestTogether:
    def test_of_replies_ready_together_that_of_who_has_spoken_least_is_said(self) -> None:
        world = a_room(ADA, BOB, PIA)
        post(world)
        reply(world, ADA, "Ada once.")
        decline_all(world)
        post(world)

        for member in (ADA, BOB):
            world.save(draft_of(world, member), text=f"{member.name} again.", due_at=world.scene.now)
        world.advance()

        assert texts(world)[-1] == "Bob again."

    def test_in_race_who_has_spoken_least_is_called_first(self) -> None:
        world = a_room(ADA, BOB, PIA)
        post(world)
        reply(world, ADA, "Ada once.")
        decline_all(world)

        change = conversation.say(world.scene, PIA, "And now?")

        assert [draft.member_id for draft in change.wanted] == [BOB.id, ADA.id]


@settings(max_examples=200, deadline=None)
@given(
    data=st.data(),
    way=st.sampled_from(["race", "select"]),
    quiet=st.sampled_from([0, 0.5]),
    private=st.booleans(),
)
def test_in_the_end_no_one_is_left_who_was_not_asked_about_what_came_while_they_thought(
    data: st.DataObject, way: str, quiet: float, private: bool
) -> None:
    chat = PrivateChatStage(id="questions", turn_based=False, quiet_seconds=quiet)
    people = (PIA, MED) if private else (ADA, BOB, MED, PIA)
    world = World(a_scene(*people, of=chat if private else None, **({} if private else {"turn_taking": way})))
    if not private:
        world.scene = replace(world.scene, stage=world.scene.stage.model_copy(update={"quiet_seconds": quiet}))
    world.advance()
    for _ in range(data.draw(st.integers(1, 12))):
        happening = data.draw(st.sampled_from(["post", "post", "begin", "reply", "later"]))
        if happening == "post":
            world.write(conversation.say(world.scene, PIA, "And this?"))
        elif happening == "begin":
            world.begin_all()
        elif happening == "reply" and world.scene.drafts:
            draft = data.draw(st.sampled_from(world.scene.drafts))
            text = data.draw(st.sampled_from(["Yes.", None]))
            world.save(draft, text=text, due_at=world.scene.now + timedelta(seconds=data.draw(st.integers(0, 2))))
        world.later(data.draw(st.sampled_from([0, 0.2, 1])))

    for _ in range(60):
        for draft in world.scene.drafts:
            if draft.state != "ready":
                world.save(draft, text=None, due_at=world.scene.now)
        world.later(1)

    assert not world.scene.drafts
    assert world.scene.turn.quiet_timer is None
    thread = conversation.view_of(world.scene)
    talk = parts_of(world.scene.stage).talk
    assert talk is not None
    assert not talk.next_wave(thread, Random(0)).speakers
    last = [message for message in world.messages if message.author is not None][-1:]
    if last and last[0].author == PIA:
        agents = {member.id for member in people if member.player == "agent"}
        assert agents <= world.scene.turn.asked
