"""A warning about agents that answer at once, and each other, in a conversation with people."""

from typing import Any

import pytest

from parley_lab.design import Reading

TALK = {"id": "talk", "kind": "group_chat"}
SPEED = {"chat": {"words_per_minute": 60}}
PERSON = {"open": True}


def warn(**changes: Any) -> list[tuple[str, str]]:
    """The places of the warnings about a file, and the agents in them."""
    file = {
        "parley": 1,
        "name": "Buses",
        "pace": "live",
        "stages": [{"id": "page", "kind": "info", "lines": ["Hello."]}, TALK],
        "personas": [{"id": "ana"}, {"id": "ben"}],
        "cohorts": [{"seats": [PERSON, {"persona": "ana"}, {"persona": "ben"}]}],
        **changes,
    }
    reading = Reading("buses.yaml", file)
    return [(one.where, one.wrong) for one in reading.warnings_of(reading.experiment())]


def test_two_agents_without_a_speed_beside_a_person_are_warned_of_with_what_to_write() -> None:
    reading = Reading(
        "x", {"parley": 1, "name": "x", "pace": "live", "stages": [TALK], "personas": [{"id": "ana"}], "cohorts": PLANS}
    )

    (warning,) = reading.warnings_of(reading.experiment())

    assert str(warning) == (
        "stages[0] (talk): agents answer at once, and answer each other, faster than people can read (ana). "
        "Write `chat: {words_per_minute: 60}` for each of them."
    )


PLANS = [{"seats": [PERSON, {"persona": "ana", "count": 2}]}, {"seats": [PERSON, {"persona": "ana", "count": 3}]}]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"pace": "fast"}, id="nothing takes time"),
        pytest.param({"cohorts": [{"seats": [{"persona": "ana"}, {"persona": "ben"}]}]}, id="no people"),
        pytest.param({"cohorts": [{"seats": [PERSON, {"persona": "ana"}]}]}, id="one agent"),
        pytest.param({"personas": [{"id": "ana", **SPEED}, {"id": "ben"}]}, id="the mean of the others"),
        pytest.param(
            {"personas": [{"id": one, "chat": {"words_per_minute": 0}} for one in ("ana", "ben")]}, id="chosen"
        ),
        pytest.param({"personas": [{"id": "ana", "player": "script"}, {"id": "ben"}]}, id="a script"),
        pytest.param({"stages": [{**TALK, "turn_taking": "round"}]}, id="people have turns"),
        pytest.param({"stages": [{**TALK, "kind": "private_chat"}]}, id="without mediators"),
        pytest.param({"stages": [{"id": "page", "kind": "info", "lines": ["Hello."]}]}, id="no conversation"),
        pytest.param({"personas": [{"id": one, "by_stage": {"talk": SPEED}} for one in ("ana", "ben")]}, id="by stage"),
    ],
)
def test_what_people_can_follow_is_not_warned_of(changes: dict[str, Any]) -> None:
    assert warn(**changes) == []


@pytest.mark.parametrize("kind", ["group_chat", "private_chat"])
def test_mediators_are_agents_in_the_conversations_in_which_they_sit(kind: str) -> None:
    stages = [{"id": one, "kind": kind} for one in ("first", "second")]
    personas = [{"id": "ana"}, {"id": "ben", "mediates_in": ["second"]}]
    cohorts = [{"seats": [PERSON], "mediators": ["ana", "ben"]}]

    found = warn(stages=stages, personas=personas, cohorts=cohorts)

    assert [where for where, _ in found] == ["stages[1]"]


def test_each_arm_is_looked_at() -> None:
    speeds = dict.fromkeys(("ana", "ben"), SPEED)
    slow = {"id": "slow", "personas": speeds}
    cohorts = [{"seats": [PERSON, {"persona": "ana"}, {"persona": "ben"}], "treatment": "slow"}]

    assert warn(treatments=[slow], cohorts=cohorts) == []
    assert [where for where, _ in warn(treatments=[slow, {"id": "quick"}])] == ["stages[1]"]
    assert warn(treatments=[slow, {"id": "without", "leave_out": ["talk"]}]) == []


def test_agents_of_whom_only_the_name_is_known_are_not_warned_of() -> None:
    file = {"parley": 1, "name": "x", "pace": "live", "stages": [TALK], "personas": [{"id": "ana"}], "cohorts": PLANS}
    reading = Reading("x", file)

    assert [*reading.warnings_of(reading.experiment(), sketched={"ana"})] == []
