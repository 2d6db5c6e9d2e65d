"""What every kind of stage promises, checked for each kind there is. A new kind gets this suite by being there."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from parley_lab.kind_checks import FIRST_SEEDS, ONCE, WITH_SEEDS, Check, Trial, checked
from parley_lab.kind_checks.pages import untyped_fields
from parley_lab.kind_checks.questions import names_in
from parley_lab.kinds import StageKind
from parley_lab.kinds.stages import kinds

PRIVATE_FIELDS = {"correct"}
UNTYPED = {name: {"answers", "value"} for name in ("survey", "survey_per_participant")}
"""The fields of pages that may hold any JSON, and why: an answer has the type of its question, which is in the file, so
that only the form of the question knows it; and rules of files compare answers with any value."""

of_every_kind = pytest.mark.parametrize("kind", kinds().values(), ids=kinds())


def found_with(check: Check, kind: StageKind[Any], seeds: Iterable[int] = FIRST_SEEDS[:1]) -> list[str]:
    return [str(found) for seed in seeds for found in checked(check, kind, seed)]


@of_every_kind
def test_every_kind_keeps_its_promises(kind: StageKind[Any]) -> None:
    for check in ONCE:
        is_known = check.__name__ == "fields_of_pages_have_types" and kind.example().kind in UNTYPED

        assert is_known or found_with(check, kind) == [], check.__name__


@of_every_kind
@pytest.mark.parametrize(
    "seeds",
    [FIRST_SEEDS[:2], pytest.param(FIRST_SEEDS, marks=pytest.mark.long)],
    ids=lambda seeds: f"{len(seeds)} seeds",
)
def test_every_kind_keeps_its_promises_with_each_seed(kind: StageKind[Any], seeds: Sequence[int]) -> None:
    for check in WITH_SEEDS:
        assert found_with(check, kind, seeds) == [], check.__name__


@of_every_kind
def test_every_field_of_a_page_has_a_type(kind: StageKind[Any]) -> None:
    stage = kind.example()

    assert untyped_fields(Trial(kind, stage, 1)) == UNTYPED.get(stage.kind, set())


@of_every_kind
def test_private_fields_stay_private(kind: StageKind[Any]) -> None:
    trial = Trial(kind, kind.example(), 1)

    for play in (trial.play(), trial.straight()):
        for view in play.views():
            assert not names_in(kind.page(trial.stage, view).model_dump(mode="json")) & PRIVATE_FIELDS
