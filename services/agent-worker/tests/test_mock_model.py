"""The mock model: valid and plausible for every schema, from (seed, path) alone."""

import asyncio
import statistics
from functools import cache
from random import Random
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from parley_lab.agent_worker.models import phrases
from parley_lab.agent_worker.models.mock import MockModel, mock_reply, ready_probability, silence_probability
from parley_lab.contracts.models import ChatMessage, Hint, ModelRequest, ModelSettings


class ChatReply(BaseModel):
    model_config = ConfigDict(extra="forbid")
    explanation: str
    shouldRespond: bool
    response: str = Field(max_length=80)
    readyToEndChat: bool


class SurveyReply(BaseModel):
    model_config = ConfigDict(extra="forbid")
    opinion: str = Field(min_length=1, max_length=400)
    age: int = Field(ge=18, le=99)
    trust: int = Field(ge=1, le=7)
    budget: float = Field(ge=0, le=10, multiple_of=0.5)
    agrees: bool
    colour: Literal["red", "green", "blue"]
    hobbies: set[Literal["sport", "music", "books"]] = Field(min_length=1, max_length=2)
    comment: str | None


@cache
def schema_of(reply: type[BaseModel]) -> dict[str, Any]:
    """Made once: thousands of requests ask for the same."""
    return reply.model_json_schema()


def a_request(
    *,
    path: str = "c1/m1/talk/call:1",
    seed: int = 7,
    reply: type[BaseModel] = ChatReply,
    hints: dict[str, Hint] | None = None,
) -> ModelRequest:
    return ModelRequest(
        path=path,
        seed=seed,
        settings=ModelSettings(provider="mock"),
        messages=(ChatMessage(role="user", content="Hello there"),),
        reply_schema=schema_of(reply),
        hints=hints or {},
    )


def parsed(request: ModelRequest) -> dict[str, Any]:
    reply = mock_reply(request)
    assert reply.status == "ok"
    assert reply.parsed is not None
    return reply.parsed


def test_what_is_suggested_is_said() -> None:
    hints: dict[str, Hint] = {"suggest:opinion": "It is dear.", "suggest:agrees": True, "suggest:age": 33}

    said = parsed(a_request(reply=SurveyReply, hints=hints))

    assert (said["opinion"], said["agrees"], said["age"]) == ("It is dear.", True, 33)


@pytest.mark.parametrize("reply", [ChatReply, SurveyReply])
@given(seed=st.integers(), path=st.text(min_size=1), count=st.integers(0, 100))
def test_replies_are_valid(reply: type[BaseModel], seed: int, path: str, count: int) -> None:
    hints: dict[str, Hint] = {"message_count": count, "question:trust": "attitude/trust", "question:hobbies": "hobbies"}

    made = mock_reply(a_request(seed=seed, path=path, reply=reply, hints=hints))

    reply.model_validate_json(made.raw)
    reply.model_validate(made.parsed)


def test_a_reply_depends_on_seed_and_path_alone() -> None:
    request = a_request()
    same_but_for_the_prompt = request.model_copy(update={"messages": (ChatMessage(role="user", content="Other"),)})

    assert mock_reply(request).raw == mock_reply(same_but_for_the_prompt).raw
    assert mock_reply(request).raw != mock_reply(a_request(path="c1/m2/talk/call:1")).raw
    assert mock_reply(request).raw != mock_reply(a_request(seed=8)).raw


async def test_the_order_of_calls_changes_nothing() -> None:
    model = MockModel(latency_seconds=0.001)
    requests = [a_request(path=f"c1/m{number}/talk") for number in range(20)]

    forwards = await asyncio.gather(*(model.reply(request) for request in requests))
    backwards = await asyncio.gather(*(model.reply(request) for request in reversed(requests)))

    assert list(forwards) == list(reversed(backwards))


def test_usage_is_told_as_a_provider_would() -> None:
    reply = mock_reply(a_request())

    assert reply.tokens_in == 2
    assert reply.tokens_out is not None
    assert reply.tokens_out > 10
    assert reply.model_returned == "mock"


GREETINGS = ("Hello", "Good day", "Hi")
GOODBYES = ("nothing to add", "said what I wanted", "all from me", "I am done")


def said(reply: type[BaseModel] = ChatReply, **hints: Hint) -> list[str]:
    """What 200 speakers say who are given these hints."""
    return [parsed(a_request(path=f"m{number}", reply=reply, hints=dict(hints)))["response"] for number in range(200)]


def test_messages_are_varied_and_name_neither_the_stage_nor_who_spoke() -> None:
    texts = said(
        message_count=3,
        last_text="I am Ann.",
        stage_name="City budget",
        last_speaker_name="Ann",
        persona_text="You are Ann.",
    )

    assert len(set(texts)) > 80
    assert not [text for text in texts if "Ann" in text or "City budget" in text]


def test_no_one_reacts_to_a_question_or_to_nothing() -> None:
    reacting = ("I see", "I agree", "I had not", "I am not so sure", "I can follow", "Part of that", "There may be")

    assert [text for text in said(message_count=3, last_text="It is fair.") if text.startswith(reacting)]
    for last in ("Who begins?", None):
        assert not [text for text in said(message_count=3, last_text=last) if text.startswith(reacting)]


def test_greetings_come_first_and_goodbyes_last() -> None:
    assert all(text.startswith(GREETINGS) for text in said(message_count=0))
    late = said(message_count=15, own_message_count=3)
    assert not [text for text in late if text.startswith(GREETINGS)]
    assert [text for text in late if any(words in text for words in GOODBYES)]
    first_words = said(message_count=15, own_message_count=0)
    assert not [text for text in first_words if any(words in text for words in GOODBYES)]


def test_no_one_leaves_who_stays_until_the_end_is_near() -> None:
    def leave(**hints: Hint) -> set[bool]:
        late: dict[str, Hint] = {"message_count": 25, "own_message_count": 4, **hints}
        return {parsed(a_request(path=f"m{number}", hints=late))["readyToEndChat"] for number in range(50)}

    assert leave(stays=True) == {False}
    assert leave(stays=False) == {True, False}


class InterviewReply(BaseModel):
    response: str
    reasoning: str


@pytest.mark.parametrize("count", [0, 20])
def test_who_is_asked_for_a_summary_neither_greets_nor_takes_leave(count: int) -> None:
    texts = said(InterviewReply, message_count=count, own_message_count=1, is_mediator=True)

    assert all(text.startswith(("In sum", "In short", "To sum up")) for text in texts)


@pytest.mark.parametrize("count", [0, 20])
def test_what_is_said_in_turn_outside_a_chat_is_no_greeting(count: int) -> None:
    texts = said(InterviewReply, message_count=count)

    assert not [text for text in texts if text.startswith(GREETINGS) or any(words in text for words in GOODBYES)]


class ReasonReply(BaseModel):
    reason: str
    explanation: str


@pytest.mark.parametrize("hints", [{}, {"question:reason": "reason", "question:explanation": "explanation"}])
def test_a_question_about_reasons_gets_no_reasons_for_speaking(hints: dict[str, Hint]) -> None:
    replies = [parsed(a_request(path=f"m{number}", reply=ReasonReply, hints=hints)) for number in range(200)]

    texts = {text for reply in replies for text in reply.values()}
    assert len(texts) > 5
    assert not texts & {
        phrases.reason(Random(seed), speaks=speaks, ready=ready)
        for seed in range(50)
        for speaks in (True, False)
        for ready in (True, False)
    }


@pytest.mark.parametrize("is_mediator", [False, True])
@pytest.mark.parametrize("count", [0, 3])
def test_who_has_a_manner_of_speaking_speaks_in_it(count: int, is_mediator: bool) -> None:
    manner = "One thing.\nAnother thing."
    hints: dict[str, Hint] = {"message_count": count, "manner": manner, "is_mediator": is_mediator}

    texts = [parsed(a_request(path=f"m{number}", hints=hints))["response"] for number in range(40)]

    assert all("One thing." in text or "Another thing." in text for text in texts)
    assert len(set(texts)) > 2


def test_an_empty_room_is_always_opened() -> None:
    replies = [parsed(a_request(path=f"m{number}", hints={"message_count": 0})) for number in range(200)]

    assert all(reply["shouldRespond"] and reply["response"] for reply in replies)
    assert not any(reply["readyToEndChat"] for reply in replies)


def test_readiness_grows_with_the_conversation() -> None:
    probabilities = [ready_probability(count) for count in range(60)]

    assert probabilities[0] == probabilities[5] == 0
    assert probabilities == sorted(probabilities)
    assert 0.5 < probabilities[-1] < 1


def test_the_talkative_are_silent_more_often() -> None:
    assert silence_probability(3, 3) == 0
    assert silence_probability(10, 8) > silence_probability(10, 2) > 0


def play_a_room(agents: int, seed: int) -> int:
    """The number of messages until all have left or none wants to speak: all think, one is drawn to speak."""
    rng = Random(seed)
    present, own, last, count = list(range(agents)), [0] * agents, -1, 0
    while present and count < 100:
        thinking = [agent for agent in present if agent != last]
        replies = {
            agent: parsed(
                a_request(
                    seed=seed,
                    path=f"m{agent}/after:{count}",
                    hints={"message_count": count, "own_message_count": own[agent]},
                )
            )
            for agent in thinking
        }
        speakers = [agent for agent in thinking if replies[agent]["shouldRespond"]]
        if not speakers:
            return count
        last = rng.choice(speakers)
        own[last] += 1
        count += 1
        present = [agent for agent in present if agent not in replies or not replies[agent]["readyToEndChat"]]
    return count


@pytest.mark.parametrize("agents", [2, 3, 4])
def test_a_room_of_agents_ends_after_a_plausible_number_of_messages(agents: int) -> None:
    lengths = sorted(play_a_room(agents, seed) for seed in range(100))

    assert 8 <= statistics.median(lengths) <= 20
    assert lengths[10] >= 6
    assert lengths[-1] <= 40
