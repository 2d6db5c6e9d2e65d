"""The table of lives: every state with every command, and the sets that are made of it."""

from typing import Final, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import Conflict
from parley_lab.contracts import lives
from parley_lab.contracts.lives import (
    ON_THE_WAY,
    OUT,
    OUTCOMES,
    STATES,
    STILL_IN,
    TAKING_PART,
    TRANSITIONS,
    Command,
    State,
)

COMMANDS: Final[tuple[Command, ...]] = get_args(Command)
states = st.sampled_from(STATES)
commands = st.sampled_from(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_done_in_a_state_or_refused_with_the_reason(command: lives.Command) -> None:
    table = TRANSITIONS[command]

    for state in STATES:
        if state in table:
            assert lives.after(state, command) == table[state]
        else:
            with pytest.raises(Conflict) as refused:
                lives.after(state, command)
            assert refused.value.reason == ("not_in_progress" if state in OUTCOMES else _REASONS[state])


_REASONS = {
    "expected": "not_joined",
    "in_progress": "in_progress",
    "attention_check": "attention_check",
    "transfer_pending": "transfer_pending",
    "paused": "paused",
}


@given(states, st.lists(commands, max_size=30))
def test_any_row_of_commands_leaves_a_known_state(state: State, given_commands: list[lives.Command]) -> None:
    for command in given_commands:
        was = state
        try:
            state = lives.after(state, command)
        except Conflict:
            assert state == was
        assert state in STATES


@given(states, st.lists(commands.filter(lambda command: command != "revive"), max_size=10))
def test_who_is_out_stays_out_unless_they_are_revived(state: State, given_commands: list[lives.Command]) -> None:
    for command in given_commands:
        was = state
        try:
            state = lives.after(state, command)
        except Conflict:
            continue
        assert was not in OUTCOMES or state == was


@given(states, commands)
def test_a_command_that_asks_for_a_state_is_done_once(state: State, command: lives.Command) -> None:
    try:
        once = lives.after(state, command)
    except Conflict:
        return

    if command in ("leave", "remove", "pause", "resume", "check", "pass_check", "decline_transfer"):
        assert lives.after(once, command) == once


def test_every_end_is_reached_and_everybody_who_is_in_can_leave_and_be_removed() -> None:
    assert {outcome for outcome in OUTCOMES if lives.leading_to(outcome)} == set(OUTCOMES)
    assert all(lives.after(state, "leave") in OUT for state in STILL_IN)
    assert all(lives.after(state, "remove") in OUT for state in ON_THE_WAY)
    assert set(get_args(lives.Outcome)) | set(ON_THE_WAY) == set(STATES)


def test_someone_removed_in_a_check_has_failed_it() -> None:
    assert lives.outcome("attention_check", "remove") == "attention_failed"
    assert {lives.outcome(state, "remove") for state in ON_THE_WAY if state != "attention_check"} == {"removed"}


def test_only_those_who_take_part_may_drop_out_and_paused_members_may_not_be_asked() -> None:
    assert set(lives.sources("drop_out")) == set(TAKING_PART)
    assert "paused" not in TAKING_PART


def test_a_command_that_ends_no_one_has_no_outcome() -> None:
    with pytest.raises(ValueError, match="no way to end"):
        lives.outcome("in_progress", "pause")


def test_states_stand_in_sql_in_one_order() -> None:
    assert lives.in_sql(TAKING_PART) == "('attention_check', 'in_progress', 'transfer_pending')"
