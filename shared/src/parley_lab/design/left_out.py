"""Checks rules over arms and factors, and the rules by which stages are left out.

The members of a cohort may be on a stage together: then a rule that leaves it out must say the same for all of them. It
may differ between members on stages that each goes through alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import unknown
from parley_lab.base.rules import ORDERINGS, Comparison, as_number, comparisons
from parley_lab.contracts.assigned import Assigned, Balanced, ByPersona, Permutation
from parley_lab.contracts.experiment import StageConfig, Treatment
from parley_lab.design import conditions
from parley_lab.design.own_arms import why_shared

_OF_ARM: Final = ("treatment", "factor", "variable")


def problems(
    stages: Mapping[int, StageConfig],
    treatments: Sequence[Treatment],
    assigned: Sequence[Assigned],
    *,
    by_participant: bool,
) -> Iterator[Problem]:
    """stages: those that are valid in themselves, by position. by_participant: members of a cohort differ in arms."""
    own = {name for one in assigned if _is_of_participant(one) for name in one.names}
    of_cohort = {name for one in assigned if not _is_of_participant(one) for name in one.names}
    in_order = [stages[place] for place in sorted(stages)]
    for place, stage in stages.items():
        fields = stage.model_dump(mode="json")
        for at in conditions.given_in_file(fields, f"stages[{place}]"):
            yield Problem(f"{at}.given", "an unknown field", "nothing: the lab fills in what a participant has")
        for at, one in conditions.compared(fields, f"stages[{place}]"):
            yield from _unknown(one, at, treatments)
        why = None if stage.show_if is None else why_shared(stage, in_order)
        for at, one in () if stage.show_if is None else comparisons(stage.show_if, f"stages[{place}].show_if"):
            if why is not None and _differs(one, own, by_participant=by_participant):
                yield Problem(at, f"a rule that differs between members, of a stage {why}", _ALIKE)
            elif stage.id == in_order[0].id and _differs(one, own, by_participant=False):
                yield Problem(at, "a rule of the first stage", _FIRST)
        for at, one in conditions.compared({"tasks": fields.get("tasks")}, f"stages[{place}]"):
            is_of_cohort = one.variable is not None and one.variable.partition(".")[0] in of_cohort
            if not is_of_cohort and _differs(one, own, by_participant=by_participant):
                yield Problem(at, f"a rule over a {one.subject}", _OF_TASKS)


_ALIKE: Final = (
    "a rule that is the same for all of a cohort: over `treatment`, `factor` or `variable`, where cohorts have the arms"
)
_OF_TASKS: Final = (
    "a rule that is the same for all of a cohort: over a `variable` of the cohort or, where cohorts have the arms, "
    "over `treatment`, `factor` or a `variable` of the arm"
)
_FIRST: Final = "a stage before it, such as a page to read: rules over single participants are decided on the way"


def _differs(one: Comparison, own: set[str], *, by_participant: bool) -> bool:
    """Whether the comparison differs between members of a cohort."""
    if one.subject not in _OF_ARM or (one.variable is not None and one.variable.partition(".")[0] in own):
        return True
    return by_participant


def _is_of_participant(one: Assigned) -> bool:
    return isinstance(one, Balanced | ByPersona) or (isinstance(one, Permutation) and one.scope == "participant")


def _unknown(one: Comparison, place: str, treatments: Sequence[Treatment]) -> Iterator[Problem]:
    if one.row is not None:
        yield Problem(f"{place}.row", repr(one.row), "a question of a stage with `rows`: here is no row")
    if one.treatment is not None and one.treatment not in (ids := [each.id for each in treatments]):
        nothing = "`treatments` or `factors` beside it: this file has no arms"
        yield unknown(f"{place}.treatment", one.treatment, ids, "treatment", if_none=nothing)
    if one.factor is None:
        return
    levels: set[str] = {each.levels[one.factor] for each in treatments if one.factor in each.levels}
    factors = list(dict.fromkeys(factor for each in treatments for factor in each.levels))
    if not levels:
        nothing = "`factors` beside it: this file has none"
        yield unknown(f"{place}.factor", one.factor, factors, "factor", if_none=nothing)
    elif one.operator in ("equals", "not_equals") and one.value not in levels:
        yield unknown(f"{place}.value", str(one.value), sorted(levels), "level")
    elif one.operator in ORDERINGS and any(_is_decimal(level) for level in levels):
        expected = f"`variable: {one.factor}`, whose values are numbers"
        yield Problem(
            f"{place}.factor", f"levels such as {min(filter(_is_decimal, levels))!r}, which are names", expected
        )


def _is_decimal(level: str) -> bool:
    """Whether the level is named by a number with a point, which its name has as a dash."""
    whole, _, rest = level.rpartition("-")
    return as_number(level) is None and rest.isdecimal() and as_number(f"{whole}.{rest}") is not None
