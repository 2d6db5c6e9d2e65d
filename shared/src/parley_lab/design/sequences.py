"""Checks a stage among the others of its arm, by its own rules and by those of all kinds. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from parley_lab.base import variables as texts
from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import one_of, or_later, unknown
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.texts import named_roles
from parley_lab.design import conditions, stays
from parley_lab.kinds import Data
from parley_lab.kinds.questions.sheet import asked_in, misled
from parley_lab.kinds.reads import Read, Use, of_everybody
from parley_lab.kinds.stages import kind_of, parts_of

Json = Any
_WHAT: Final[Mapping[str, str]] = {
    "column": "column",
    "number": "column of numbers",
    "rounds": "column of numbers that is counted by round",
    "scored": "question with a right answer",
    "group": "result",
    "member": "result that names a member",
}
_NAMES_A_STAGE: Final = ("stage", "score", "winner_of", "names_from")
"""Fields that name an earlier stage."""


def problems(stages: Sequence[StageConfig]) -> Iterator[tuple[int, Problem]]:
    """The problems of each stage after those before it, by position; `where` is relative to the stage."""
    for index, stage in enumerate(stages):
        earlier = stages[:index]
        rules = (*kind_of(stage).problems(stage, earlier), *_bad_reads(stage, earlier))
        own = (*rules, *_unheard(stage), *stays.problems(stage), *_waits(stage))
        fields = stage.model_dump(mode="json")
        later = [one.id for one in stages[index + 1 :]]
        of_texts = (*unknown_names(fields, earlier, later), *_unknown_roles(fields, earlier))
        named = (*of_texts, *_unknown_compared(fields, earlier))
        for problem in (*own, *named):
            is_of_stage = problem.where.rpartition(".")[2] in _NAMES_A_STAGE
            yield index, or_later(problem, later if is_of_stage else (), "stage")


def unknown_names(fields: Json, earlier: Sequence[StageConfig], later: Collection[str] = ()) -> Iterator[Problem]:
    """Places in texts that name an answer or a result which none of the stages gives. later: ids of other stages."""
    by_id = {one.id: one for one in earlier}
    for where, name in texts.places(fields):
        if texts.is_of_reader(name):
            stage_id = name.split(".")[1:2]
            comes_later = bool(stage_id) and stage_id[0] in later
            expected = f"{stage_id[0]!r} before this stage: it comes later" if comes_later else _expected(name, by_id)
            if expected is not None:
                yield Problem(where, f"`{{{{{name}}}}}`", expected)


def _expected(name: str, by_id: Mapping[str, StageConfig]) -> str | None:
    """What the name should be; None: it is right."""
    scope, _, rest = name.partition(".")
    stage_id, _, column = rest.partition(".")
    if stage_id not in by_id:
        return one_of(stage_id, by_id, "earlier stage") if by_id else "the name of a variable: no stage comes before"
    data = parts_of(by_id[stage_id]).data
    columns = [one.name for one in (data.columns() if scope == "answers" else data.group_columns())]
    if column in columns:
        return None
    what = "question" if scope == "answers" else "result"
    listed = one_of(column, columns, what) if columns else f"another stage: this one has no {what}"
    return f"{scope}.{stage_id} and {listed}" if columns else listed


def _unknown_roles(fields: Json, earlier: Sequence[StageConfig]) -> Iterator[Problem]:
    """Texts for a role that none of the stages gives."""
    given = list(dict.fromkeys(role for one in earlier for role in parts_of(one).data.roles()))
    for where, role in named_roles(fields):
        if role not in given:
            yield _unknown_role(where, role, given)


def _unknown_compared(fields: Mapping[str, Json], earlier: Sequence[StageConfig]) -> Iterator[Problem]:
    """Rules over answers, roles and scores that no earlier stage gives."""
    known = asked_in(earlier)
    given = list(dict.fromkeys(role for one in earlier for role in parts_of(one).data.roles()))
    scored = [one.id for one in earlier if parts_of(one).data.scored()]
    for place, one in conditions.compared(fields):
        if one.question is not None:
            yield from misled(one, place, known, "")
        elif one.role is not None and one.role not in given:
            yield _unknown_role(f"{place}.role", one.role, given)
        elif one.score is not None and one.score not in scored:
            nothing = "an earlier stage with right answers (`correct`): none comes before"
            yield unknown(f"{place}.score", one.score, scored, "earlier stage with right answers", if_none=nothing)


def _unknown_role(where: str, role: str, given: Sequence[str]) -> Problem:
    return unknown(where, role, given, "role", if_none="a role that an earlier stage gives: none comes before")


def _waits(stage: StageConfig) -> Iterator[Problem]:
    """A limit of a wait that does not fit the stage."""
    progress = stage.progress
    read = of_everybody(parts_of(stage).reads)
    waits = progress.wait_for_all or progress.min_participants > 0 or bool(read)
    if progress.at_most_seconds is not None and not waits:
        expected = "nothing: the stage waits for nobody; `wait_for_all` or `min_participants` makes it wait"
        yield Problem("progress.at_most_seconds", str(progress.at_most_seconds), expected)
    if progress.at_most_seconds is None and progress.then != "release":
        yield Problem("progress.then", progress.then, "`at_most_seconds` beside it: how long people wait before that")
    if progress.then == "fill" and progress.fill_with is None:
        yield Problem("progress.fill_with", "nothing", "the id of the persona that takes the empty seats")
    if progress.then != "fill" and progress.fill_with is not None:
        yield Problem("progress.fill_with", repr(progress.fill_with), "`then: fill` beside it")
    if progress.then != "release" and read:
        expected = f"release: the stage cannot open before all are through with {read[0]!r}; limit their `stay` there"
        yield Problem("progress.then", progress.then, expected)


def _unheard(stage: StageConfig) -> Iterator[Problem]:
    """An audience on a stage without answers to show, or whose game already decides what others know of them."""
    parts = parts_of(stage)
    if stage.audience != "private" and (parts.questions is None or parts.state is not None):
        expected = f"private: on a stage of the kind {stage.kind} its own rules say what others see"
        yield Problem("audience", stage.audience, expected)


def _bad_reads(stage: StageConfig, earlier: Sequence[StageConfig]) -> Iterator[Problem]:
    """Reads of a stage that does not come before this one, or of a column that it does not have."""
    by_id = {one.id: one for one in earlier}
    for read in parts_of(stage).reads:
        if read.stage in by_id:
            yield from _columns(read, by_id[read.stage])
        else:
            nothing = "a stage that comes before"
            yield unknown(read.where, read.stage, by_id, "stage before this one", if_none=nothing)


def _columns(read: Read, stage: StageConfig) -> Iterator[Problem]:
    data = parts_of(stage).data
    for use in read.uses:
        known, what = _list_known(data, use), _WHAT[use.needs]
        if not use.column and not known:
            yield Problem(use.where, repr(stage.id), f"a stage with a {what}: this one has none")
        elif use.column and use.column not in known:
            listed = one_of(use.column, known, what) if known else f"a {what}, of which this stage has none"
            yield Problem(use.where, repr(use.column), f"{listed}, of the stage {stage.id!r}")


def _list_known(data: Data, use: Use) -> list[str]:
    match use.needs:
        case "scored":
            return [*data.scored()]
        case "group":
            return [one.name for one in data.group_columns()]
        case "member":
            return [one.name for one in data.group_columns() if one.type == "member"]
        case "rounds":
            return [*data.counted_by_round]
        case "number":
            return [one.name for one in data.columns() if one.type in ("integer", "number")]
        case "column":
            return [one.name for one in data.columns()]
