"""Who is asked to speak, and when a conversation is over."""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.contracts.experiment import ChatSettings, Profile
from parley_lab.kinds import Member
from parley_lab.kinds.stages.group_chat.config import GroupChatStage
from parley_lab.kinds.stages.group_chat.rules import GroupTalk
from parley_lab.kinds.talk import Wave
from parley_lab.kinds.view import SPEAK, LastWords, Speaker, Thread

TIMED = GroupChatStage(id="talk", time_limit_seconds=60, max_agent_run=4)
UNTIMED = GroupChatStage(id="talk", max_agent_run=4)
SILENT = Wave(over="silent")


def speaker(
    number: int, *, spoken: int = 0, ready: bool = False, done: bool = False, chat: Any = None, **changes: Any
) -> Speaker:
    fields = {"kind": "participant", "player": "agent", "profile": Profile(), **changes}
    member = Member(UUID(int=number), f"c1/m{number}", chat=ChatSettings(**(chat or {})), **fields)
    return Speaker(member, spoken, ready, done)


def thread(
    *speakers: Speaker,
    asked: Collection[UUID] = (),
    last_author_id: UUID | None = None,
    last_text: str = "",
    **changes: Any,
) -> Thread:
    fields: dict[str, Any] = {"pace": "fast", "trigger_key": "message:1", "message_count": 3, "agent_run": 1}
    here = tuple(replace(one, was_asked=one.member.id in asked) for one in speakers)
    return Thread(speakers=here, last=LastWords(last_author_id, last_text), **{**fields, **changes})


def next_wave(stage: GroupChatStage, conversation: Thread) -> Wave:
    return GroupTalk(stage).next_wave(conversation, Random(0))


def asked(wave: Wave) -> list[int]:
    return [speaker.int for speaker in wave.speakers]


PERSON = speaker(9, player="person")
MEDIATOR = speaker(8, kind="mediator")


def test_mediators_are_asked_first_and_participants_when_all_of_them_were() -> None:
    everybody = (speaker(1), speaker(2), MEDIATOR, PERSON)

    assert asked(next_wave(TIMED, thread(*everybody))) == [8]
    assert asked(next_wave(TIMED, thread(*everybody, asked=frozenset({UUID(int=8)})))) == [1, 2]


def test_what_a_mediator_says_goes_to_the_participants_first_and_to_mediators_when_those_are_silent() -> None:
    second = speaker(7, kind="mediator")
    everybody = (speaker(1), speaker(2), second, MEDIATOR, PERSON)
    after_mediator = thread(*everybody, last_author_id=MEDIATOR.member.id)
    asked_all = frozenset({UUID(int=1), UUID(int=2)})

    assert asked(next_wave(TIMED, after_mediator)) == [1, 2]
    assert asked(next_wave(TIMED, thread(*everybody, last_author_id=MEDIATOR.member.id, asked=asked_all))) == [7]
    assert asked(next_wave(TIMED, thread(*everybody, last_author_id=UUID(int=1)))) == [7, 8]


def test_a_silence_after_a_mediators_message_is_the_mediators_to_break() -> None:
    woken = thread(speaker(1), MEDIATOR, speaker(7, kind="mediator"), trigger_key="idle:1", last_author_id=UUID(int=8))

    assert asked(next_wave(TIMED, woken)) == [7]


@pytest.mark.parametrize("turn_taking", ["race", "select"])
@pytest.mark.parametrize(("run", "are_asked"), [(19, True), (20, False), (21, False)])
def test_after_twenty_messages_of_agents_in_a_row_no_agent_is_asked(
    turn_taking: str, run: int, are_asked: bool
) -> None:
    stage = GroupChatStage.model_validate({"id": "talk", "turn_taking": turn_taking})

    wave = next_wave(stage, thread(speaker(1), speaker(2), PERSON, agent_run=run, last_author_id=UUID(int=1)))

    assert bool(asked(wave)) is are_asked


def test_in_race_the_last_author_is_asked_whether_it_is_ready_once_in_so_many_messages() -> None:
    stage = GroupChatStage(id="talk", ready_check_every=3, max_agent_run=50)
    agents = (speaker(1, spoken=2), speaker(2, spoken=1))

    def checked(**changes: Any) -> tuple[UUID, ...]:
        return next_wave(stage, thread(*agents, PERSON, last_author_id=UUID(int=1), **changes)).others

    assert checked() == (UUID(int=1),)
    assert checked(checked=1) == ()
    assert checked(asked=frozenset({UUID(int=2)})) == ()


@pytest.mark.parametrize(
    "last",
    [
        speaker(1, spoken=9, chat={"max_responses": 9}),
        speaker(1, spoken=9, done=True),
        speaker(1, spoken=9, ready=True),
        speaker(1, spoken=9, kind="mediator"),
        speaker(1, spoken=9, player="person"),
        speaker(1, spoken=9, chat={"can_self_trigger": True}),
    ],
)
def test_in_race_no_one_is_checked_who_is_ready_or_asked_to_speak(last: Speaker) -> None:
    wave = next_wave(TIMED, thread(last, speaker(2), PERSON, last_author_id=UUID(int=1)))

    assert 2 in asked(wave)
    assert wave.others == ()


@given(
    way=st.sampled_from(["race", "select", "round"]),
    least=st.lists(st.integers(0, 6), min_size=2, max_size=4),
    used_up=st.lists(st.booleans(), min_size=4, max_size=4),
    last=st.integers(0, 3),
    count=st.integers(0, 6),
    seed=st.integers(0, 99),
)
def test_no_one_is_called_before_the_thread_is_long_enough_or_after_their_last_word(
    way: str, least: list[int], used_up: list[bool], last: int, count: int, seed: int
) -> None:
    stage = GroupChatStage.model_validate({"id": "talk", "turn_taking": way, "ready_check_every": 1})
    speakers = [
        speaker(
            number,
            spoken=1,
            chat={"min_messages_before_responding": minimum, "max_responses": 1 if used_up[number] else None},
        )
        for number, minimum in enumerate(least)
    ]
    talk = thread(*speakers, PERSON, last_author_id=UUID(int=last), message_count=count)

    wave = GroupTalk(stage).next_wave(talk, Random(seed))

    for called in (*wave.speakers, *wave.others):
        assert least[called.int] <= count
        assert not used_up[called.int]


def test_without_an_eligible_mediator_participants_are_asked_at_once() -> None:
    silent = speaker(8, kind="mediator", spoken=2, chat={"max_responses": 2})

    assert asked(next_wave(TIMED, thread(speaker(1), silent))) == [1]


@pytest.mark.parametrize(
    ("one", "changes"),
    [
        (speaker(1, spoken=2, chat={"max_responses": 2}), {}),
        (speaker(1, chat={"max_responses": 0}), {}),
        (speaker(1, chat={"min_messages_before_responding": 4}), {}),
        (speaker(1), {"last_author_id": UUID(int=1)}),
        (speaker(1), {"asked": frozenset({UUID(int=1)})}),
        (speaker(1, present=False), {}),
        (speaker(1, ready=True), {}),
        (speaker(1, done=True), {}),
        (speaker(1, chat={"initial_message": "Hello"}), {"trigger_key": "start"}),
    ],
)
def test_who_cannot_speak_is_not_asked(one: Speaker, changes: dict[str, Any]) -> None:
    assert next_wave(TIMED, thread(one, PERSON, **changes)) == Wave()


def test_agents_that_have_talked_for_too_long_rest_until_a_person_speaks() -> None:
    assert next_wave(TIMED, thread(speaker(1), PERSON, agent_run=4)) == Wave(rests="agents reached their limit")


@pytest.mark.parametrize(
    ("one", "changes"),
    [
        (speaker(1, spoken=1, chat={"max_responses": 2}), {}),
        (speaker(1, spoken=1000), {}),
        (speaker(1, chat={"min_messages_before_responding": 3}), {}),
        (speaker(1, chat={"can_self_trigger": True}), {"last_author_id": UUID(int=1)}),
        (speaker(1), {"agent_run": 3}),
        (speaker(1), {"trigger_key": "start", "message_count": 0}),
    ],
)
def test_who_can_speak_is_asked(one: Speaker, changes: dict[str, Any]) -> None:
    assert asked(next_wave(TIMED, thread(one, PERSON, **changes))) == [1]


def test_silence_among_agents_ends_a_fast_conversation() -> None:
    quiet = thread(speaker(1), MEDIATOR, asked=frozenset({UUID(int=1), UUID(int=8)}))

    assert next_wave(TIMED, quiet) == SILENT


def test_silence_waits_for_a_person_or_the_time_limit() -> None:
    none_left = frozenset({UUID(int=1)})
    two_left = frozenset({UUID(int=1), UUID(int=2)})

    assert next_wave(UNTIMED, thread(speaker(1), PERSON, asked=none_left)) == Wave()
    assert next_wave(TIMED, thread(speaker(1), speaker(2), asked=two_left, pace="live")) == Wave()
    assert next_wave(UNTIMED, thread(speaker(1), asked=none_left, pace="live")) == SILENT


def test_agents_alone_stop_at_their_limit() -> None:
    assert next_wave(TIMED, thread(speaker(1), agent_run=4)) == Wave(over="agents reached their limit")


@pytest.mark.parametrize("left", [speaker(1, ready=True), speaker(1, present=False)])
def test_a_conversation_without_participants_is_over_though_mediators_stay(left: Speaker) -> None:
    assert next_wave(TIMED, thread(left, MEDIATOR, pace="live")) == Wave(over="everyone left")


def test_an_ended_conversation_asks_no_one() -> None:
    assert next_wave(TIMED, thread(speaker(1), ended=True)) == Wave()


@given(
    present=st.lists(st.booleans(), min_size=1, max_size=5),
    ready=st.lists(st.booleans(), min_size=5, max_size=5),
    was_asked=st.sets(st.integers(0, 4)),
    run=st.integers(0, 5),
)
def test_a_wave_names_only_those_who_were_not_asked_and_is_never_over_at_once(
    present: list[bool], ready: list[bool], was_asked: set[int], run: int
) -> None:
    speakers = [speaker(number, present=here, ready=ready[number]) for number, here in enumerate(present)]

    wave = next_wave(TIMED, thread(*speakers, agent_run=run))
    again = next_wave(
        TIMED, thread(*speakers, asked=frozenset(UUID(int=number) for number in was_asked), agent_run=run)
    )

    assert not (wave.speakers and wave.over)
    assert not set(asked(again)) & was_asked
    # Among agents alone a fast conversation either goes on or is over: it never hangs.
    assert again.speakers or again.over


def test_an_agent_who_is_alone_does_not_wait_for_the_time_limit() -> None:
    alone = thread(speaker(1), asked=frozenset({UUID(int=1)}), pace="live")

    assert next_wave(TIMED, alone) == SILENT


SELECT = GroupChatStage(id="talk", turn_taking="select", max_agent_run=50)


def named(number: int, name: str, spoken: int = 0) -> Speaker:
    return speaker(number, spoken=spoken, profile=Profile(name=name))


@given(st.integers(0, 2**32), st.sets(st.integers(1, 5), min_size=1))
def test_select_draws_one_of_those_who_were_not_asked(seed: int, numbers: set[int]) -> None:
    asked_already = frozenset(UUID(int=number) for number in list(numbers)[1:])
    conversation = thread(*(speaker(number) for number in sorted(numbers)), PERSON, asked=asked_already)

    wave = GroupTalk(SELECT).next_wave(conversation, Random(seed))

    assert len(wave.speakers) == 1
    assert wave.purpose == SPEAK
    assert not asked_already.intersection(wave.speakers)


def draws(conversation: Thread) -> Counter[int]:
    return Counter(GroupTalk(SELECT).next_wave(conversation, Random(seed)).speakers[0].int for seed in range(1000))


def test_select_prefers_who_has_spoken_least() -> None:
    drawn = draws(thread(speaker(1, spoken=4), speaker(2, spoken=0), PERSON))

    assert drawn[2] > 3 * drawn[1]


def test_select_prefers_who_was_addressed_by_name() -> None:
    drawn = draws(thread(named(1, "Ada"), named(2, "Bob"), PERSON, last_text="What do you say, bob?"))

    assert drawn[2] > 4 * drawn[1]
    assert draws(thread(named(1, "Ada"), named(2, "Bob"), PERSON, last_text="Bobsleigh!"))[1] > 350
