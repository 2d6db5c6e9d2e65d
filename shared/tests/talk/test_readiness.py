"""When agents say that they are ready, and what follows."""

from itertools import pairwise
from uuid import UUID

import pytest

from parley_lab import talk as conversation
from parley_lab.kinds.view import READY, SPEAK
from parley_lab.testing.group_talks import ADA, BOB, CID, PIA, a_world, reply, texts
from parley_lab.testing.thread_world import World, a_member, a_scene


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
    def test_no_one_is_called_before_the_thread_has_as_many_messages_as_they_wait_for(self, turn_taking: str) -> None:
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
