"""Whose turn it is, and how long a conversation goes on at least, as the rules of conversations write it."""

import pytest

from parley_lab import talk as conversation
from parley_lab.kinds.stages import parts_of
from parley_lab.kinds.stages.group_chat.rounds import first_order, next_order
from parley_lab.kinds.view import Speaker
from parley_lab.testing.group_talks import ADA, BOB, CID, MED, PIA, a_world, holder, reply, texts, the_draft
from parley_lab.testing.thread_world import World, a_member, a_scene


class TestRounds:
    @pytest.mark.parametrize(("cycle", "order"), [(0, "p1 p2 p3"), (1, "p2 p1 p3")])
    def test_participants_stand_in_the_order_of_deliberate_lab(self, cycle: int, order: str) -> None:
        people = [Speaker(a_member(name)) for name in ("p1", "p2", "p3")]
        mediator = Speaker(a_member("m", kind="mediator"))
        here = [mediator, *people]
        drawn = first_order("cohort-1", "stage-1", here)
        if cycle:
            drawn = next_order("cohort-1", "stage-1", drawn, here, cycle=cycle)

        names = {speaker.member.id: speaker.member.profile.name.lower() for speaker in here}
        assert [names[member_id] for member_id in drawn] == ["m", *order.split()]

    def test_without_a_mediator_the_order_stays(self) -> None:
        people = [Speaker(a_member(name)) for name in ("p1", "p2", "p3")]
        drawn = first_order("cohort-1", "stage-1", people)

        assert next_order("cohort-1", "stage-1", drawn, people, cycle=1) == drawn

    def test_everybody_speaks_once_in_a_cycle(self) -> None:
        world = a_world(ADA, BOB, CID, MED, turn_taking="round")
        spoken: list[str | None] = []

        for _ in range(8):
            spoken.append(holder(world))
            (draft,) = [draft for draft in world.scene.drafts if not draft.is_check]
            reply(world, world.scene.member(draft.member_id))

        assert spoken[0] == spoken[4] == "Med"
        assert set(spoken[:4]) == set(spoken[4:]) == {"Ada", "Bob", "Cid", "Med"}

    def test_a_person_speaks_on_their_turn_and_not_before(self) -> None:
        world = a_world(ADA, PIA, MED, turn_taking="round")

        assert holder(world) == "Med"
        assert not world.may_speak(PIA)
        reply(world, MED)
        while holder(world) != "Pia":
            reply(world, ADA)
        assert world.may_speak(PIA)
        world.write(conversation.say(world.scene, PIA, "Now me."))
        assert holder(world) != "Pia"
        assert not world.may_speak(PIA)

    @pytest.mark.parametrize("how", ["failed", "invalid"])
    def test_a_turn_of_which_no_reply_comes_is_passed_and_the_next_one_is_published(self, how: str) -> None:
        world = a_world(ADA, BOB, PIA, MED, turn_taking="round")
        world.fail(the_draft(world, MED), how)
        world.advance()
        skipped_to = holder(world)

        assert texts(world) == ["Med was skipped: no reply came."]
        assert skipped_to in {"Ada", "Bob", "Pia"}
        for _ in range(3):
            if holder(world) == "Pia":
                world.write(conversation.say(world.scene, PIA, "I speak."))
            else:
                reply(world, ADA if holder(world) == "Ada" else BOB)
        assert len(texts(world)) == 4
        assert holder(world) == "Med"

    def test_a_reply_after_the_turn_was_passed_is_cancelled_and_kept(self) -> None:
        world = a_world(ADA, BOB, PIA, turn_taking="round")
        while holder(world) == "Pia":
            world.write(conversation.say(world.scene, PIA, "I speak."))
        agent = ADA if holder(world) == "Ada" else BOB
        late = the_draft(world, agent)
        world.set_present(agent, False)
        world.advance()
        assert holder(world) != agent.name
        world.set_present(agent, True)

        world.save(late, text="Too late.", due_at=world.scene.now)
        world.advance()

        assert world.outcomes[late.id] == "cancelled"
        assert "Too late." not in texts(world)

    def test_the_turn_of_a_person_who_leaves_is_passed(self) -> None:
        world = a_world(ADA, PIA, turn_taking="round")
        while holder(world) != "Pia":
            reply(world, ADA)

        world.set_present(PIA, False)
        goodbye = conversation.say_goodbye(world.scene, PIA)
        assert goodbye is not None
        world.write(goodbye)
        world.advance()

        assert holder(world) != "Pia" or world.scene.ended

    @pytest.mark.parametrize("whose", ["person", "agent"])
    def test_an_opening_line_in_somebodys_turn_is_not_that_turn(self, whose: str) -> None:
        polite = a_member("polite", initial_message="Good morning.")
        world = World(a_scene(ADA, PIA, polite, turn_taking="round"))
        world.set_present(polite, False)
        world.advance()
        while holder(world) != ("Pia" if whose == "person" else "Ada"):
            if holder(world) == "Pia":
                world.write(conversation.say(world.scene, PIA, "I speak."))
            else:
                reply(world, ADA)
        before = holder(world)

        world.set_present(polite, True)
        world.advance()

        assert texts(world)[-1] == "Good morning."
        assert holder(world) == before
        if whose == "person":
            assert world.may_speak(PIA)
        else:
            assert world.outcomes[reply(world, ADA, "My turn.").id] == "published"

    def test_agents_whose_models_never_answer_end_the_conversation(self) -> None:
        world = a_world(ADA, BOB, turn_taking="round")
        for _ in range(10):
            for draft in world.scene.drafts:
                world.fail(draft)
            world.advance()

        assert world.scene.ended
        assert world.scene.turn.skips <= 2

    def test_lines_of_the_lab_pass_no_turn(self) -> None:
        world = a_world(ADA, BOB, CID, PIA, turn_taking="round", time_limit_seconds=600)
        before = holder(world)
        other = next(member for member in (ADA, BOB, CID) if member.name != before)

        world.set_present(other, False)
        goodbye = conversation.say_goodbye(world.scene, other)
        assert goodbye is not None
        world.write(goodbye)
        world.advance()

        assert holder(world) == before


class TestMinimumTime:
    def test_no_one_leaves_before_it_has_passed_since_the_first_message(self) -> None:
        world = a_world(ADA, PIA, minimum_seconds=120)
        talk = parts_of(world.scene.stage).talk
        assert talk is not None
        assert talk.too_early(conversation.view_of(world.scene)) is not None
        world.write(conversation.say(world.scene, PIA, "Hello."))

        for seconds, is_early in ((119, True), (120, False)):
            later = World(world.scene_at(seconds))
            assert (talk.too_early(conversation.view_of(later.scene)) is not None) is is_early

    def test_an_agent_that_is_ready_too_early_stays(self) -> None:
        world = a_world(ADA, PIA, minimum_seconds=120)

        reply(world, ADA, "Hello and goodbye.", ready_to_end=True)

        assert texts(world) == ["Hello and goodbye."]
        assert ADA.id not in world.scene.turn.ready
