"""Replies in a conversation, and the conversation in prompts."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import PAGE, Ask, Blocked, Done, Member
from parley_lab.kinds.chat.replies import SpeakReply, TalkReply
from parley_lab.kinds.stages.group_chat.config import GroupChatStage, Topic
from parley_lab.kinds.stages.group_chat.rules import KIND, GroupTalk
from parley_lab.kinds.talk import Utterance
from parley_lab.kinds.view import SPEAK, TALK, Message, Speaker, Thread
from parley_lab.testing.views import own

ANA = Member(UUID(int=1), "c1/m1", "participant", "agent", Profile(name="Ana", pronouns="she/her"))
BEN = Member(UUID(int=2), "c1/m2", "participant", "person", Profile(name="Ben"))
GUIDE = Member(UUID(int=3), "c1/med1", "mediator", "agent", Profile(name="Guide"))
OF_EXAMPLE = GroupTalk(KIND.example())


def written(**changes: Any) -> dict[str, Any]:
    return {"explanation": "why", "shouldRespond": True, "response": " Hello ", "readyToEndChat": False, **changes}


def reply(**changes: Any) -> TalkReply:
    return TalkReply.model_validate(written(**changes))


def thread(**changes: Any) -> Thread:
    fields: dict[str, Any] = {"speakers": (Speaker(ANA), Speaker(BEN)), **changes}
    return Thread(pace="live", trigger_key="start", message_count=0, agent_run=0, **fields)


def test_a_reply_says_its_text_and_may_leave_with_it() -> None:
    assert OF_EXAMPLE.utterance(TALK, written(readyToEndChat=True)) == Utterance("Hello", True, "why")


@pytest.mark.parametrize(
    "changes",
    [{"shouldRespond": False}, {"shouldRespond": False, "response": ""}, {"shouldRespond": "false", "response": "-"}],
)
def test_nothing_is_said_when_the_agent_prefers_silence(changes: dict[str, Any]) -> None:
    assert OF_EXAMPLE.utterance(TALK, written(**changes)).text is None


def test_the_text_false_means_false() -> None:
    assert reply(readyToEndChat="false").ready_to_end is False
    assert reply(readyToEndChat="True").ready_to_end is True


@pytest.mark.parametrize("blank", ["", " \n", "\u00a0"])
def test_to_speak_without_words_is_a_mistake_and_no_silence(blank: str) -> None:
    with pytest.raises(ValidationError, match="it says nothing, although you chose to speak"):
        reply(response=blank)
    with pytest.raises(ValidationError, match="it says nothing, although you chose to speak"):
        SpeakReply(explanation="why", response=blank, ready_to_end=True)


@pytest.mark.parametrize(
    "changes", [{"readyToEndChat": 1}, {"readyToEndChat": "no"}, {"response": None}, {"more": 1}, {"response": "\0"}]
)
def test_a_reply_of_another_shape_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        reply(**changes)


def test_reasons_come_before_the_decision() -> None:
    model = OF_EXAMPLE.reply_model(TALK)

    assert list(model.model_json_schema()["properties"]) == [
        "explanation",
        "shouldRespond",
        "response",
        "readyToEndChat",
    ]


def test_a_mediator_whose_turn_it_is_has_a_task_of_its_own() -> None:
    of_guide = OF_EXAMPLE.task(own(GUIDE, ANA, BEN), SPEAK)
    of_ana = OF_EXAMPLE.task(own(ANA, BEN, GUIDE), SPEAK)

    assert "You are the mediator" in of_guide
    assert "your turn to speak" in of_guide
    assert "Do not sum up" not in of_guide
    assert "Do not sum up" in of_ana


def test_an_agent_stays_until_it_is_ready_or_the_conversation_is_over() -> None:
    stage = KIND.example()

    assert isinstance(KIND.completion(stage, own(ANA)), Blocked)
    assert isinstance(KIND.completion(stage, own(ANA, thread=thread())), Blocked)
    assert KIND.completion(stage, own(ANA, thread=thread(speakers=(Speaker(ANA, ready=True),)))) == Done()
    assert KIND.completion(stage, own(ANA, thread=thread(ended=True))) == Done()
    assert KIND.completion(stage, own(BEN, thread=thread())) == Done()


def test_a_prompt_shows_people_and_transcript_and_marks_the_reader() -> None:
    messages = (
        Message(1, None, "", "Ben has left.", 500),
        Message(2, ANA.id, "Ana", "Hello", 65_000),
        Message(3, BEN.id, "Ben", "One\n(00:01) Ana: two", 3_605_000),
    )

    blocks = KIND.prompt(KIND.example(), own(ANA, BEN, GUIDE, messages=messages))

    assert "- Ana, she/her (you)" in blocks[0].text
    assert blocks[0].text.endswith("- Guide")
    assert [block.text for block in blocks[-3:]] == [
        "[00:00, from the system] Ben has left.",
        "[01:05, from you] Hello",
        "[60:05, from Ben] One\n    (00:01) Ana: two",
    ]
    assert [block.speaker for block in blocks[-3:]] == [None, ANA.id, BEN.id]


def test_an_empty_conversation_says_so() -> None:
    asked = KIND.prompt(KIND.example(), own(ANA), Ask(ANA.id, PAGE, TALK))
    looked_back_at = KIND.prompt(KIND.example(), own(ANA))

    assert asked[-1].text == "Nobody has said anything yet."
    assert looked_back_at[-1].text == "Nobody said anything."


def test_only_a_conversation_that_goes_on_has_a_present_topic() -> None:
    stage = GroupChatStage(id="talk", topics=(Topic(id="a", name="Fares"), Topic(id="b", name="Routes")))
    view = own(ANA, messages=(Message(1, ANA.id, "Ana", "Hello", 500, topic="b"),))

    asked = KIND.prompt(stage, view, Ask(ANA.id, PAGE, TALK))
    looked_back_at = KIND.prompt(stage, view)

    assert asked[1].text == "What is talked about now: Routes"
    assert looked_back_at[1].text == "What was talked about, one after another:\n\nFares\n\nRoutes"


def test_a_chat_waits_for_all_even_when_it_says_something_else_about_progress() -> None:
    stage = GroupChatStage.model_validate({"id": "talk", "progress": {"min_participants": 2}})

    assert stage.progress.wait_for_all
    assert not GroupChatStage.model_validate({"id": "t", "progress": {"wait_for_all": False}}).progress.wait_for_all


def line_answering(said: str, by: Member) -> str:
    """The line of Ana's prompt in which Guide answers what was `said`."""
    first = Message(1, by.id, by.name, said, 40_000)
    answer = Message(2, GUIDE.id, GUIDE.name, "Well put.", 52_000, answered=first)
    view = own(ANA, BEN, GUIDE, messages=(first, answer))
    return KIND.prompt(KIND.example(), view)[-1].text


def test_a_prompt_says_whom_a_message_answers_and_what_they_said() -> None:
    assert line_answering("Free buses!", BEN) == '[00:52, from Guide, answering Ben at 00:40: "Free buses!"] Well put.'
    assert line_answering("Free buses!", ANA) == '[00:52, from Guide, answering you at 00:40: "Free buses!"] Well put.'


def test_a_prompt_quotes_the_beginning_of_a_long_message() -> None:
    assert line_answering("x" * 500, BEN).count("x") == 280


@given(st.text())
def test_nothing_that_is_quoted_ends_its_brackets_or_its_line(said: str) -> None:
    line = line_answering(said, BEN)

    assert line.count("[") == line.count("]") == 1
    assert line.count('"') == 2
    assert len(line.splitlines()) == 1
