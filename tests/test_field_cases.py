"""What went wrong with people in the field, and the tests that hold each of it: each of them is there, and runs.

The tests are where the rule is cheapest to decide; those of browsers play the scripts that went into one.
"""

import ast
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
CASES: Final = {
    "the mediator of an interview fails, or is taken out": (
        "tests/flows/test_mediators_out.py::test_an_interview_ends_without_a_mediator_whose_model_fails",
        "tests/flows/test_mediators_out.py::test_staff_take_the_mediator_out_of_an_interview_and_the_person_goes_on",
    ),
    "the time of a page is up, and its answers are filled in": (
        "services/gateway/tests/test_unsent.py::test_what_is_filled_in_when_the_time_is_up_counts_question_by_question",
        "services/gateway/tests/test_unsent.py::test_what_is_filled_in_when_the_part_is_over_counts_and_is_marked",
        "tests/pages/test_clock.py::test_what_is_filled_in_and_not_sent_when_the_time_is_up_is_the_answer",
    ),
    "two members of one group have one name": (
        "services/gateway/tests/test_names.py::"
        "test_who_moves_to_a_group_with_an_owl_is_owl_2_there_and_an_owl_where_no_other_is",
    ),
    "Enter confirms a word in Japanese, Chinese or Korean": (
        "tests/pages/test_composer.py::test_enter_that_confirms_a_word_sends_nothing",
    ),
    "the service sends another person for each who has returned": (
        "services/gateway/tests/test_seats_again.py::"
        "test_others_get_the_seats_of_those_who_decline_in_the_arms_that_are_short",
    ),
    "a person came, waited, and closed the page": (
        "services/gateway/tests/test_seats_again.py::"
        "test_a_person_who_closed_the_page_before_the_group_met_keeps_no_place_from_those_who_come",
        "tests/flows/test_meeting.py::test_a_person_who_closed_the_page_is_passed_over_and_meets_others_once_back",
    ),
    "minutes of an interview with a value of each participant": (
        "tests/flows/test_said_once.py::test_minutes_have_what_each_member_was_asked_in_the_words_of_that_member",
    ),
    "a check of what was read, in a rehearsal": (
        "cli/tests/test_rehearsing.py::test_made_up_people_answer_a_check_as_the_file_says_and_meet",
    ),
    "a variable that only a stage uses that is left out": (
        "shared/tests/design/test_experiment_arms.py::test_an_arm_needs_no_variable_of_a_stage_that_it_leaves_out",
    ),
    "one column for an answer and for an order": (
        "shared/tests/design/test_meant_names.py::test_a_column_is_not_an_answer_in_one_arm_and_an_order_in_another",
    ),
    "a database that can only be read for a while": (
        "services/gateway/tests/test_read_only.py::test_what_is_sent_to_a_database_that_only_reads_can_be_sent_again",
        "shared/tests/store/test_not_now.py::"
        "test_nothing_is_written_to_a_server_that_only_reads_and_all_is_well_right_after",
    ),
    "a person who was replaced comes back": (
        "tests/pages/test_place_taken.py::test_it_is_said_with_the_code_on_the_page_after_a_reload_and_by_the_link",
    ),
    "a network holds streams back": (
        "tests/pages/test_held_back.py::test_what_happens_is_asked_for_where_streams_are_held_back",
        "services/gateway/tests/test_presence.py::test_the_time_of_a_check_begins_when_the_page_has_fetched_it",
    ),
    "a player is paused": (
        "services/gateway/tests/test_paused_in_a_game.py::"
        "test_the_others_play_to_the_end_without_the_one_who_is_paused",
    ),
    "the lab answers 500 for a moment": (
        "tests/pages/test_composer.py::test_a_message_goes_out_by_itself_after_a_fault_of_the_lab",
        "tests/pages/test_composer.py::test_a_form_keeps_what_was_entered_in_a_fault_of_the_lab",
    ),
    "a person who has declined opens the link again": (
        "services/gateway/tests/test_coming_back.py::"
        "test_a_person_who_has_declined_gets_the_same_end_again_and_no_second_seat",
    ),
    "the browser translates the page": (
        "tests/pages/test_translated.py::"
        "test_nothing_is_stale_on_a_translated_page_and_what_is_said_is_translated_on_request",
    ),
    "the keyboard of a phone makes the window smaller": (
        "tests/pages/test_composer.py::"
        "test_the_newest_message_stays_in_sight_when_a_keyboard_comes_up_or_a_phone_is_turned",
    ),
}
_LEFT_OUT: Final = {"skip", "long", "fault"}
"""Marks of tests that the usual run leaves out."""


@pytest.mark.parametrize("case", sorted(CASES))
def test_each_case_is_held_by_tests_of_the_usual_run(case: str) -> None:
    for name in CASES[case]:
        path, _, function = name.partition("::")
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        found = [
            one for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == function
        ]
        assert len(found) == 1, f"{name} is not there"
        marks = {
            node.attr for one in found[0].decorator_list for node in ast.walk(one) if isinstance(node, ast.Attribute)
        }
        assert marks.isdisjoint(_LEFT_OUT), f"{name} is left out of the usual run"
