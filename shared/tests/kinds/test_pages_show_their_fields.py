"""What the page of a stage has, its script shows; prompts are made of the same facts."""

from pathlib import Path
from typing import Final, get_type_hints

import pytest

from parley_lab.kinds import PageContent
from parley_lab.kinds.stages import kinds

FOLDER: Final = Path(__file__).parents[2] / "src" / "parley_lab" / "kinds" / "stages"
NOT_SHOWN: Final = {
    "asset_allocation": {"step"},  # the form has it
    "beauty_contest": {"prizes", "wants"},  # a column of the table; the form says what is wanted
    "group_chat": {"time_limit_seconds", "minimum_seconds"},  # the clock of the page shows both
    "group_interview": {"over"},  # then the page has the button to go on
    "matrix_game": {"rounds_in_all", "stop_probability", "scores", "wants"},  # the points are in the table
    "private_chat": {"time_limit_seconds", "minimum_seconds"},
    "profile": {"avatars"},  # the form has them
    "ranking": {"places", "question"},  # the form has both
    "stock_info": {"require_view_all"},  # the page says what is missing
}
"""Fields that another part of the page shows, or that only the prompt needs."""

OF_KINDS: Final = sorted(name for name in kinds() if (FOLDER / name / "page.js").exists())


@pytest.mark.parametrize("name", OF_KINDS)
def test_the_script_of_a_kind_shows_each_field_of_its_page(name: str) -> None:
    page = get_type_hints(kinds()[name].page)["return"]
    script = (FOLDER / name / "page.js").read_text()

    own = [field for field in page.model_fields if field not in {*PageContent.model_fields, "kind"}]
    missing = {field for field in own if f"view.{field}" not in script and f" {field}" not in script}

    assert missing == NOT_SHOWN.get(name, set())
