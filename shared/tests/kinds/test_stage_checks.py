"""The suite for all kinds finds what it is for: each fault here is planted in a small game, and told in sentences."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

import pytest
from pydantic import BaseModel, ConfigDict
from pydantic import Field as ModelField

from parley_lab.base.replies import Reply
from parley_lab.kind_checks import ONCE, WITH_SEEDS, Finding, Trial, check_kind, checked, promise_of
from parley_lab.kind_checks.pages import untyped_fields
from parley_lab.kinds import (
    Ask,
    Block,
    Blocked,
    Column,
    Completion,
    Data,
    Done,
    Draws,
    Field,
    Form,
    Json,
    LabView,
    Member,
    OwnView,
    Parts,
    Question,
    Substitute,
    Table,
    heading,
)
from parley_lab.kinds.data import Report, Reporter, ReportTable
from parley_lab.kinds.sentences import LabWords
from parley_lab.kinds.stages.info.config import InfoStage
from parley_lab.kinds.stages.info.rules import InfoPage
from parley_lab.testing.rounds import NumberQuestion, RoundData, RoundQuestions, Rounds, rounds_for_info


class Game(Rounds):
    """The small game with other parts; `parts` is made anew each time, as the lab does."""

    def __init__(self, **others: Callable[[InfoStage], Any]) -> None:
        self._others = others

    def parts(self, stage: InfoStage) -> Parts:
        whole = super().parts(stage)
        fields = {name: getattr(whole, name) for name in ("questions", "state", "data", "scripts", "draws", "players")}
        return Parts(**{**fields, **{name: make(stage) for name, make in self._others.items()}})


def asking(question: type[NumberQuestion]) -> Game:
    class Questions(RoundQuestions):
        def question(self, view: OwnView, ask: Ask) -> Question | None:
            return question(ask) if ask.key else None

    return Game(questions=Questions)


def stating(change: Callable[[dict[str, Json], LabView], Json], prompting: type[Rounds] = Rounds) -> Game:
    def state_of(stage: InfoStage) -> Callable[[LabView], dict[str, Json]]:
        make = Rounds().parts(stage).state
        assert make is not None
        return lambda view: change(make(view), view)

    class Stating(Game):
        prompt = prompting.prompt

    return Stating(state=state_of)


class WithWiderCheck(NumberQuestion):
    def form(self) -> Form:
        bounds = {"type": "integer", "title": "A number", "minimum": 5, "maximum": 9}
        return Form((Field("number", bounds),), is_bare=True)


class WithWiderForm(NumberQuestion):
    def form(self) -> Form:
        bounds = {"type": "integer", "title": "A number", "minimum": 1000, "maximum": 2000}
        return Form((Field("number", bounds),), is_bare=True)


class WithoutATitle(NumberQuestion):
    def form(self) -> Form:
        return Form((Field("number", {"type": "integer", "minimum": 0, "maximum": 99}),), is_bare=True)


class LooseReply(Reply):
    number: int = ModelField(default=3, ge=0, le=99)


class WithLooseReply(NumberQuestion):
    def reply_model(self) -> type[BaseModel]:
        return LooseReply

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return reply.model_dump()["number"]


class ShownAsNumbers(RoundQuestions):
    """Forgets that pages are shown, too."""

    def shown(self, answer: Json) -> Json:
        return int(answer)


class NewPairs(Draws):
    """Nothing until two are there, and then something else each time."""

    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        return {"first": rng.random()} if len(members) > 1 else dict(drawn)


class NewDraws(Draws):
    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        return {"count": len(members)}


class WiderData(RoundData):
    def cells(self, page: Json) -> dict[str, Json]:
        return {"best": 3} if page else {}


class MisspeltData(Data):
    def columns(self) -> list[Column]:
        return [Column("smu", "The sum", "integer")]


class RoleData(Data):
    def roles(self) -> Sequence[str]:
        return ("first",)

    def columns(self) -> list[Column]:
        return [Column("role", "Role", "text")]

    def cells(self, page: Json) -> dict[str, Json]:
        return {"role": "second"} if page else {}


class MistakenReporter(Reporter):
    def __init__(self, stage_ids: Sequence[str]) -> None:
        self._rows: list[Mapping[str, Json]] = []

    def add(self, rows: Sequence[Mapping[str, Json]]) -> None:
        self._rows += rows

    def report(self) -> Report | None:
        means = {one["cohort_path"]: one["mean"] for one in self._rows}
        return Report((), {}, (str(means),)) if means else None


class GreedyReporter(MistakenReporter):
    def report(self) -> Report | None:
        return Report((ReportTable("messages", (), ()),), {}, ()) if self._rows else None


class RepeatingReporter(MistakenReporter):
    def report(self) -> Report | None:
        return Report((ReportTable("numbers", (), ()),), {}, ()) if self._rows else None


def tabled(name: str, *columns: str, reporter: type[MistakenReporter] | None = None) -> Game:
    class Tabled(RoundData):
        table = Table(name, columns, lambda view: [dict.fromkeys(columns)], reporter)

    return Game(data=lambda stage: Tabled())


class Gossip(Rounds):
    """It keeps what it was shown, and shows it to the next."""

    def __init__(self) -> None:
        self._seen = ""

    def prompt(self, stage: InfoStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        self._seen = f"{self._seen[-40:]} {len(view.own)}"
        return [Block(self._seen)]


class Loose(Rounds):
    def page(self, stage: InfoStage, view: OwnView) -> InfoPage:
        return super().page(stage, view).model_copy(update={"lines": [3]})


class MisspeltKind(Rounds):
    def compeltion(self, stage: InfoStage, view: OwnView) -> Completion:
        return Done()


class MisspeltQuestion(NumberQuestion):
    def text_from(self) -> str | None:
        return "A number, please."


class DataOfOldNames(RoundData):
    count_by_round = ("sum",)


class OpenModel(BaseModel):
    model_config = ConfigDict(extra="allow")

    of_any_name: int = 0


class OpenPage(InfoPage):
    """Types that say nothing of what is in them, or only of a part of it."""

    whatever: Any = None
    object_of_anything: dict[str, Any] = ModelField(default_factory=dict)
    bare_object: dict = ModelField(default_factory=dict)  # type: ignore[type-arg]
    bare_list: list = ModelField(default_factory=list)  # type: ignore[type-arg]
    bare_tuple: tuple = ()  # type: ignore[type-arg]
    half_a_pair: tuple[int, Any] = (1, None)
    within: list[dict[str, list[Any]]] = ModelField(default_factory=list)
    one_of_them: int | dict[str, Any] | None = None
    open_model: OpenModel = OpenModel()

    closed_object: dict[str, list[int]] = ModelField(default_factory=dict)
    closed_pair: tuple[int, str] = (1, "")
    closed_list: list[LabWords] = ModelField(default_factory=list)


class Open(Rounds):
    def page(self, stage: InfoStage, view: OwnView) -> OpenPage:
        return OpenPage(**super().page(stage, view).model_dump())


class WaitsForAll(NumberQuestion):
    """Who is gone is waited for."""

    def passed(self) -> Substitute | None:
        return None


class FirstDraws(Draws):
    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        return dict(drawn) or {str(one.id): "plays" for one in members}


def _none(stage: InfoStage) -> None:
    """Without this part."""


class WhoIsHere(Game):
    def page(self, stage: InfoStage, view: OwnView) -> InfoPage:
        return InfoPage(**heading(stage), lines=[one.path for one in view.members], media=[])

    def completion(self, stage: InfoStage, view: OwnView) -> Completion:
        return Done()


class ForTheFirst(Game):
    def completion(self, stage: InfoStage, view: OwnView) -> Completion:
        is_late = str(view.me.id) not in view.draws
        return Blocked(("You came late.",)) if is_late else super().completion(stage, view)


def first_of(state: dict[str, Json], view: LabView) -> Json:
    return {**state, "first": str(next(iter(view.answers), ""))}


def of_who_is_there(state: dict[str, Json], view: LabView) -> Json:
    return {**state, "here": sum(one.present for one in view.members)}


def while_all_are_there(state: dict[str, Json], view: LabView) -> Json:
    return state if all(one.present for one in view.members) else {"rounds": []}


def none_of_json(state: dict[str, Json], view: LabView) -> Json:
    return {**state, "who": {one.id for one in view.members}}


SEEDS: Final = range(1, 9)


def findings(kind: Rounds) -> list[Finding]:
    with rounds_for_info(kind):
        return list(check_kind(kind, SEEDS))


def test_nothing_is_wrong_with_the_game_itself() -> None:
    assert findings(Rounds()) == []
    assert findings(Game()) == []


@pytest.mark.parametrize(
    ("kind", "promise", "words"),
    [
        (MisspeltKind(), "Public names are those", "`MisspeltKind.compeltion`"),
        (asking(MisspeltQuestion), "Public names are those", "did you mean `text_form`?"),
        (Game(data=lambda stage: DataOfOldNames()), "Public names are those", "did you mean `counted_by_round`?"),
        (Loose(), "`page` returns the type", "lines"),
        (asking(WithWiderCheck), "A value beyond a field's type or bounds", "4 in the field 'number'"),
        (asking(WithWiderForm), "", "which fits the form of 'round:1/number', to be taken"),
        (asking(WithoutATitle), "Every form is a JSON Schema with a title", "its title"),
        (asking(WithLooseReply), "Every question has a task, a strict shape", "LooseReply"),
        (
            WhoIsHere(questions=_none, state=_none, scripts=_none, draws=_none, data=lambda stage: Data()),
            "A page is the same",
            "m2",
        ),
        (Game(questions=ShownAsNumbers), "What is shown of an answer", "TypeError"),
        (Game(draws=lambda stage: NewDraws()), "A later draw only extends", "'count'"),
        (Game(draws=lambda stage: NewPairs()), "A later draw only extends", "when nobody has come"),
        (Game(is_each_alone=lambda stage: True), "Where each is alone", "an empty state"),
        (
            Game(is_each_alone=lambda stage: True, state=lambda stage: lambda view: {}, draws=lambda stage: NewDraws()),
            "Where each is alone",
            "the same draws one by one",
        ),
        (Game(data=lambda stage: WiderData()), "Every cell has a column", "a column for the cell 'best'"),
        (Game(data=lambda stage: MisspeltData()), "Every cell has a column", "found: ['sum']"),
        (Game(data=lambda stage: RoleData()), "Every cell has a column", "in the column `role`: first"),
        (tabled("answers", "number"), "No other kind has a table", "answers.csv is the lab's"),
        (tabled("numbers", "stage"), "Rows of a kind's table", "found: ['stage']"),
        (tabled("numbers", "number", reporter=MistakenReporter), "Rows of a kind's table", "KeyError: 'mean'"),
        (tabled("numbers", "number", reporter=GreedyReporter), "Rows of a kind's table", "found: 'messages'"),
        (tabled("numbers", "number", reporter=RepeatingReporter), "Rows of a kind's table", "found: 'numbers'"),
        (stating(first_of), "The state is the same whenever", "'first'"),
        (stating(none_of_json), "", "the state to be plain JSON"),
        (Gossip(), "A prompt that is made late", "the prompt of question 'round:1/number' of m1"),
        (Gossip(), "While a question is open", "to stay as it was"),
        (ForTheFirst(draws=lambda stage: FirstDraws()), "No member is stuck", "You came late."),
        (asking(WaitsForAll), "A member who leaves for good", "The game goes on."),
        (stating(of_who_is_there), "Neither the state nor what is due", "'here': 4"),
        (stating(while_all_are_there), "A leave and return undoes nothing", "to be Done for good"),
    ],
)
def test_a_fault_is_found_and_told(kind: Rounds, promise: str, words: str) -> None:
    checks = [check for check in (*ONCE, *WITH_SEEDS) if promise_of(check).startswith(promise)]
    with rounds_for_info(kind):
        found = (one for check in checks for seed in SEEDS for one in checked(check, kind, seed))
        told = next((str(one) for one in found if words in str(one) and not one.is_note), "")

    assert "again: --seed " in told


def test_fields_of_pages_that_may_hold_anything_are_found() -> None:
    of_the_page = set(OpenPage.model_fields) - set(InfoPage.model_fields)

    found = untyped_fields(Trial(Open(), Open().example(), 1))

    assert found == {one for one in of_the_page if not one.startswith("closed_")}


def test_an_error_of_the_kind_is_told_with_its_line() -> None:
    class Broken(Data):
        def columns(self) -> list[Column]:
            raise RuntimeError("no columns today")

    told = str(findings(Game(data=lambda stage: Broken()))[0])

    assert "RuntimeError: no columns today" in told
    assert "test_stage_checks.py, line " in told


def test_a_page_that_does_not_fit_its_type_is_told_in_one_line() -> None:
    class Misspelt(Rounds):
        def page(self, stage: InfoStage, view: OwnView) -> InfoPage:
            return InfoPage.model_validate({"id": 1, "title": "", "description": "", "info": "", "linse": []})

    told = findings(Misspelt())[0].found

    assert "ValidationError of InfoPage: id: found 1, expected a valid string; " in told
    assert "linse: found an unknown field, expected no field of this name" in told
    assert "test_stage_checks.py, line " in told
    assert "\n" not in told


def test_who_was_there_and_what_they_did_is_told() -> None:
    stuck = next(one for one in findings(asking(WaitsForAll)) if one.promise.startswith("A member who leaves"))

    assert "m1 (" in stuck.members
    assert any(act.endswith(" leaves") for act in stuck.order)
    assert any("answers round:1/number: " in act for act in stuck.order)


def test_what_a_state_tells_of_open_questions_is_a_note() -> None:
    class Shown(Rounds):
        def prompt(self, stage: InfoStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
            return [Block(f"So far: {view.state['open']}")]

    def told(state: dict[str, Json], view: LabView) -> Json:
        return {**state, "open": sorted(value for given in view.answers.values() for value in given.values())}

    kind = stating(told, Shown)

    notes = [one for one in findings(kind) if one.is_note]

    assert "because the state tells them" in notes[0].found
