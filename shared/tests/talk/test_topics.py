"""Topics, as the rules of conversations put one after another."""

from typing import Any

import pytest

from parley_lab import talk as conversation
from parley_lab.testing.group_talks import ADA, BOB, PIA, TOPICS, a_world, asked, holder, reply, texts, the_draft
from parley_lab.testing.thread_world import a_member


class TestTopics:
    def test_a_topic_changes_when_all_active_members_are_ready(self) -> None:
        other = a_member("quinn", player="person")
        world = a_world(ADA, PIA, other, topics=TOPICS)
        reply(world, ADA, None, ready_to_end=True)
        world.write_if(conversation.go_on(world.scene, PIA))
        assert world.scene.turn.topic == 0

        world.write_if(conversation.go_on(world.scene, other))

        assert world.scene.turn.topic == 1
        assert texts(world) == ["The conversation goes on to: Where it goes"]
        assert world.messages[-1].topic == "route"
        assert asked(world) == {"Ada"}

    def test_a_topic_changes_when_the_last_one_leaves(self) -> None:
        other = a_member("quinn", player="person")
        world = a_world(ADA, PIA, other, topics=TOPICS)
        reply(world, ADA, None, ready_to_end=True)
        world.write_if(conversation.go_on(world.scene, PIA))

        world.set_present(other, False)
        goodbye = conversation.say_goodbye(world.scene, other)
        assert goodbye is not None
        world.write(goodbye)
        world.advance()

        assert world.scene.turn.topic == 1

    def test_agents_who_have_fallen_silent_are_asked_when_a_person_is_done(self) -> None:
        world = a_world(ADA, PIA, topics=TOPICS)
        reply(world, ADA, None)
        assert not world.scene.drafts

        world.write_if(conversation.go_on(world.scene, PIA))
        (check,) = world.scene.drafts
        assert check.is_check
        world.save(check, text=None, ready_to_end=True, due_at=world.scene.now)
        world.advance()

        assert world.scene.turn.topic == 1

    def test_from_the_last_topic_each_agent_leaves_alone(self) -> None:
        world = a_world(ADA, BOB, PIA, topics=TOPICS[:1])

        reply(world, ADA, None, ready_to_end=True)

        assert texts(world) == ["Ada has left the chat."]
        assert conversation.go_on(world.scene, PIA) is None

    def test_an_agent_that_may_no_longer_speak_counts_as_ready(self) -> None:
        quiet = a_member("quiet", max_responses=0)
        world = a_world(quiet, PIA, topics=TOPICS)

        world.write_if(conversation.go_on(world.scene, PIA))

        assert world.scene.turn.topic == 1

    def test_an_agent_that_may_not_be_called_yet_keeps_no_one_from_going_on(self) -> None:
        patient = a_member("patient", min_messages_before_responding=9)
        world = a_world(patient, PIA, topics=TOPICS)
        assert world.scene.turn.topic == 0

        world.write_if(conversation.go_on(world.scene, PIA))

        assert world.scene.turn.topic == 1
        assert not world.scene.drafts

    def test_a_reply_about_the_old_topic_is_dropped(self) -> None:
        world = a_world(ADA, PIA, topics=TOPICS)
        late = the_draft(world, ADA)
        world.set_present(ADA, False)
        world.write_if(conversation.go_on(world.scene, PIA))
        world.set_present(ADA, True)
        world.advance()

        world.save(late, text="About the old.", due_at=world.scene.now)
        world.advance()

        assert world.outcomes[late.id] == "moved_on"
        assert the_draft(world, ADA).trigger_key == "topic:route"

    @pytest.mark.parametrize("topics", [TOPICS, (*TOPICS, {"id": "night", "name": "And at night"})], ids=[2, 3])
    def test_who_was_ready_for_the_end_of_the_old_topic_stays_for_the_new_one(self, topics: Any) -> None:
        world = a_world(ADA, PIA, topics=topics)
        late = the_draft(world, ADA)
        world.set_present(ADA, False)
        world.write_if(conversation.go_on(world.scene, PIA))
        world.set_present(ADA, True)
        world.advance()

        world.save(late, text="That was all.", ready_to_end=True, due_at=world.scene.now)
        world.advance()

        assert world.outcomes[late.id] == "moved_on"
        assert ADA.id not in world.scene.turn.done | world.scene.turn.ready

    def test_in_turns_who_is_done_with_the_topic_gives_up_their_turn(self) -> None:
        world = a_world(ADA, PIA, topics=TOPICS, turn_taking="round")
        while holder(world) != "Pia":
            reply(world, ADA)

        world.write_if(conversation.go_on(world.scene, PIA))

        assert holder(world) == "Ada"
        assert world.scene.turn.topic == 0
        assert not any("skipped" in line for line in texts(world))

    def test_who_said_the_last_words_of_a_topic_may_open_the_next(self) -> None:
        world = a_world(ADA, PIA, topics=TOPICS)
        world.write_if(conversation.go_on(world.scene, PIA))

        reply(world, ADA, "That is all.", ready_to_end=True)

        assert [message.topic for message in world.messages] == ["cost", "route"]
        assert asked(world) == {"Ada"}

    def test_agents_among_themselves_go_through_all_topics_to_the_end(self) -> None:
        world = a_world(ADA, BOB, topics=TOPICS, pace="fast")
        for _ in range(6):
            for draft in list(world.scene.drafts):
                world.save(draft, text=None, finish_ms=world.scene.clock_ms + 10)
            world.advance()

        assert world.scene.ended
        assert world.scene.turn.topic == 1
