"""A page to read."""

from uuid import UUID

from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import Done, Member
from parley_lab.kinds.stages.info import KIND
from parley_lab.testing.views import own

ANA = Member(UUID(int=1), "c1/m1", "participant", "agent", Profile(name="Ana"))


def test_a_prompt_shows_the_lines_and_says_what_is_beside_them() -> None:
    stage = KIND.example()

    (block,) = KIND.prompt(stage, own(ANA))

    assert block.text.splitlines() == [*stage.lines, "[link: The timetable of the night bus]"]


def test_a_page_to_read_takes_no_answer() -> None:
    parts = KIND.parts(KIND.example())

    assert (parts.questions, parts.talk) == (None, None)
    assert KIND.completion(KIND.example(), own(ANA)) == Done()
