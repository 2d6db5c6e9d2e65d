"""Silences in conversations, and what breaks or ends them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from parley_lab import talk as conversation
from parley_lab.kinds import Member
from parley_lab.kinds.view import WAKE
from parley_lab.testing.group_talks import ADA, BOB, CID, PIA, a_world, asked, end_reason, reply, texts, the_draft
from parley_lab.testing.thread_world import World, a_member


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

    def test_a_wake_up_after_someone_spoke_asks_no_one(self) -> None:
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

    def test_who_comes_while_a_silence_lasts_is_asked(self) -> None:
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

    @pytest.mark.parametrize("turn_taking", ["select", "race"])
    @pytest.mark.parametrize("is_ready", [True, False])
    def test_an_agent_to_whom_no_one_can_answer_is_asked_once_whether_it_is_ready(
        self, turn_taking: str, is_ready: bool
    ) -> None:
        ada, bob = a_member("ada", max_responses=1), a_member("bob")
        world = a_world(ada, bob, time_limit_seconds=600, turn_taking=turn_taking)
        while len(world.messages) < 2:
            author = ada if not world.messages else bob
            for draft in list(world.scene.drafts):
                said = "Yes." if draft.member_id == author.id and not draft.is_check else None
                world.save(draft, text=said, due_at=world.scene.now)
            world.advance()

        (check,) = world.scene.drafts
        world.save(check, text=None, ready_to_end=is_ready, due_at=world.scene.now)
        world.advance()

        assert (check.member_id, check.is_check) == (bob.id, True)
        assert world.scene.ended == is_ready
        assert not world.scene.drafts

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
