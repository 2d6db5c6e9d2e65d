"""Questions that are asked about each row of a table: what a member is asked, and what the data say of it."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import PAGE, Ask, Blocked, Done, Member, OwnView
from parley_lab.kinds.questions.numeric_questions import NumberQuestion
from parley_lab.kinds.questions.own_order import ORDER, OrderDraws
from parley_lab.kinds.scripted import filled
from parley_lab.kinds.stages.survey.asking import SurveyQuestions, SurveyScripts
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.order import ordered
from parley_lab.kinds.stages.survey.reporting import SurveyData
from parley_lab.kinds.stages.survey.rules import KIND
from parley_lab.testing.views import own

ITEMS: list[dict[str, Any]] = [
    {"id": f"r{number}", "what": f"thing {number}", "topic": "ab"[number % 2], "low": number, "high": 100 + number}
    for number in range(8)
]
GUESS = {"id": "guess", "kind": "number", "title": "How much is {{row.what}}?", "minimum": "{{row.low}}"}
SURE = {"id": "sure", "kind": "scale", "lower": 1, "upper": 10, "title": "Sure?"}
WHY = {
    "id": "why",
    "kind": "text",
    "title": "Why {{row.what}}?",
    "show_if": {"question": "sure", "operator": "greater_than", "value": 5},
}
LEVELS = {"anchor": ["low", "high"]}
ASKED = {**GUESS, "title": "Is {{row.what}} more than {{row.anchor}}?", "minimum": "{{row.anchor}}"}


def survey(questions: list[dict[str, Any]] | None = None, items: Any = ITEMS, **rows: Any) -> SurveyStage:
    fields = {"questions": questions or [GUESS, SURE, WHY], "rows": {"items": items, **rows}}
    return SurveyStage.model_validate({"id": "page", **fields})


def view_of(stage: SurveyStage, number: int = 3, seed: int = 1, **fields: Any) -> OwnView:
    me = Member(UUID(int=number), f"c1/m{number}", "participant", "agent", Profile(name=f"P{number}"))
    draws = OrderDraws().draw([], {}, Random(seed)) if KIND.parts(stage).draws else {}
    return own(me, draws=draws, **fields)


def row_ids(stage: SurveyStage, view: OwnView) -> list[str]:
    return list(dict.fromkeys(one.row.id for one in ordered(stage, view).questions if one.row))


def where(stage: SurveyStage) -> list[str]:
    return [one.where for one in KIND.problems(stage, [])]


def test_each_question_is_asked_of_each_row_with_its_values() -> None:
    stage = survey(items=ITEMS[:2])

    assert [one.id for one in stage.questions] == ["r0.guess", "r0.sure", "r0.why", "r1.guess", "r1.sure", "r1.why"]
    guess = stage.questions[3]
    assert isinstance(guess, NumberQuestion)
    assert (guess.title, guess.minimum) == ("How much is thing 1?", 1)
    assert guess.row is not None
    assert (guess.row.id, guess.row.asks, guess.row.values["topic"]) == ("r1", "guess", "b")
    assert stage.questions[5].show_if == stage.questions[2].show_if.model_copy(update={"question": "r1.sure"})  # type: ignore[union-attr]
    assert where(stage) == []


def test_a_list_of_rows_without_ids_names_them_by_their_places() -> None:
    stage = SurveyStage.model_validate({"id": "page", "rows": [{"what": "a"}, {"what": "b"}], "questions": [SURE]})

    assert [one.id for one in stage.questions] == ["1.sure", "2.sure"]


def test_a_stage_is_written_as_the_file_has_it_and_read_as_the_same() -> None:
    stage = survey(shuffle=True, levels=LEVELS, questions=[ASKED])

    written = stage.model_dump(mode="json")

    assert written["questions"] == [ASKED]
    assert SurveyStage.model_validate(written) == stage
    without = SurveyStage.model_validate({"id": "page", "questions": [SURE]}).model_dump()
    assert not {"rows", "one_page_each"} & without.keys()


@given(st.integers(1, 500), st.integers(0, 10**6))
def test_shuffled_rows_are_a_permutation_and_stay_together(number: int, seed: int) -> None:
    stage = survey(shuffle=True)
    view = view_of(stage, number, seed)

    had = [one.id for one in ordered(stage, view).questions]

    assert sorted(had) == sorted(one.id for one in stage.questions)
    assert had == [f"{row}.{asks}" for row in row_ids(stage, view) for asks in ("guess", "sure", "why")]


@given(st.integers(1, 500), st.integers(0, 10**6), st.sampled_from([2, 4, 6, 8]), st.booleans())
def test_by_draws_as_many_of_each_value_and_levels_are_balanced(
    number: int, seed: int, take: int, shuffle: bool
) -> None:
    stage = survey([ASKED], take=take, by="topic", shuffle=shuffle, levels=LEVELS)
    view = view_of(stage, number, seed)

    had = [one.row for one in ordered(stage, view).questions if one.row]

    assert Counter(row.values["topic"] for row in had) == {"a": take // 2, "b": take // 2}
    assert Counter(row.levels["anchor"] for row in had) == {"low": take // 2, "high": take // 2}
    assert all(row.values["anchor"] == row.values[row.levels["anchor"]] for row in had)
    assert shuffle or [row.id for row in had] == sorted(row.id for row in had)


@given(st.integers(1, 100), st.sampled_from(["all_at_once", "by_row", "sequential", "independent"]))
def test_page_form_prompt_and_data_are_about_the_same_rows(number: int, how: str) -> None:
    stage = SurveyStage.model_validate(
        {**survey([ASKED, SURE, WHY], take=4, shuffle=True, levels=LEVELS).model_dump(), "ask": how}
    )
    view, data = view_of(stage, number), SurveyData(stage)
    questions = SurveyQuestions(stage)
    whole = questions.question(view, Ask(view.me.id, PAGE, "page"))
    shown = KIND.page(stage, view).questions
    prompt = KIND.prompt(stage, view, Ask(view.me.id, PAGE, "page"))[0].text
    rng = Random(number)

    entries: dict[str, Any] = {}
    while how != "all_at_once" and (due := questions.due(now := view_of(stage, number, own=entries))):
        for ask in due:
            asked = questions.question(now, ask)
            entries[ask.key] = asked.check(filled(asked.form(), rng))
    done = KIND.completion(stage, view_of(stage, number, own=entries))
    page = done.page if isinstance(done, Done) else whole.check(filled(whole.form(), rng))

    assert [one.id for one in shown] == list(whole.form().json_schema()["properties"])
    assert [one.title for one in shown] == [line.split(" [")[0][2:] for line in prompt.splitlines()[1:]]
    lines = data.answered(PAGE, page)
    cells = data.cells(page)
    titles = {one.id: one.title for one in shown}
    assert {line.row.id: line.row.place for line in lines if line.row} == {
        row: place for place, row in enumerate(row_ids(stage, view), start=1)
    }
    for line in lines:
        assert line.row is not None
        assert line.label == titles[line.field]
        assert (cells[line.field], cells[f"{line.row.id}.place"]) == (line.value, line.row.place)
        assert cells[f"{line.row.id}.anchor"] == line.row.levels["anchor"]
    assert set(cells) <= {column.name for column in data.columns()}


ARRANGED = [
    {"take": 4, "by": "topic", "shuffle": True, "levels": LEVELS},
    {"shuffle": True, "order": "latin", "levels": LEVELS},
]


@given(st.integers(1, 500), st.integers(0, 10**6), st.sampled_from(ARRANGED))
def test_a_person_an_agent_and_a_script_are_asked_the_same(number: int, seed: int, rows: dict[str, Any]) -> None:
    stage = survey([ASKED, SURE], **rows)
    view = view_of(stage, number, seed)

    asked = []
    for player in ("agent", "person", "script"):
        reader = own(replace(view.me, player=player), draws=view.draws)
        form = SurveyQuestions(stage).question(reader, Ask(view.me.id, PAGE, "page")).form()
        asked.append((form.json_schema(), [one.title for one in KIND.page(stage, reader).questions]))

    assert asked[0] == asked[1] == asked[2]


def test_by_row_an_agent_is_asked_row_after_row_and_sees_what_it_answered() -> None:
    stage = SurveyStage.model_validate({**survey([GUESS, SURE], take=2, by="topic").model_dump(), "ask": "by_row"})
    questions = SurveyQuestions(stage)
    first, second = row_ids(stage, view_of(stage))

    begun = {f"row:{first}": {f"{first}.guess": 400, f"{first}.sure": 3}}
    due = questions.due(now := view_of(stage, own=begun))
    prompt = KIND.prompt(stage, now, due[0])[0].text

    assert [one.key for one in questions.due(view_of(stage))] == [f"row:{first}"]
    assert [one.key for one in due] == [f"row:{second}"]
    assert list(questions.question(now, due[0]).form().json_schema()["properties"]) == [
        f"{second}.guess",
        f"{second}.sure",
    ]
    assert "Your answers so far:" in prompt
    assert prompt.count("How much is thing") == 2
    assert questions.most_replies() == 2
    assert [line.asked_as for line in SurveyData(stage).answered(PAGE, begun[f"row:{first}"])] == [f"row:{first}"] * 2
    assert isinstance(KIND.completion(stage, now), Blocked)


@pytest.mark.parametrize(
    ("key", "rows"), [("question:r3.pick", "levels"), ("row:r3", "levels"), ("question:1.pick", "attributes")]
)
def test_an_answer_that_was_given_alone_has_no_words_that_were_drawn(key: str, rows: str) -> None:
    drawn: dict[str, Any] = {"levels": LEVELS, "items": ITEMS}
    if rows == "attributes":
        drawn = {"attributes": {"anchor": ["cheap", "dear"]}}
    pick = {"id": "pick", "kind": "choice", "title": "More than {{row.anchor}}?", "correct": "a"}
    words = "{{row.anchor}}" if rows == "levels" else "{{row.a}}"
    options = [{"id": "a", "text": f"more than {words}"}, {"id": "b", "text": f"less than {words}"}]
    asked = {**pick, "title": f"What of {words}?", "options": options}
    stage = SurveyStage.model_validate({"id": "page", "rows": drawn, "questions": [asked], "ask": "sequential"})
    row_id = key.partition(":")[2].partition(".")[0]

    (line,) = SurveyData(stage).answered(key, "b" if key.startswith("question") else {f"{row_id}.pick": "b"})

    assert (line.label, line.text, line.is_correct, line.value) == (f"{row_id}.pick", None, None, "b")
    assert (line.row.place, line.row.levels) == (None, {})  # type: ignore[union-attr]


def test_an_answer_about_a_drawn_row_has_its_words_where_they_are_the_same_for_all() -> None:
    pick = {"id": "pick", "kind": "choice", "title": "{{row.what}}?", "options": [{"id": "a", "text": "{{row.what}}"}]}
    stage = survey([pick], shuffle=True, take=3)

    (line,) = SurveyData(stage).answered("question:r3.pick", "a")

    assert (line.label, line.text) == ("thing 3?", "thing 3")


def test_the_words_that_an_agent_writes_about_a_row_take_it_time() -> None:
    stage = SurveyStage.model_validate({**survey([SURE, WHY], items=ITEMS[:1]).model_dump(), "ask": "by_row"})
    view = view_of(stage)
    question = SurveyQuestions(stage).question(view, Ask(view.me.id, "row:r0", "row"))

    assert question.written({"r0.sure": 9, "r0.why": "So."}) == "So."
    assert SurveyQuestions(stage).question(view, Ask(view.me.id, PAGE, "page")).written({"r0.why": "So."}) == "So."


def test_a_person_whose_time_for_a_row_was_over_leaves_it_unanswered_and_an_agent_may_not() -> None:
    fields = {**survey([GUESS], items=ITEMS[:2]).model_dump(), "one_page_each": {"seconds": 5}}
    stage = SurveyStage.model_validate(fields)
    agent = view_of(stage)
    person = own(replace(agent.me, player="person"), draws=agent.draws)
    asked = Ask(agent.me.id, PAGE, "page")

    page = SurveyQuestions(stage).question(person, asked).check({"r1.guess": 3})

    assert page == {"r0.guess": None, "r1.guess": 3}
    assert KIND.page(stage, person).turns.questions == [["r0.guess"], ["r1.guess"]]  # type: ignore[union-attr]
    with pytest.raises(InvalidInput):
        SurveyQuestions(stage).question(agent, asked).check({"r1.guess": 3})


def store_timed_page(questions: list[dict[str, Any]], answer: Any, **fields: Any) -> Any:
    """Check a person's answer to a page whose rows have five seconds each."""
    dumped = {**survey(questions, items=ITEMS[:2]).model_dump(), "one_page_each": {"seconds": 5}, **fields}
    stage = SurveyStage.model_validate(dumped)
    agent = view_of(stage)
    person = own(replace(agent.me, player="person"), draws=agent.draws)
    return SurveyQuestions(stage).question(person, Ask(agent.me.id, PAGE, "page")).check(answer)


def test_what_was_entered_by_half_when_the_time_of_a_row_was_over_is_null() -> None:
    begun = {"r0.guess": "12x", "r0.sure": 9, "r0.why": "So.", "r1.guess": 3, "r1.sure": 99, "r1.why": "Since."}

    assert store_timed_page([GUESS, SURE, WHY], begun) == {
        "r0.guess": None,
        "r0.sure": 9,
        "r0.why": "So.",
        "r1.guess": 3,
        "r1.sure": None,
    }
    with pytest.raises(InvalidInput):
        store_timed_page([GUESS], {"r0.guess": 3, "nobody": 1})


def test_a_total_that_was_not_reached_when_the_time_of_a_row_was_over_leaves_all_its_answers_null() -> None:
    parts = [{"id": name, "kind": "number", "title": name, "group": "all"} for name in ("one", "other")]
    why = {**WHY, "show_if": {"question": "one", "operator": "greater_than", "value": 5}}
    begun = {"r0.one": 8, "r0.other": 0, "r0.why": "So.", "r1.one": 4, "r1.other": 6}

    page = store_timed_page([*parts, why], begun, groups={"all": {"total": {"equals": 10}}})

    assert page == {"r0.one": None, "r0.other": None, "r1.one": 4, "r1.other": 6}


def test_only_a_stage_with_rows_has_a_page_for_each() -> None:
    fields = {"id": "page", "questions": [SURE], "one_page_each": True, "ask": "by_row"}

    assert where(SurveyStage.model_validate(fields)) == ["one_page_each", "ask"]


def test_an_answer_is_checked_by_the_drawn_level_of_its_row() -> None:
    stage = survey([ASKED], levels=LEVELS)
    view = view_of(stage)
    whole = SurveyQuestions(stage).question(view, Ask(view.me.id, PAGE, "page"))

    least = {one.id: one.least for one in ordered(stage, view).questions if isinstance(one, NumberQuestion)}
    page = whole.check(least)

    assert whole.check(page) == page
    assert {value >= 100 for value in least.values() if value is not None} == {True, False}
    assert SurveyQuestions(stage).shown(page) == least
    assert ORDER in page


def test_a_script_answers_a_question_in_each_row_and_one_row_otherwise() -> None:
    stage = survey([GUESS, SURE])
    me = Member(UUID(int=1), "c1/m1", "participant", "script", Profile())
    script = {"page": {"answers": {"sure": 7, "r1.sure": 2, "guess": 500}}}
    view = own(Member(me.id, me.path, me.kind, me.player, me.profile, script=script))

    page = SurveyScripts(stage).page(view, Random(1))

    assert SurveyScripts(stage).problems(script["page"]) == []
    assert isinstance(page, dict)
    assert (page["r0.sure"], page["r1.sure"], page["r1.guess"]) == (7, 2, 500)


def test_what_is_wrong_in_many_rows_is_said_once_at_its_place_in_the_file() -> None:
    with pytest.raises(ValidationError) as refused:
        survey([{**GUESS, "minimum": "{{row.what}}"}])

    errors = [one for one in refused.value.errors() if one["type"] != "too_short"]
    assert {one["loc"][:3] for one in errors} == {("questions", 0, "number")}
    assert errors[0]["input"] == "thing 0, in the row r0"


def test_a_problem_of_a_row_says_the_question_of_the_file_and_the_row() -> None:
    found = KIND.problems(survey([{**GUESS, "maximum": 3}]), [])

    assert [(one.where, one.found) for one in found] == [("questions[0].maximum", "3, in the row r4")]


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        ({"items": []}, "rows.items"),
        ({"items": [], "file": "items.csv"}, "rows.file"),
        ({"items": [*ITEMS[:2], ITEMS[0]]}, "rows.items[2].id"),
        ({"items": [{"id": "a b", "what": "x", "low": 1}]}, "rows.items[0].id"),
        ({"items": [{"id": "a" * 60, "what": "x", "low": 1}]}, "rows.items[0].id"),
        ({"items": [*ITEMS[:2], {"id": "x", "what": "x", "low": 1, "row": 1}]}, "rows.items[2].row"),
        ({"items": [{"what": "x", "low": 1, "stage": "s"}]}, "rows.items[0].stage"),
        ({"items": [{"what": "x", "low": 1, "treatment": "s"}]}, "rows.items[0].treatment"),
        ({"items": [{"what": "x", "low": 1, "model": "s"}]}, "rows.items[0].model"),
        ({"take": 9}, "rows.take"),
        ({"take": 3, "by": "topic"}, "rows.take"),
        ({"by": "topic"}, "rows.by"),
        ({"take": 2, "by": "colour"}, "rows.by"),
        ({"levels": {"anchor": ["low", "middle"]}}, "rows.levels.anchor[1]"),
        ({"levels": {"anchor": ["low"]}}, "rows.levels.anchor"),
        ({"levels": {"what": ["low", "high"]}}, "rows.levels.what"),
        ({"levels": {"place": ["low", "high"]}}, "rows.levels.place"),
    ],
)
def test_rows_that_make_no_sense_say_where(rows: dict[str, Any], place: str) -> None:
    assert where(survey([{**GUESS, "minimum": 0}], **{"items": ITEMS, **rows})) == [place]


def test_texts_have_the_values_of_columns_with_any_name() -> None:
    item = {"id": "a", "größe": "acht", "Preis €": 3, "no.": "{{x}}"}
    stage = survey([{**SURE, "title": "{{row.größe}} / {{ row.Preis € }} / {{row.no.}}"}], items=[item])

    assert [one.title for one in stage.questions] == ["acht / 3 / {{x}}"]
    assert where(stage) == []


def test_a_place_of_a_column_that_no_row_has_is_refused() -> None:
    found = KIND.problems(survey([{**SURE, "title": "{{row.colour}}"}]), [])

    assert [(one.where, one.expected) for one in found] == [
        ("questions[0].title", "one of the columns id, what, topic, low, high")
    ]


def test_a_question_of_drawn_rows_may_not_have_the_name_of_the_column_of_their_place() -> None:
    assert where(survey([{**SURE, "id": "place"}], shuffle=True)) == ["questions[0].id"]
    assert where(survey([{**SURE, "id": "place"}])) == []
