"""Problems of input, in words."""

from parley_lab.base.errors import Problem


def test_a_problem_of_the_whole_is_told_without_a_place() -> None:
    assert (
        str(Problem("", "14 points", "at most 10 in all")) == "14 points cannot be used here. Write at most 10 in all."
    )
    assert str(Problem("", "14", "10", wrong="too many")) == "too many (found 14). Write 10."


def test_a_problem_of_a_part_is_told_with_its_place() -> None:
    assert str(Problem("seats[0]", "14", "10")) == "seats[0]: 14 cannot be used here. Write 10."
    at_a_line = Problem("seats[0]", "14", "10", wrong="too many", at="line 3")

    assert str(at_a_line) == "line 3: too many (found 14). Write 10."
