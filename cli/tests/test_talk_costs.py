"""What a message costs, as the terminal says it before a run."""

import json
from typing import Any

import pytest

from parley_lab.cli.experiment_run import talk_costs
from parley_lab.design import load


def costs(stage: dict[str, Any], agents: int = 4, mediators: int = 0) -> list[str]:
    seats = [{"open": True}, {"persona": "ada", "count": agents}] if agents else [{"open": True}]
    cohort = {"seats": seats, "mediators": ["med"] * mediators}
    personas = [{"id": "ada"}, {"id": "med"}]
    content = {"parley": 1, "name": "Costs", "personas": personas, "stages": [stage], "cohorts": [cohort]}
    return list(talk_costs(load(json.dumps(content), "costs.yaml")))


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (
            {},
            "talk (race): up to 4 calls for each message, to everybody who may speak, and one about readiness in 4 "
            "messages.",
        ),
        (
            {"late_replies": "dropped", "ready_check_every": 9},
            "talk (race): up to 4 calls for each message, to everybody who may speak, and one about readiness in 9 "
            "messages; asks anew whenever a member speaks during a call.",
        ),
        (
            {"turn_taking": "select"},
            "talk (select): 1 call for each message of an agent, and one about readiness in 4 messages.",
        ),
        (
            {"turn_taking": "round"},
            "talk (round): 1 call for each message of an agent, and one about readiness in 4 messages.",
        ),
    ],
)
def test_each_way_of_taking_turns_says_what_it_costs(fields: dict[str, Any], line: str) -> None:
    assert costs({"id": "talk", "kind": "group_chat", **fields}) == [line]


def test_a_private_chat_asks_its_mediators_and_nothing_is_said_where_no_agent_is() -> None:
    assert costs({"id": "q", "kind": "private_chat"}, agents=0, mediators=1) == [
        "q (private): 1 call for each message of the participant."
    ]
    assert costs({"id": "talk", "kind": "group_chat"}, agents=0) == []
    assert costs({"id": "hello", "kind": "info", "lines": ["Hello."]}) == []
