"""The contract of stage kinds, checked for one kind; our own tests and `parley kinds check` run the same checks.

A check plays the example of a kind in memory, with members and orders drawn from a seed. A finding tells the author of
the kind what was expected, with which members and in which order, and the seed that reproduces it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from parley_lab.kind_checks import courses, pages, questions
from parley_lab.kind_checks.trial import Check, Finding, Trial, findings, promise_of
from parley_lab.kinds import StageKind

ONCE: Final[Sequence[Check]] = (
    pages.example_is_complete,
    pages.public_names_are_of_the_interface,
    pages.there_is_room_for_a_member,
    pages.pages_are_of_their_type,
    pages.fields_of_pages_have_types,
    pages.prompts_can_be_made,
    pages.who_is_blocked_is_told_why,
    pages.lines_of_answers_agree,
    pages.others_do_not_decide_who_goes_on,
    pages.pages_tell_of_others_where_they_are_read,
    pages.stored_states_are_read_like_those_made,
    pages.rows_are_in_their_table,
    pages.table_names_are_its_own,
    pages.minutes_are_of_a_stage_with_a_state,
    pages.narrations_come_to_something,
    pages.scripts_act_for_no_other,
    pages.rules_of_talk_can_be_kept,
    questions.asking_again_changes_nothing,
    questions.questions_have_a_task_and_a_shape,
    questions.without_an_answer_there_is_an_end,
    questions.texts_are_read_or_refused,
    questions.forms_have_titles,
    courses.who_leaves_holds_up_no_other,
)
"""Checks without randomness."""

WITH_SEEDS: Final[Sequence[Check]] = (
    pages.who_has_answered_everything_may_go_on,
    pages.answers_can_be_shown,
    pages.cells_are_in_their_columns,
    pages.turns_go_to_those_who_are_there,
    pages.talk_has_a_task_and_a_shape,
    questions.replies_are_counted_beforehand,
    questions.answers_are_stored_as_they_are,
    questions.what_a_form_describes_is_taken,
    questions.wrong_values_are_refused_at_their_field,
    questions.later_draws_only_extend,
    questions.who_is_alone_depends_on_no_other,
    courses.states_do_not_depend_on_who_was_first,
    courses.same_data_in_every_order,
    courses.late_prompts_are_those_made_at_once,
    courses.open_questions_keep_others_answers_out,
    courses.no_member_is_stuck,
    courses.who_is_there_changes_nothing,
    courses.no_return_turns_anything_back,
)
"""Checks that are repeated with several seeds."""

FIRST_SEEDS: Final = range(1, 21)


def check_kind(kind: StageKind[Any], seeds: Iterable[int] = FIRST_SEEDS) -> Iterator[Finding]:
    """The findings about a kind: of each check, those of the first seed that has any.

    A finding of several checks is reported once.
    """
    tried, told = list(seeds), set[tuple[str, str]]()
    for check in (*ONCE, *WITH_SEEDS):
        for seed in tried[:1] if check in ONCE else tried:
            if found := checked(check, kind, seed):
                yield from (one for one in found if (one.expected, one.found) not in told)
                told |= {(one.expected, one.found) for one in found}
                break


def checked(check: Check, kind: StageKind[Any], seed: int) -> list[Finding]:
    """The findings of one check with one seed."""
    return findings(check, Trial(kind, kind.example(), seed))


__all__ = [
    "FIRST_SEEDS",
    "ONCE",
    "WITH_SEEDS",
    "Check",
    "Finding",
    "Trial",
    "check_kind",
    "checked",
    "promise_of",
]
