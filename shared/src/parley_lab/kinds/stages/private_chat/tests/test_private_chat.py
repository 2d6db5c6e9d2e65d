"""A private conversation: the awaited reply, the end, and what the participant is told."""

from dataclasses import replace
from typing import Any

import pytest

from parley_lab import talk as conversation
from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import PAGE, Ask, Blocked, Member, OwnView
from parley_lab.kinds.stages.private_chat.config import PrivateChatStage
from parley_lab.kinds.stages.private_chat.rules import KIND, PrivateTalk
from parley_lab.kinds.view import TALK
from parley_lab.talk import Draft
from parley_lab.testing.thread_world import World, a_member, a_scene
from parley_lab.testing.views import own

PIA, MED, ZOE = a_member("pia", player="person"), a_member("med", kind="mediator"), a_member("zoe", kind="mediator")
ADA = a_member("ada")


def a_chat(*members: Member, pace: str = "live", **stage: Any) -> World:
    world = World(a_scene(*members, pace=pace, of=PrivateChatStage(id="questions", **stage)))
    world.advance()
    return world


def answer(world: World, text: str | None = "Of course.", **fields: Any) -> Draft:
    draft = world.scene.drafts[0]
    world.save(draft, text=text, due_at=world.scene.now, finish_ms=world.scene.clock_ms + 10, **fields)
    world.advance()
    return draft


def settle_opening(world: World) -> None:
    while world.scene.drafts:
        answer(world, None)


def ask(world: World, text: str = "What is this?") -> None:
    world.write(conversation.say(world.scene, PIA, text))
    world.advance()


def texts(world: World) -> list[str]:
    return [message.text for message in world.messages]


def blocked(world: World, member: Member = PIA) -> list[str]:
    view = own(member, thread=conversation.view_of(world.scene))
    stage = world.scene.stage
    assert isinstance(stage, PrivateChatStage)
    completion = KIND.completion(stage, view)
    return [*completion.reasons] if isinstance(completion, Blocked) else []


def test_mediators_answer_and_the_participant_waits_for_them() -> None:
    world = a_chat(PIA, MED)
    settle_opening(world)

    ask(world)
    assert [draft.member_id for draft in world.scene.drafts] == [MED.id]
    assert not world.may_speak(PIA)
    assert blocked(world) == ["Please wait for the reply."]
    answer(world)

    assert world.may_speak(PIA)
    assert not blocked(world)
    assert texts(world) == ["What is this?", "Of course."]


def test_what_a_mediator_says_goes_to_an_agent_who_takes_part_before_other_mediators() -> None:
    world = a_chat(ADA, MED, ZOE)
    answer(world, None)
    answer(world, "Welcome.")

    assert [draft.member_id for draft in world.scene.drafts] == [ADA.id]
    answer(world, None)
    assert len(world.scene.drafts) == 1
    assert world.scene.member(world.scene.drafts[0].member_id).kind == "mediator"


def test_without_turns_the_participant_may_go_on_writing() -> None:
    world = a_chat(PIA, MED, turn_based=False)
    settle_opening(world)
    ask(world)

    assert world.may_speak(PIA)


def test_two_minutes_are_waited_for_and_no_longer() -> None:
    world = a_chat(PIA, MED)
    settle_opening(world)
    ask(world)

    assert not World(world.scene_at(119)).may_speak(PIA)
    assert World(world.scene_at(120)).may_speak(PIA)


def test_a_mediator_that_declines_keeps_no_one_waiting() -> None:
    world = a_chat(PIA, MED)
    settle_opening(world)
    ask(world)
    answer(world, None)

    assert world.may_speak(PIA)
    assert texts(world) == ["What is this?"]


@pytest.mark.parametrize("how", ["failed", "invalid"])
def test_a_failed_reply_is_told_once_and_never_as_a_message_of_the_model(how: str) -> None:
    world = a_chat(PIA, MED)
    settle_opening(world)
    ask(world)
    world.fail(world.scene.drafts[0], how)
    world.advance()
    world.advance()

    assert texts(world) == ["What is this?", "No reply could be fetched. You can write again."]
    assert world.messages[-1].author is None
    assert world.may_speak(PIA)


def test_someone_who_is_alone_is_told_so() -> None:
    world = a_chat(PIA)
    ask(world)

    assert texts(world) == ["What is this?", "Nobody is here to answer."]


def test_no_one_waits_for_a_mediator_who_was_taken_out_while_thinking() -> None:
    world = a_chat(PIA, MED)
    settle_opening(world)
    ask(world)

    world.set_present(MED, False)
    world.advance()

    assert texts(world) == ["What is this?", "Nobody is here to answer."]
    assert world.may_speak(PIA)
    assert not blocked(world)


def test_a_called_off_reply_is_dropped() -> None:
    world = a_chat(PIA, MED)
    settle_opening(world)
    ask(world)
    late = world.scene.drafts[0]
    stage, thread = world.scene.stage, conversation.view_of(world.scene)
    assert isinstance(stage, PrivateChatStage)
    assert PrivateTalk(stage).may_call_off(thread, PIA.id)

    world.write(conversation.call_off(world.scene))
    assert world.may_speak(PIA)
    world.save(late, text="Too late.", due_at=world.scene.now)
    world.advance()

    assert world.outcomes[late.id] == "moved_on"
    assert texts(world) == ["What is this?", "The request was called off."]


def test_the_conversation_is_over_after_the_reply_to_the_last_turn() -> None:
    world = a_chat(PIA, MED, max_turns=2)
    settle_opening(world)
    ask(world)
    answer(world)
    ask(world, "And then?")
    assert not world.scene.ended
    assert not World(world.scene_at(500)).may_speak(PIA)

    answer(world)

    assert world.scene.ended


def test_minimum_turns_are_asked_for_and_beat_the_time_limit() -> None:
    world = a_chat(PIA, MED, min_turns=2, time_limit_seconds=60)
    settle_opening(world)
    ask(world)
    answer(world)
    assert blocked(world) == ["Please write 1 more message."]

    world.write(conversation.time_is_up(world.scene))
    assert not world.scene.ended
    ask(world, "And then?")
    assert not world.scene.ended
    answer(world)

    assert world.scene.ended
    assert texts(world)[-1] == "The time for this conversation is over."


def test_the_time_limit_ends_it_when_the_turns_are_there() -> None:
    world = a_chat(PIA, MED, time_limit_seconds=60)

    world.write(conversation.time_is_up(world.scene))

    assert world.scene.ended


def test_when_it_is_over_no_reply_is_waited_for_though_a_call_is_in_flight() -> None:
    world = a_chat(PIA, MED)
    settle_opening(world)
    ask(world)
    stage, thread = world.scene.stage, conversation.view_of(world.scene)
    assert isinstance(stage, PrivateChatStage)
    assert KIND.page(stage, own(PIA, thread=thread)).may_call_off

    over = KIND.page(stage, own(PIA, thread=replace(thread, ended=True)))

    assert (over.has_ended, over.is_waiting_for_reply, over.may_call_off) == (True, False, False)


def test_an_agent_that_is_ready_leaves_the_conversation() -> None:
    world = a_chat(ADA, MED, pace="fast")
    answer(world)
    assert blocked(world, ADA)
    answer(world, "Thank you.", ready_to_end=True)

    assert not blocked(world, ADA)


def test_an_agent_and_a_mediator_stop_talking() -> None:
    world = a_chat(ADA, MED, pace="fast", max_agent_run=6)
    for _ in range(20):
        if world.scene.drafts:
            answer(world)

    assert world.scene.ended
    assert len(world.messages) == 6


def test_two_mediators_do_not_talk_for_ever() -> None:
    world = a_chat(PIA, MED, ZOE, max_agent_run=4)
    settle_opening(world)
    ask(world)
    for _ in range(20):
        if world.scene.drafts:
            answer(world)

    assert len([message for message in world.messages if message.author in (MED, ZOE)]) == 4


def test_a_failed_opening_is_wanted_again_with_back_off() -> None:
    world = a_chat(PIA, MED)
    for number in range(1, 6):
        world.fail(world.scene.drafts[0])
        world.advance()
        world.write_if(conversation.wake_up(world.scene, number))

    assert [(timer.due_at - world.scene.now).total_seconds() for timer in world.timers] == [5, 10, 20, 40, 80]
    answer(world, "Hello at last.")
    assert texts(world) == ["Hello at last."]


def test_the_page_shows_who_is_there_and_not_who_plays_them() -> None:
    people = KIND.page(KIND.example(), own(PIA, MED)).model_dump(mode="json")["people"]

    assert [person["id"] for person in people] == [str(PIA.id), str(MED.id)]
    assert all("player" not in person for person in people)


def test_a_prompt_says_with_whom_one_is_alone() -> None:
    pia, mo = (
        replace(one, profile=Profile(name=name, pronouns="she/her")) for one, name in ((PIA, "Pia"), (MED, "Mo"))
    )
    kim = replace(MED, id=ADA.id, profile=Profile(name="Kim"))

    def first_line(*members: Member, reader: Member, ask: Ask | None = None) -> str:
        view = OwnView(me=reader, members=members)
        return KIND.prompt(KIND.example(), view, ask)[0].text

    talk = Ask(pia.id, PAGE, TALK)
    assert first_line(pia, mo, reader=pia, ask=talk) == (
        "This is a private conversation with the mediator Mo (she/her); nobody else reads it."
    )
    assert first_line(pia, mo, reader=mo) == (
        "This was a private conversation with the participant Pia (she/her); nobody else reads it."
    )
    assert "with the mediators Mo (she/her) and Kim;" in first_line(pia, mo, kim, reader=pia)
    assert "with the participant Pia (she/her) and the mediator Kim;" in first_line(pia, mo, kim, reader=mo)
    assert "in which there is nobody else;" in first_line(pia, reader=pia)
    assert first_line(mo, kim, reader=mo).endswith("What was said stays between them and is not shown.")


def test_fewer_turns_than_are_asked_for_are_a_mistake() -> None:
    stage = PrivateChatStage(id="questions", min_turns=3, max_turns=2)

    assert [problem.where for problem in KIND.problems(stage, ())] == ["max_turns"]
