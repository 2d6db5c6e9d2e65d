"""Messages in quick succession: agents are asked once about all of them, at the end of a quiet time."""

from dataclasses import replace
from typing import Any

import pytest

from parley_lab.testing.late_talk import ADA, BOB, MED, PIA, a_room, asked, post, reply


class TestQuietTime:
    def test_a_message_after_a_silence_asks_at_once_and_what_comes_soon_after_is_asked_about_together(self) -> None:
        world = a_room(ADA, PIA, quiet_seconds=0.5)
        post(world, "First?")
        assert asked(world) == ["Ada"]
        reply(world, ADA, None)

        for _ in range(4):
            world.later(0.1)
            post(world)
            assert not asked(world)
        world.later(0.1)

        assert [draft.as_of_seq for draft in world.scene.drafts] == [5]
        assert [timer.purpose for timer in world.timers] == ["quiet"]

    def test_it_is_not_prolonged_and_the_next_one_begins_with_the_asking(self) -> None:
        world = a_room(ADA, PIA, quiet_seconds=0.5)
        times: list[float] = []
        for tenth in range(31):
            if asked(world):
                times.append(tenth / 10)
                reply(world, ADA, None)
            post(world)
            if asked(world):
                times.append(tenth / 10)
                reply(world, ADA, None)
            world.later(0.1)

        assert times == [0, 0.5, 1, 1.5, 2, 2.5, 3]

    def test_an_agents_message_is_asked_about_at_once_and_so_is_the_next_of_a_person(self) -> None:
        world = a_room(ADA, BOB, PIA, quiet_seconds=0.5)
        post(world)
        reply(world, BOB, None)
        reply(world, ADA, "Hello.")
        assert asked(world) == ["Bob"]
        reply(world, BOB, None)

        post(world)

        assert asked(world) == ["Ada", "Bob"]

    def test_participants_are_asked_about_the_first_message_as_soon_as_mediators_are_silent(self) -> None:
        world = a_room(ADA, MED, PIA, quiet_seconds=0.5)
        post(world)
        world.later(0.1)

        reply(world, MED, None)

        assert asked(world) == ["Ada"]

    def test_no_message_waits_for_a_clock_that_has_stopped(self) -> None:
        world = a_room(ADA, PIA, quiet_seconds=0.5)
        world.scene = replace(world.scene, is_clock_stopped=True)
        for _ in range(2):
            post(world)
            assert asked(world) == ["Ada"]
            reply(world, ADA, None)

        assert not world.timers

    @pytest.mark.parametrize("stage", [{"pace": "fast"}, {"late_replies": "dropped"}, {"turn_taking": "round"}])
    def test_elsewhere_every_message_asks_at_once(self, stage: dict[str, Any]) -> None:
        world = a_room(ADA, PIA, quiet_seconds=0.5, **stage)
        for _ in range(3):
            if world.may_speak(PIA):
                post(world)
                assert asked(world)[-1:] == ["Ada"]
            reply(world, ADA)

        assert not world.timers
