"""Checks who becomes a group with whom in a file whose groups are made of those who are there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import one_of, repeated_id, unknown
from parley_lab.base.rules import Comparison, comparisons
from parley_lab.base.variables import as_text
from parley_lab.contracts.assigned import Assigned, Balanced, Permutation
from parley_lab.contracts.experiment import CohortPlan, Composition, HowMany, Match, MatchValue, StageConfig
from parley_lab.kinds.questions.choices import ChoiceQuestion
from parley_lab.kinds.stages import parts_of

_WHEN_TOGETHER = "`made: when_together` beside it, which it is for"


@dataclass(frozen=True)
class Matched:
    """A plan with what its people may have before they meet: stages and variables of their own."""

    plan: CohortPlan
    ahead: Sequence[StageConfig]
    variables: Sequence[Assigned]
    treatments: Sequence[str]


def problems(where: str, file: Matched) -> Iterator[Problem]:
    """What is wrong with `match` of this plan, and with personas that fit people."""
    plan, match = file.plan, file.plan.match
    for number, seat in enumerate(plan.seats):
        if not seat.persona_for:
            continue
        place = f"{where}.seats[{number}].persona_for"
        if seat.persona is None:
            yield Problem(place, "no `persona` beside it", "`persona: ID`, for people with another value")
        if match is None or match.by is None:
            yield Problem(place, "no value", f"`match: {{by: ...}}` of the plan, with {_WHEN_TOGETHER}")
        else:
            yield from _known_values(place, seat.persona_for, match.by, file)
    if match is None:
        return
    if plan.made != "when_together":
        yield Problem(f"{where}.match", "a rule", _WHEN_TOGETHER)
        return
    yield from _of_match(f"{where}.match", match, file)


def _of_match(where: str, match: Match, file: Matched) -> Iterator[Problem]:
    rules = [name for name in ("values", "want", "kinds") if getattr(match, name)]
    if len(rules) > 1:
        yield Problem(where, f"`{rules[0]}` and `{rules[1]}`", "one of `values`, `want` and `kinds`")
    yield from _of_growth(f"{where}.grows_to", match, file)
    if match.balance and not match.kinds:
        yield Problem(f"{where}.balance", "true", "`kinds` beside it, between which it chooses")
    if match.by is None:
        if rules:
            yield Problem(f"{where}.by", "nothing", "the value that decides: `{stage: ID, question: ID}`")
        return
    yield from _of_value(f"{where}.by", match.by, file)
    if match.want:
        yield from _of_composition(f"{where}.want", match.want, match.by, file)
    ids = [one.id for one in match.kinds]
    for number, kind in enumerate(match.kinds):
        place = f"{where}.kinds[{number}]"
        if kind.id in ids[:number]:
            yield repeated_id(f"{place}.id", kind.id, "kind of group")
        if kind.treatment is not None and kind.treatment not in file.treatments:
            yield unknown(f"{place}.treatment", kind.treatment, file.treatments, "treatment")
        yield from _of_composition(f"{place}.want", kind.want, match.by, file)


def _of_growth(where: str, match: Match, file: Matched) -> Iterator[Problem]:
    if match.grows_to is None:
        return
    if match.grows_to <= file.plan.people:
        expected = f"more than {file.plan.people}, for whom the plan has open seats"
        yield Problem(where, str(match.grows_to), expected)
    for name in ("values", "never_again"):
        if getattr(match, name):
            yield Problem(where, f"`{name}` beside it", "`want`, `kinds` or those who came first")


def _of_value(where: str, by: MatchValue, file: Matched) -> Iterator[Problem]:
    names = [name for one in file.variables for name in one.names]
    if by.rules:
        if by.variable is not None or by.stage is not None or by.question is not None:
            yield Problem(where, "`rules` beside another value", "one of the two")
        for name, rule in by.rules.items():
            for place, one in comparisons(rule, f"{where}.rules.{name}"):
                yield from _of_comparison(place, one, names, file)
        return
    if by.variable is not None:
        if by.stage is not None or by.question is not None:
            yield Problem(where, "`variable` beside a stage or a question", "one of the two")
        if by.variable.partition(".")[0] not in names:
            yield unknown(f"{where}.variable", by.variable, names, "assigned variable")
        return
    stages = {one.id: one for one in file.ahead}
    if by.stage not in stages or by.question is None:
        expected = f"`stage` and `question`: {one_of(by.stage or '', stages, 'stage')} before people meet"
        yield Problem(where, repr(by.stage) if by.question else "no question", expected)
        return
    if stages[by.stage].show_if is not None:
        expected = "a stage without `show_if`: people who do not see it have no value"
        yield Problem(f"{where}.stage", f"{by.stage!r}, which a rule leaves out for some", expected)
    columns = _columns(stages[by.stage])
    if by.question not in columns:
        yield unknown(f"{where}.question", by.question, columns, "question")


def _of_comparison(where: str, one: Comparison, names: Sequence[str], file: Matched) -> Iterator[Problem]:
    """Check one comparison of a rule that gives people their value."""
    stages = {stage.id: stage for stage in file.ahead}
    if one.subject == "variable":
        if one.name.partition(".")[0] not in names:
            yield unknown(f"{where}.variable", one.name, names, "assigned variable")
    elif one.question is None:
        yield Problem(where, f"a rule over a {one.subject}", "a rule with `stage` and `question`, or `variable`")
    elif one.stage not in stages:
        expected = f"{one_of(one.stage or '', stages, 'stage')} before people meet"
        yield Problem(f"{where}.stage", repr(one.stage) if one.stage else "nothing", expected)
    elif one.question not in (columns := _columns(stages[one.stage])):
        yield unknown(f"{where}.question", one.question, columns, "question")


def _columns(stage: StageConfig) -> Sequence[str]:
    return [one.name for one in parts_of(stage).data.columns() if not one.derived]


def _of_composition(where: str, want: Composition, by: MatchValue, file: Matched) -> Iterator[Problem]:
    bounds = {value: _bounds(many) for value, many in want.items()}
    for value, (least, most) in bounds.items():
        if least > most:
            yield Problem(f"{where}.{value}", f"{least} to {most}", "no more at least than at most")
    yield from _known_values(where, want, by, file)
    fewest, people = sum(least for least, _ in bounds.values()), file.plan.people
    if fewest > people or sum(most for _, most in bounds.values()) < 1:
        yield Problem(where, f"{fewest} people at least", f"at most {people}, for which the plan has open seats")


def _bounds(many: int | HowMany) -> tuple[int, int]:
    return (many, many) if isinstance(many, int) else (many.least, many.most)


def compositions_of(match: Match) -> Iterator[tuple[str, str | None, Mapping[str, tuple[int, int]]]]:
    """The id, the treatment and the fewest and most people by value of each composition; none without one."""
    if match.want:
        yield "", None, {value: _bounds(many) for value, many in match.want.items()}
    for kind in match.kinds:
        yield kind.id, kind.treatment, {value: _bounds(many) for value, many in kind.want.items()}


def _known_values(where: str, named: Mapping[str, object], by: MatchValue, file: Matched) -> Iterator[Problem]:
    """Values that no person can have: those who wait would all be released."""
    possible = _possible_values(by, file)
    for value in named if possible else ():
        if value not in possible:
            kind = "rule" if by.rules else "value" if by.variable is not None else "option"
            yield unknown(f"{where}.{value}", value, possible, kind)


def _possible_values(by: MatchValue, file: Matched) -> Sequence[str]:
    """The values that people may have; none: they are not known here."""
    if by.rules:
        return list(by.rules)
    assigned = next((one for one in file.variables if by.variable in one.names), None)
    if isinstance(assigned, Balanced) or (isinstance(assigned, Permutation) and assigned.split):
        return [as_text(one) for one in assigned.values]
    stage = next((one for one in file.ahead if one.id == by.stage), None)
    for question in () if stage is None else getattr(stage, "questions", ()):
        if isinstance(question, ChoiceQuestion) and question.id == by.question:
            return question.option_ids
    return ()
