"""Whom a participant may rank, valid orders, and the data."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.base.latin import orders_in
from parley_lab.kinds import PAGE, Ask, Column, Done, Member, OwnView
from parley_lab.kinds.reads import Part, StageRead
from parley_lab.kinds.stages.ranking.candidates import RankingDraws, candidates_of, listed
from parley_lab.kinds.stages.ranking.config import RankingStage
from parley_lab.kinds.stages.ranking.questions import Ordering, RankingQuestions
from parley_lab.kinds.stages.ranking.reporting import RankingData, result, rows
from parley_lab.kinds.stages.ranking.rules import KIND
from parley_lab.testing.thread_world import a_member
from parley_lab.testing.views import lab, own

ANN, BEN, CAI = a_member("ann"), a_member("ben"), a_member("cai")
EVERYBODY = (ANN, BEN, CAI)
ITEMS = [{"id": "a", "text": "Alpha"}, {"id": "b", "text": "Beta"}]
WILLING = {"stage": "before", "question": "leads", "value": True}


def stage(**fields: Any) -> RankingStage:
    return RankingStage.model_validate({"id": "vote", **fields})


def draws(of: RankingStage, *members: Member, before: Any = None, seed: int = 1) -> dict[str, Any]:
    return RankingDraws(of).draw(members, before or {}, Random(seed))


def seen_by(me: Member, of: RankingStage, **fields: Any) -> OwnView:
    others = [one for one in EVERYBODY if one != me]
    return own(me, *others, **{"draws": draws(of, *EVERYBODY), **fields})


def ids(*members: Member) -> list[str]:
    return [str(one.id) for one in members]


def ordering(of: RankingStage, view: OwnView) -> Ordering:
    question = RankingQuestions(of).question(view, Ask(view.me.id, PAGE, "page"))
    assert isinstance(question, Ordering)
    return question


def test_oneself_is_ranked_only_where_the_file_says_so() -> None:
    found = candidates_of(stage(), seen_by(ANN, stage()))
    with_self = candidates_of(stage(self_vote=True), seen_by(ANN, stage(self_vote=True)))

    assert {one.text for one in found} == {BEN.name, CAI.name}
    assert {one.text for one in with_self} == {ANN.name, BEN.name, CAI.name}


def test_who_comes_late_is_listed_after_those_who_were_there() -> None:
    first = draws(stage(), ANN, BEN)
    later = draws(stage(), *EVERYBODY, before=first)

    assert {name: later[name] for name in first} == first
    assert listed(own(ANN, draws=later))[-1] == str(CAI.id)


def test_only_those_whom_the_rule_names_can_be_ranked() -> None:
    parts = {ANN.id: Part({"leads": True}), BEN.id: Part({"leads": False}), CAI.id: Part({"leads": True})}
    asked = StageRead("Before", (Column("leads", "Leads?", "boolean"),), members=parts)
    of = stage(eligible=WILLING)

    found = candidates_of(of, seen_by(BEN, of, reads={"before": asked}))

    assert {one.id for one in found} == {*ids(ANN, CAI)}
    assert candidates_of(of, seen_by(BEN, of)) == []
    (read,) = KIND.parts(of).reads
    assert (read.stage, read.everybody, read.where, read.uses[0].where) == (
        "before",
        True,
        "eligible.stage",
        "eligible.question",
    )


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "ben",
        {},
        {"ranking": []},
        {"ranking": ids(BEN)},
        {"ranking": ids(BEN, BEN)},
        {"ranking": ids(BEN, ANN)},
        {"ranking": [*ids(BEN, CAI), "nobody"]},
        {"ranking": [["x"], 3]},
        {"ranking": ids(BEN, CAI), "more": 1},
    ],
)
def test_duplicates_missing_places_and_who_cannot_be_ranked_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        ordering(stage(), seen_by(ANN, stage())).check(wrong)


def test_an_order_of_a_model_has_codes_and_is_stored_by_ids() -> None:
    question = ordering(stage(), seen_by(ANN, stage()))
    codes = {one.text: one.code for one in question.candidates}
    reply = question.reply_model().model_validate({"ranking": [codes[CAI.name], codes[BEN.name]]})

    stored = question.check(question.answer_from_reply(reply))

    assert stored == {"ranking": ids(CAI, BEN)}
    with pytest.raises(ValueError, match="each may have one place"):
        question.reply_model().model_validate({"ranking": [codes[CAI.name]] * 2})


def test_with_fewer_places_only_these_are_given() -> None:
    question = ordering(stage(places=1), seen_by(ANN, stage(places=1)))

    assert question.check({"ranking": ids(CAI)}) == {"ranking": ids(CAI)}
    assert question.form().json_schema()["properties"]["ranking"]["maxItems"] == 1


def test_who_has_no_one_to_rank_goes_on() -> None:
    alone = own(ANN, draws=draws(stage(), ANN))

    assert KIND.completion(stage(), alone) == Done({"ranking": []})
    assert RankingQuestions(stage()).due(alone) == []


def test_the_result_names_the_winner_and_the_pages_do_not() -> None:
    of = stage()
    view = lab(
        *EVERYBODY,
        draws=draws(of, *EVERYBODY),
        given={
            (ANN.id, PAGE): {"ranking": ids(CAI, BEN)},
            (BEN.id, PAGE): {"ranking": ids(CAI, ANN)},
            (CAI.id, PAGE): {"ranking": []},
        },
    )
    found = result(of, view)

    assert (found["winner"], found["ballots"], found["tied"]) == (str(CAI.id), 2, ids(CAI))
    assert RankingData(of).group_cells(found) == {"winner": str(CAI.id)}
    assert not {"winner", "wins"} & set(type(KIND.page(of, seen_by(ANN, of))).model_fields)


def test_an_order_that_comes_after_the_election_is_told_apart() -> None:
    of = stage()
    cast = {(ANN.id, PAGE): {"ranking": ids(CAI, BEN)}, (BEN.id, PAGE): {"ranking": ids(CAI, ANN)}}
    before = lab(*EVERYBODY, draws=draws(of, *EVERYBODY), given=cast)
    late = {**cast, (CAI.id, PAGE): {"ranking": ids(ANN, BEN)}}
    after = replace(lab(*EVERYBODY, draws=before.draws, given=late), result=result(of, before))

    counted = {row["voter"]: row["counted"] for row in rows(of, after)}

    assert counted == {ANN.path: True, BEN.path: True, CAI.path: False}


def test_the_winning_item_is_told_in_words() -> None:
    of = stage(rank="items", items=[{"id": "a", "text": "Alpha"}, {"id": "b", "text": "Beta"}])

    assert RankingData(of).group_cells({"winner": "b"}) == {"winner": "b", "winner.text": "Beta"}
    assert RankingData(of).cells({"ranking": ["b", "a"]}) == {"b": 1, "a": 2}
    assert KIND.parts(of.model_copy(update={"strategy": "none"})).result is None


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"rank": "items"}, "items"),
        ({"rank": "items", "items": [{"id": "a", "text": "A"}, {"id": "a", "text": "B"}]}, "items[1].id"),
        ({"items": [{"id": "a", "text": "A"}]}, "items"),
        ({"eligible": {"question": "leads", "value": True}}, "eligible"),
        ({"eligible": {"all": [WILLING, {"question": "q", "value": 1}]}}, "eligible.all[1]"),
    ],
)
def test_what_is_wrong_with_a_ranking_is_told_at_its_place(fields: dict[str, Any], where: str) -> None:
    assert [problem.where for problem in KIND.problems(stage(**fields), [])] == [where]


@pytest.mark.parametrize(
    ("fields", "script", "where"),
    [
        ({"rank": "items", "items": ITEMS}, {"answers": {"ranking": ["b", "a"]}}, []),
        ({"rank": "items", "items": ITEMS}, {"policy": "random"}, []),
        ({"rank": "items", "items": ITEMS}, {"answers": {"ranking": ["b", "b"]}}, ["answers.ranking"]),
        ({"rank": "items", "items": ITEMS}, {"answers": {"ranking": ["b", "c"]}}, ["answers.ranking"]),
        ({"rank": "items", "items": ITEMS}, {"answers": {"order": ["b", "a"]}}, ["answers.order"]),
        ({}, {"answers": {"ranking": ["b"]}}, ["answers.ranking"]),
    ],
)
def test_a_script_is_checked_before_the_run(fields: Any, script: Any, where: list[str]) -> None:
    scripts = KIND.parts(stage(**fields)).scripts
    assert scripts is not None

    assert [problem.where for problem in scripts.problems(script)] == where


@pytest.mark.parametrize("seed", range(5))
def test_items_are_shown_in_an_order_of_each_participant_which_the_data_have(seed: int) -> None:
    many = [{"id": one, "text": one.upper()} for one in "abcdef"]
    of = stage(rank="items", items=many, shuffle_items=True)
    view = seen_by(ANN, of, draws=draws(of, *EVERYBODY, seed=seed))
    shown = [one.id for one in candidates_of(of, view)]

    stored = ordering(of, view).check({"ranking": [*"abcdef"]})

    assert sorted(shown) == [*"abcdef"]
    assert candidates_of(of, view) == candidates_of(of, view)
    assert RankingData(of).cells(stored)["order"] == " ".join(shown)
    assert RankingQuestions(of).shown(stored) == {"ranking": [*"abcdef"]}


@pytest.mark.parametrize("count", [2, 3, 4])
def test_latin_orders_put_each_item_equally_often_in_each_place(count: int) -> None:
    many = [{"id": one, "text": one.upper()} for one in "abcd"[:count]]
    of = stage(rank="items", items=many, shuffle_items=True, order="latin")
    drawn = draws(of, *EVERYBODY)

    seats = [replace(ANN, path=f"c{number}/m1") for number in range(1, 1 + orders_in(count))]
    shown = [tuple(one.id for one in candidates_of(of, own(seat, draws=drawn))) for seat in seats]

    each = len(shown) // count
    assert all(Counter(place) == dict.fromkeys("abcd"[:count], each) for place in zip(*shown, strict=True))
    assert KIND.problems(of, []) == []
    alone = stage(rank="items", items=many, order="latin")
    assert [problem.where for problem in KIND.problems(alone, [])] == ["order"]
