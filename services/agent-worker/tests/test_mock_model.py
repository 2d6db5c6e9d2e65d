"""The mock model: valid and plausible for every schema, from (seed, path) alone."""

import asyncio
import statistics
from random import Random
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from agent_worker.models.mock import MockModel, mock_reply, ready_probability, silence_probability
from shared.contracts.models import ChatMessage, Hint, ModelRequest, ModelSettings


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
        reply_schema=reply.model_json_schema(),
        hints=hints or {},
    )


def parsed(request: ModelRequest) -> dict[str, Any]:
    reply = mock_reply(request)
    assert reply.status == "ok"
    assert reply.parsed is not None
    return reply.parsed


@pytest.mark.parametrize("reply", [ChatReply, SurveyReply])
@given(seed=st.integers(), path=st.text(min_size=1), count=st.integers(0, 100))
def test_replies_are_valid(reply: type[BaseModel], seed: int, path: str, count: int) -> None:
    hints: dict[str, Hint] = {"message_count": count, "stage_name": "The {budget}", "last_speaker_name": "Ann {0}"}

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


def test_messages_are_varied_and_mention_stage_and_last_speaker() -> None:
    hints: dict[str, Hint] = {"message_count": 3, "stage_name": "City budget", "last_speaker_name": "Ann"}

    texts = [parsed(a_request(path=f"m{number}", hints=hints))["response"] for number in range(200)]

    assert len(set(texts)) > 120
    assert any("Ann" in text for text in texts)
    assert any("City budget" in text for text in texts)


@pytest.mark.parametrize("count", [0, 3])
def test_whoever_has_a_manner_of_speaking_speaks_in_it(count: int) -> None:
    hints: dict[str, Hint] = {"message_count": count, "manner": "One thing.\nAnother thing."}

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
    """How many messages a room has until everyone left or nobody wants to speak: all think, one is drawn to speak."""
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
