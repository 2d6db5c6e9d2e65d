"""The copy in which one person tries a study alone."""

from typing import Any

import pytest

from parley_lab.design import Experiment, draft_of, validate
from parley_lab.experiments.trying import for_one_person


def study(**changes: Any) -> Experiment:
    return validate(
        {
            "parley": 1,
            "name": "Streets",
            "model_mode": "real",
            "personas": [{"id": "ann"}],
            "stages": [{"id": "talk", "kind": "group_chat"}],
            "cohorts": [{"count": 9, "seats": [{"persona": "ann"}, {"open": True, "count": 3}]}],
            **changes,
        }
    )


def seats_of(experiment: Experiment) -> list[tuple[str | None, bool]]:
    return [(one.persona, one.open) for one in experiment.cohorts[0].seats]


def test_one_seat_is_open_and_the_mock_has_the_others() -> None:
    copy = for_one_person(study(), None)

    assert seats_of(copy) == [("ann", False), (None, True), ("made-up-3", False), ("made-up-4", False)]
    assert (copy.cohorts[0].count, copy.model_mode) == (1, "mock")
    assert draft_of(validate(copy.model_dump(mode="json", exclude_unset=True))).members == 4


def test_a_study_of_agents_gives_its_first_seat() -> None:
    copy = for_one_person(study(cohorts=[{"seats": [{"persona": "ann", "count": 2}]}]), None)

    assert seats_of(copy) == [(None, True), ("ann", False)]


@pytest.mark.parametrize("made", ["on_arrival", "when_together"])
def test_the_group_is_there_from_the_start(made: str) -> None:
    more = {"at": "talk"} if made == "when_together" else {}
    copy = for_one_person(study(cohorts=[{"made": made, "seats": [{"open": True, "count": 3}], **more}]), None)

    assert copy.cohorts[0].made == "at_start"
    assert len(copy.cohorts[0].seats) == 3


def test_no_rule_of_who_meets_whom_is_left_in_the_copy() -> None:
    options = [{"id": "pro", "text": "For"}, {"id": "con", "text": "Not"}]
    view = {"id": "view", "kind": "choice", "title": "For?", "options": options}
    plan = {
        "made": "when_together",
        "at": "talk",
        "seats": [{"open": True, "count": 2}, {"persona": "ann", "persona_for": {"pro": "ben"}}],
        "match": {"by": {"stage": "ask", "question": "view"}, "want": {"pro": 1, "con": 1}},
    }
    stages = [{"id": "ask", "kind": "survey", "questions": [view]}, {"id": "talk", "kind": "group_chat"}]
    matched = study(personas=[{"id": "ann"}, {"id": "ben"}], stages=stages, cohorts=[plan])

    copy = validate(for_one_person(matched, None).model_dump(mode="json"))

    assert seats_of(copy) == [(None, True), ("made-up-2", False), ("ann", False)]


def test_an_arm_can_be_chosen() -> None:
    copy = for_one_person(study(treatments=[{"id": "cold"}, {"id": "warm"}]), "warm")

    assert copy.cohorts[0].treatment == "warm"
