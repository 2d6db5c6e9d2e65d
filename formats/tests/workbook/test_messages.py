"""What agents of a workbook are told before anything is asked, and how a question reads."""

from parley_lab.formats.testing.workbooks import Values, base_values, design_of, with_setting
from parley_lab.formats.workbook import assign
from parley_lab.formats.workbook.messages import system_message


def message(values: Values, role: str | None = None) -> str:
    """The system message of the first agent of the first session, or of a special role there."""
    design = design_of(values)
    session = assign(design).sessions[0]
    return system_message(design, session, design.role(role) if role else session.seats[0])


def test_a_system_message_has_context_treatment_profile_and_role_in_this_order() -> None:
    text = message(base_values())

    parts = [
        "A game is played.",
        "You play as you like.",
        "1) Interviewer: How old are you? Me: 31",
        "You are player C.",
    ]
    assert [part for part in parts if part in text] == parts
    assert sorted(parts, key=text.index) == parts


def test_the_id_is_not_part_of_a_profile() -> None:
    assert "ID" not in message(base_values())


def test_blank_answers_are_left_out_and_zero_and_false_are_not() -> None:
    values = base_values()
    for row in values["agent_profiles"][2:]:
        row[1:] = [0, None]
    values["agent_profiles"] = [
        [*row, "FALSE?" if number < 2 else False] for number, row in enumerate(values["agent_profiles"])
    ]

    text = message(values)

    assert "1) Interviewer: How old are you? Me: 0" in text
    assert "2) Interviewer: FALSE? Me: FALSE" in text
    assert "How do you feel?" not in text
    assert "nan" not in text


def test_columns_that_assign_are_not_part_of_a_profile() -> None:
    values = with_setting(base_values(), session_column="mood", role_column="How old are you?")

    assert "Interviewer" not in message(values)


def test_special_roles_have_no_profile() -> None:
    text = message(base_values(), "Facilitator")

    assert "Interviewer" not in text
    assert text.endswith("You lead the session.")
