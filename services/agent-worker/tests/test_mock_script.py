"""What a mock script in the experiment file makes of a rehearsal."""

import asyncio
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.agent_worker.models.mock import MockModel, mock_reply
from parley_lab.agent_worker.models.rehearsal import failure, latency_seconds
from parley_lab.contracts.mock_script import MockScript
from parley_lab.contracts.models import ChatMessage, ModelReply, ModelRequest, ModelSettings
from parley_lab.kinds.chat.replies import SpeakReply, TalkReply
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

TALK_SCHEMA: Final = TalkReply.model_json_schema()


def a_request(
    script: dict[str, Any] | None, *, said: int = 0, path: str = "c1/m1/talk/start/call:1", pace: str = "live"
) -> ModelRequest:
    return ModelRequest(
        path=path,
        seed=7,
        settings=ModelSettings(provider="mock"),
        messages=(ChatMessage(role="user", content="Hello there"),),
        reply_schema=TALK_SCHEMA,
        stage_id="talk",
        pace=pace,
        mock=None if script is None else MockScript.model_validate(script),
        hints={"message_count": 2 * said, "own_message_count": said},
    )


def parsed(request: ModelRequest) -> dict[str, Any]:
    reply = mock_reply(request)
    assert reply.parsed is not None
    return reply.parsed


def asked(script: dict[str, Any], *, pace: str = "live", attempt: int = 1) -> ModelReply:
    path = f"c1/m1/talk/start/call:{attempt}"
    return asyncio.run(MockModel().reply(a_request(script, path=path, pace=pace)))


def test_lines_are_said_in_their_order_by_the_number_of_own_messages() -> None:
    script = {"lines": ["One.", "Two."]}

    said = [parsed(a_request(script, said=number)) for number in (0, 1)]

    assert [(reply["response"], reply["shouldRespond"], reply["readyToEndChat"]) for reply in said] == [
        ("One.", True, False),
        ("Two.", True, False),
    ]


def test_lines_for_a_stage_go_before_the_others() -> None:
    script = {"lines": ["Anywhere."], "stage_lines": {"talk": ["Here."]}}

    assert parsed(a_request(script))["response"] == "Here."
    elsewhere = a_request(script).model_copy(update={"stage_id": "lounge"})
    assert parsed(elsewhere)["response"] == "Anywhere."


@pytest.mark.parametrize(
    ("after_lines", "speaks", "is_ready"),
    [("silence", False, False), ("leave", False, True), ("plausible", True, False)],
)
def test_what_follows_the_last_line(after_lines: str, speaks: bool, is_ready: bool) -> None:
    reply = parsed(a_request({"lines": ["One."], "after_lines": after_lines}, said=1))

    assert (reply["shouldRespond"], reply["readyToEndChat"]) == (speaks, is_ready)
    assert reply["response"] != "One."


def test_an_empty_script_changes_nothing() -> None:
    for number in range(50):
        path = f"c1/m1/talk/after:{number}/call:1"
        assert parsed(a_request({}, said=number, path=path)) == parsed(a_request(None, said=number, path=path))


def test_silence_is_as_likely_as_the_script_says_and_uses_up_no_line() -> None:
    paths = [f"c1/m1/talk/after:{number}/call:1" for number in range(400)]

    replies = [parsed(a_request({"silence": 0.25, "lines": ["One."]}, path=path)) for path in paths]

    silent = sum(not reply["shouldRespond"] for reply in replies)
    assert 60 <= silent <= 140
    assert {reply["response"] for reply in replies if reply["shouldRespond"]} == {"One."}


def test_who_has_the_turn_says_its_line() -> None:
    request = a_request({"lines": ["One."]}).model_copy(update={"reply_schema": SpeakReply.model_json_schema()})

    assert SpeakReply.model_validate(parsed(request)).response == "One."


def test_latencies_are_drawn_from_the_path_and_within_their_bounds() -> None:
    requests = [a_request({"latency_seconds": [1, 3]}, path=f"c1/m1/t/call:{number}") for number in range(100)]

    drawn = [latency_seconds(request) or 0 for request in requests]

    assert drawn == [latency_seconds(request) for request in requests]
    assert all(1 <= seconds <= 3 for seconds in drawn)
    assert len(set(drawn)) == 100
    assert latency_seconds(a_request({"latency_seconds": 2})) == 2


def test_in_pace_fast_a_latency_is_told_and_not_waited_for() -> None:
    assert asked({"latency_seconds": 500}, pace="fast").simulated_seconds == 500
    assert asked({}, pace="fast").simulated_seconds is None
    assert asked({"latency_seconds": 0.001}).simulated_seconds is None
    assert asked({"latency_seconds": 0.001, "always_wait": True}, pace="fast").simulated_seconds is None


def test_calls_fail_at_the_attempts_that_the_script_names() -> None:
    script = {"failures": [{"status": "rate_limited", "attempts": [1, 3], "retry_after_seconds": 7}]}

    replies = [asked(script, attempt=number) for number in (1, 2, 3, 4)]

    assert [reply.status for reply in replies] == ["rate_limited", "ok", "rate_limited", "ok"]
    assert replies[0].retry_after_seconds == 7
    assert replies[0].can_retry


def test_calls_fail_in_the_stages_that_the_script_names() -> None:
    assert failure(a_request({"failures": [{"status": "timeout", "stages": ["after"]}]})) is None
    assert failure(a_request({"failures": [{"status": "timeout", "stages": ["after", "talk"]}]})) is not None


def test_failures_are_as_likely_as_the_script_says_and_the_first_wins() -> None:
    script = {"failures": [{"status": "timeout", "probability": 0.25}, {"status": "unavailable", "probability": 0.25}]}
    requests = [a_request(script, path=f"c1/m{number}/t/call:1") for number in range(800)]

    found = [failed.status if (failed := failure(request)) else "ok" for request in requests]

    assert 150 <= found.count("timeout") <= 250
    assert 105 <= found.count("unavailable") <= 195


@given(
    st.builds(
        MockScript,
        lines=st.lists(
            st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(str.strip), max_size=3
        ).map(tuple),
        after_lines=st.sampled_from(["plausible", "silence", "leave"]),
        silence=st.none() | st.floats(0, 1),
    ),
    st.integers(0, 10),
)
def test_whatever_a_script_says_the_reply_is_valid(script: MockScript, said: int) -> None:
    request = a_request(None, said=said).model_copy(update={"mock": script})

    TalkReply.model_validate(parsed(request))


REHEARSAL = """
parley: 1
name: A rehearsal
seed: 0
personas:
  - id: ada
    mock: {lines: [Good morning., I agree.], after_lines: leave, latency_seconds: 2}
  - id: bob
    mock:
      lines: [And to you.]
      after_lines: leave
      latency_seconds: 5
      failures: [{status: rate_limited, attempts: [1], retry_after_seconds: 30}]
stages:
  - {id: talk, kind: group_chat}
cohorts: [{seats: [{persona: ada}, {persona: bob}]}]
"""


async def test_a_rehearsal_goes_by_its_script_and_sleeps_not(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(REHEARSAL)

    await lab.drain()

    messages = await lab.rows("SELECT text, elapsed_ms FROM messages WHERE author_kind = 'agent' ORDER BY seq")
    assert [message.text for message in messages] == ["Good morning.", "And to you.", "I agree."]
    assert [message.elapsed_ms for message in messages] == [2_000, 7_000, 9_000]
    calls = await lab.rows(
        "SELECT c.attempt, c.status, c.settings FROM model_calls c JOIN drafts d ON d.id = c.draft_id"
        " JOIN members m ON m.id = d.member_id WHERE m.path = 'c1/m2' AND d.trigger_key = 'start' ORDER BY c.attempt"
    )
    assert [(call.attempt, call.status) for call in calls] == [(1, "rate_limited"), (2, "ok")]
    assert all("mock" not in call.settings for call in calls)
