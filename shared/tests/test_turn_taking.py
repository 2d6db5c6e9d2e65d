"""Turns, topics, silences and readiness, as the rules of conversations write them."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from shared import conversation
from shared.conversation import Draft
from shared.stage import READY, SPEAK, WAKE, Member, Speaker
from shared.stages import kind_of
from shared.stages.group_chat.rounds import first_order, next_order
from shared.testing.thread_world import World, a_member, a_scene

ADA, BOB, CID = a_member("ada"), a_member("bob"), a_member("cid")
PIA, MED = a_member("pia", player="person"), a_member("med", kind="mediator")
TOPICS = ({"id": "cost", "name": "Who pays"}, {"id": "route", "name": "Where it goes"})


def a_world(*members: Member, **stage: Any) -> World:
    world = World(a_scene(*members, **stage))
    world.advance()
    return world


def asked(world: World) -> set[str]:
    return {world.scene.member(draft.member_id).name for draft in world.scene.drafts}


def the_draft(world: World, member: Member) -> Draft:
    return next(draft for draft in world.scene.drafts if draft.member_id == member.id and not draft.is_check)


def reply(world: World, member: Member, text: str | None = "Yes.", **fields: Any) -> Draft:
    draft = the_draft(world, member)
    world.save(draft, text=text, due_at=world.scene.now, **fields)
    world.advance()
    return draft


def holder(world: World) -> str | None:
    held = world.scene.turn.holder
    return None if held is None else world.scene.member(held).name


def end_reason(world: World) -> str | None:
    """Why the thread ends, once all that is due has been written."""
    while (change := conversation.next_change(world.scene)) is not None and change.end_reason is None:
        world.write(change)
    return None if change is None else change.end_reason


def texts(world: World) -> list[str]:
    return [message.text for message in world.messages]


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


class TestReadiness:
    @pytest.mark.parametrize("turn_taking", ["select", "round"])
    def test_who_is_long_not_asked_to_speak_is_asked_whether_they_are_ready(self, turn_taking: str) -> None:
        world = a_world(ADA, BOB, CID, turn_taking=turn_taking, ready_check_every=2, max_agent_run=50)
        checks: list[tuple[int, UUID]] = []

        for _ in range(12):
            (draft,) = [draft for draft in world.scene.drafts if not draft.is_check]
            for check in [draft for draft in world.scene.drafts if draft.is_check]:
                checks.append((world.scene.turn.said, check.member_id))
                world.save(check, text=None, due_at=world.scene.now)
            reply(world, world.scene.member(draft.member_id))

        assert all(world.scene.turn.said - world.scene.turn.heard[member.id] <= 2 * 3 for member in (ADA, BOB, CID))
        by_agent = {
            member.id: [said for said, asked_id in checks if asked_id == member.id] for member in (ADA, BOB, CID)
        }
        for times in by_agent.values():
            assert all(later - earlier >= 2 for earlier, later in pairwise(times))

    def test_one_agent_is_asked_for_readiness_in_as_many_messages_as_there_are_agents(self) -> None:
        dee = a_member("dee")
        world = a_world(ADA, BOB, CID, dee, turn_taking="select", max_agent_run=20)
        times: list[int] = []

        while not world.scene.ended:
            (draft,) = [draft for draft in world.scene.drafts if not draft.is_check]
            for check in [draft for draft in world.scene.drafts if draft.is_check]:
                times.append(world.scene.turn.said)
                world.save(check, text=None, due_at=world.scene.now)
            reply(world, world.scene.member(draft.member_id))

        assert len(world.messages) == 20
        assert 0 < len(times) <= 5
        assert all(later - earlier >= 4 for earlier, later in pairwise(times))

    def test_an_agent_that_is_ready_leaves_without_a_word(self) -> None:
        world = a_world(ADA, BOB, CID, turn_taking="select", ready_check_every=1, max_agent_run=50)
        (draft,) = [draft for draft in world.scene.drafts if not draft.is_check]
        reply(world, world.scene.member(draft.member_id))
        check = next(draft for draft in world.scene.drafts if draft.is_check)

        world.save(check, text=None, ready_to_end=True, due_at=world.scene.now)
        world.advance()

        assert world.outcomes[check.id] == "declined"
        assert check.member_id in world.scene.turn.ready
        assert texts(world)[-1].endswith("has left the chat.")

    def test_checks_are_wanted_for_readiness_alone(self) -> None:
        world = World(a_scene(ADA, BOB, turn_taking="select", ready_check_every=1))
        world.advance()
        (draft,) = world.scene.drafts
        world.save(draft, text="Hello.", due_at=world.scene.now)

        change = conversation.next_change(world.scene)

        assert change is not None
        assert sorted(wanted.purpose for wanted in change.wanted) in ([SPEAK], [READY, SPEAK])

    def test_in_race_only_the_author_of_the_last_message_is_asked_for_readiness_alone(self) -> None:
        world = a_world(ADA, BOB, PIA, ready_check_every=1)
        reply(world, ADA, None)
        reply(world, BOB, None)
        world.write(conversation.say(world.scene, PIA, "Hello."))
        assert not any(draft.is_check for draft in world.scene.drafts)

        reply(world, ADA)

        assert [draft.member_id for draft in world.scene.drafts if draft.is_check] == [ADA.id]

    @pytest.mark.parametrize("turn_taking", ["race", "select", "round"])
    def test_nobody_is_called_before_the_thread_has_as_many_messages_as_they_wait_for(self, turn_taking: str) -> None:
        patient = a_member("patient", min_messages_before_responding=4)
        world = a_world(ADA, BOB, patient, turn_taking=turn_taking, ready_check_every=1, max_agent_run=50)
        called: set[int] = set()

        for _ in range(8):
            called |= {world.scene.last_seq for draft in world.scene.drafts if draft.member_id == patient.id}
            for check in [draft for draft in world.scene.drafts if draft.is_check]:
                world.save(check, text=None, due_at=world.scene.now)
            draft = next(draft for draft in world.scene.drafts if not draft.is_check)
            reply(world, world.scene.member(draft.member_id))

        assert called
        assert min(called) >= 4


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

    def test_an_agent_that_may_not_be_called_yet_keeps_nobody_from_going_on(self) -> None:
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


class TestSilence:
    def silent(self, **stage: Any) -> World:
        world = a_world(ADA, BOB, PIA, wake_up_after_seconds=30, **stage)
        world.write(conversation.say(world.scene, PIA, "Anybody?"))
        self.decline(world)
        return world

    def decline(self, world: World) -> None:
        for draft in list(world.scene.drafts):
            world.save(draft, text=None, due_at=world.scene.now)
        world.advance()

    def test_when_all_decline_one_wake_up_is_armed(self) -> None:
        world = self.silent()

        (timer,) = world.timers
        assert timer.due_at == world.scene.now + timedelta(seconds=30)
        assert asked(world) == set()

    def test_the_wake_up_asks_everybody_once_more_and_says_why(self) -> None:
        world = self.silent()

        change = conversation.wake_up(world.scene, 1)
        assert change is not None
        assert {wanted.purpose for wanted in change.wanted} == {WAKE}
        world.write(change)
        assert asked(world) == {"Ada", "Bob"}
        self.decline(world)

        assert len(world.timers) == 1

    def test_as_many_wake_ups_as_are_configured_follow_one_another(self) -> None:
        world = self.silent(max_wake_ups=3)
        for number in (1, 2, 3, 4):
            world.write_if(conversation.wake_up(world.scene, number))
            self.decline(world)

        assert len(world.timers) == 3

    def test_a_wake_up_after_somebody_spoke_asks_nobody(self) -> None:
        world = self.silent()
        world.write(conversation.say(world.scene, PIA, "Still there?"))
        before = world.scene

        assert conversation.wake_up(before, 1) is None

    def test_a_new_silence_may_be_broken_again(self) -> None:
        world = self.silent()
        world.write(conversation.say(world.scene, PIA, "Still there?"))
        self.decline(world)

        assert [timer.generation for timer in world.timers] == [1, 2]

    @pytest.mark.parametrize("turn_taking", ["race", "select"])
    @pytest.mark.parametrize("most", [1, 2])
    def test_agents_among_themselves_are_woken_before_their_silence_is_the_end(
        self, turn_taking: str, most: int
    ) -> None:
        world = a_world(ADA, BOB, wake_up_after_seconds=30, max_wake_ups=most, turn_taking=turn_taking)
        for number in range(1, most + 1):
            for _ in (ADA, BOB):
                self.decline(world)
            assert (len(world.timers), world.scene.ended) == (number, False)

            world.write_if(conversation.wake_up(world.scene, number))
            assert asked(world)

        for _ in (ADA, BOB):
            self.decline(world)
        assert world.scene.ended

    def test_whoever_comes_while_a_silence_lasts_is_asked(self) -> None:
        world = a_world(ADA, BOB, replace(CID, present=False), wake_up_after_seconds=30)
        self.decline(world)

        world.set_present(CID, True)
        world.advance()

        assert (asked(world), world.scene.ended) == ({"Cid"}, False)

    @pytest.mark.parametrize(("most", "is_over"), [(1, True), (2, False)])
    def test_agents_who_have_all_said_all_they_may_do_not_wait_for_the_time_limit(
        self, most: int, is_over: bool
    ) -> None:
        ada, bob = (a_member(name, max_responses=most) for name in ("ada", "bob"))
        world = a_world(ada, bob, time_limit_seconds=600, turn_taking="select")
        for text in ("Yes.", "No.", None, None):
            for draft in list(world.scene.drafts):
                world.save(draft, text=text, due_at=world.scene.now)
            world.advance()

        assert world.scene.ended == is_over

    def test_a_conversation_in_which_no_model_answers_is_not_called_silent(self) -> None:
        said, failed = a_world(ADA, BOB, turn_taking="select"), a_world(ADA, BOB, turn_taking="select")
        for world in (said, failed):
            (opening,) = world.scene.drafts
            world.save(opening, text="Good morning.", due_at=world.scene.now)
            world.advance()
        (draft,) = said.scene.drafts
        said.save(draft, text=None, due_at=said.scene.now)
        (draft,) = failed.scene.drafts
        failed.fail(draft)

        reasons = [end_reason(world) for world in (said, failed)]

        assert reasons == ["silent", "no agent answered"]

    def test_a_simulated_silence_takes_no_real_time(self) -> None:
        world = a_world(ADA, BOB, pace="fast", wake_up_after_seconds=30)
        for draft in list(world.scene.drafts):
            world.save(draft, text=None, finish_ms=10)
        world.advance()

        assert not world.timers
        assert world.scene.clock_ms >= 30_000
        assert asked(world) == {"Ada", "Bob"}

    @pytest.mark.parametrize("other", [PIA, BOB])
    def test_a_failed_opening_is_wanted_again_ever_later(self, other: Member) -> None:
        world = a_world(ADA, other)
        rounds = 0
        for number in range(1, 9):
            rounds += bool(world.scene.drafts)
            for draft in list(world.scene.drafts):
                world.fail(draft)
            world.advance()
            world.write_if(conversation.wake_up(world.scene, number))

        pauses = [(timer.due_at - world.scene.now).total_seconds() for timer in world.timers]
        assert (pauses, rounds) == ([5, 10, 20, 40, 80], 6)
        assert world.scene.ended == (other is BOB)

    def test_an_opening_that_succeeds_the_second_time_is_published(self) -> None:
        world = a_world(ADA, PIA)
        world.fail(the_draft(world, ADA))
        world.advance()
        world.write_if(conversation.wake_up(world.scene, 1))

        reply(world, ADA, "Hello at last.")

        assert texts(world) == ["Hello at last."]


class TestMinimumTime:
    def test_nobody_leaves_before_it_has_passed_since_the_first_message(self) -> None:
        world = a_world(ADA, PIA, minimum_seconds=120)
        stage, kind = world.scene.stage, kind_of(world.scene.stage)
        assert kind.too_early(stage, conversation.view_of(world.scene)) is not None
        world.write(conversation.say(world.scene, PIA, "Hello."))

        for seconds, is_early in ((119, True), (120, False)):
            later = World(world.scene_at(seconds))
            assert (kind.too_early(stage, conversation.view_of(later.scene)) is not None) is is_early

    def test_an_agent_that_is_ready_too_early_stays(self) -> None:
        world = a_world(ADA, PIA, minimum_seconds=120)

        reply(world, ADA, "Hello and goodbye.", ready_to_end=True)

        assert texts(world) == ["Hello and goodbye."]
        assert ADA.id not in world.scene.turn.ready
