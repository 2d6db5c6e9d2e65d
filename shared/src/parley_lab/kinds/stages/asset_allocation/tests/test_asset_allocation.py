"""Shares of a hundred: what is taken, where names come from, and what the data have."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.kind_checks import ONCE, WITH_SEEDS, Check, Trial
from parley_lab.kind_checks.trial import findings
from parley_lab.kinds import PAGE, Ask, Column, OwnView, Question
from parley_lab.kinds.questions.own_order import OrderDraws
from parley_lab.kinds.reads import Part, StageRead
from parley_lab.kinds.stages.asset_allocation.config import AssetAllocationStage
from parley_lab.kinds.stages.asset_allocation.dividing import drawn, shares
from parley_lab.kinds.stages.asset_allocation.rules import KIND, ShareQuestions, agreement, consensus, names_of
from parley_lab.testing.thread_world import a_member
from parley_lab.testing.views import lab, own

ANN = a_member("ann")
NAMED = [{"id": "a", "name": "Alpha"}, {"id": "b", "name": "Beta"}]
READ = [{"id": "a", "column": "stock.x"}, {"id": "b", "name": "Cash"}]


def stage(**fields: Any) -> AssetAllocationStage:
    return AssetAllocationStage.model_validate({"id": "money", "assets": NAMED, **fields})


def asked(of: AssetAllocationStage, view: OwnView | None = None) -> Question:
    question = ShareQuestions(of).question(view or own(ANN), Ask(ANN.id, PAGE, "page"))
    assert question is not None
    return question


@given(st.sampled_from([1, 2, 4, 5, 10, 20, 25, 50, 100]), st.integers(-20, 120))
def test_shares_are_multiples_of_the_step_and_add_up_to_a_hundred(step: int, share: int) -> None:
    of = stage(step=step)
    if share % step or not 0 <= share <= 100:
        with pytest.raises(InvalidInput):
            asked(of).check({"share": share})
    else:
        assert sum(shares(of, asked(of).check({"share": share})).values()) == 100


@pytest.mark.parametrize(
    "wrong", [None, 50, {}, {"share": None}, {"share": True}, {"share": "5"}, {"share": 5, "x": 1}]
)
def test_what_is_no_share_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        asked(stage()).check(wrong)


def test_names_come_from_a_column_of_an_earlier_stage() -> None:
    of = stage(assets=READ, names_from="stocks")
    stocks = StageRead("Stocks", (Column("stock.x", "Name", "text"),), own=Part({"stock.x": "Omega Inc."}))
    view = own(ANN, reads={"stocks": stocks})

    (read,) = KIND.parts(of).reads
    assert (read.stage, read.everybody, read.uses[0].where) == ("stocks", False, "assets[0].column")
    assert [name for _, name in names_of(of, view)] == ["Omega Inc.", "Cash"]
    assert [name for _, name in names_of(of, own(ANN))] == ["a", "Cash"]
    assert "Omega Inc." in asked(of, view).task()
    assert [one.name for one in KIND.page(of, view).assets] == ["Omega Inc.", "Cash"]


def test_what_was_given_is_looked_back_at() -> None:
    view = own(ANN, own={PAGE: {"share": 70}})

    assert KIND.prompt(stage(), view)[-1].text == "You gave 70 percent to Alpha, 30 percent to Beta."
    assert [one.share for one in KIND.page(stage(), view).assets] == [70, 30]
    assert KIND.parts(stage()).data.cells({"share": 70}) == {"a": 70, "b": 30}
    assert KIND.parts(stage()).data.cells({"share": None}) == {}


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"step": 3}, "step"),
        ({"assets": [NAMED[0], NAMED[0]]}, "assets[1].id"),
        ({"assets": [NAMED[0], {"id": "b"}]}, "assets[1]"),
        ({"assets": READ}, "assets[0].column"),
    ],
)
def test_what_is_wrong_with_an_allocation_is_told_at_its_place(fields: dict[str, Any], where: str) -> None:
    assert [problem.where for problem in KIND.problems(stage(**fields), [])] == [where]


@pytest.mark.parametrize(
    ("answers", "where"), [({"share": 55}, []), ({"share": 3}, ["answers.share"]), ({"x": 5}, ["answers.x"])]
)
def test_a_script_is_checked_before_the_run(answers: Any, where: list[str]) -> None:
    scripts = KIND.parts(stage()).scripts
    assert scripts is not None

    assert [problem.where for problem in scripts.problems({"answers": answers})] == where


THREE = [*NAMED, {"id": "cash-box", "name": "Cash"}]


def test_every_share_of_more_than_two_is_asked() -> None:
    question = asked(stage(assets=THREE))
    given = {"a": 20, "b": 35, "cash-box": 45}

    assert [one.name for one in question.form().fields] == ["a", "b", "cash-box"]
    assert question.check(given) == given
    reply = question.reply_model().model_validate(given)
    assert question.answer_from_reply(reply) == given
    assert shares(stage(assets=THREE), given) == given
    assert KIND.parts(stage(assets=THREE)).data.cells(given) == given
    view = own(ANN, own={PAGE: given})
    told = "You gave 20 percent to Alpha, 35 percent to Beta, 45 percent to Cash."
    assert KIND.prompt(stage(assets=THREE), view)[-1].text == told
    assert [one.share for one in KIND.page(stage(assets=THREE), view).assets] == [20, 35, 45]


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"a": 20, "b": 35, "cash-box": 40}, "cash-box"),
        ({"a": 100, "b": 5, "cash-box": 0}, "cash-box"),
        ({"a": 50, "b": 50}, "cash-box"),
        ({"a": 33, "b": 33, "cash-box": 34}, "a"),
        ({"a": -5, "b": 55, "cash-box": 50}, "a"),
        ({"share": 50}, "a"),
    ],
)
def test_shares_of_more_than_two_make_a_hundred(wrong: Any, where: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        asked(stage(assets=THREE)).check(wrong)

    assert where in [problem.where for problem in refused.value.problems]


@given(st.sampled_from([1, 5, 20, 100]), st.integers(2, 20), st.integers(0, 1000))
def test_what_is_drawn_fits(step: int, count: int, seed: int) -> None:
    of = stage(step=step, assets=[{"id": f"a{number}", "name": "A"} for number in range(count)])

    given = drawn(of, Random(seed))

    assert asked(of).check(given) == given
    assert sum(shares(of, given).values()) == 100


@pytest.mark.parametrize(
    ("answers", "where"),
    [
        ({"a": 50, "b": 50, "cash-box": 0}, []),
        ({"a": 50, "b": 45, "cash-box": 0}, ["answers"]),
        ({"a": 50, "b": 50}, ["answers"]),
        ({"a": 50, "share": 50}, ["answers.share"]),
    ],
)
def test_a_script_gives_all_shares(answers: Any, where: list[str]) -> None:
    scripts = KIND.parts(stage(assets=THREE)).scripts
    assert scripts is not None

    assert [problem.where for problem in scripts.problems({"answers": answers})] == where


@pytest.mark.parametrize(
    ("given", "score"),
    [
        ([70, 60, 50], 62.5),
        ([30, 30, 30], 100),
        ([50, 50], 100),
        ([100, 0], 0),
        ([70], 100),
        ([], 0),
    ],
)
def test_agreement_is_that_of_deliberate_lab(given: list[int], score: float) -> None:
    assert consensus([{"a": share, "b": 100 - share} for share in given]) == pytest.approx(score)


@given(st.lists(st.integers(0, 20), max_size=6))
def test_agreement_is_a_part_of_a_hundred_in_any_order(given: list[int]) -> None:
    divided = [{"a": 5 * share, "b": 100 - 5 * share} for share in given]

    assert 0 <= consensus(divided) <= 100
    assert consensus(divided) == pytest.approx(consensus(divided[::-1]))


def test_who_gave_nothing_does_not_count() -> None:
    cid = a_member("cid")
    view = lab(ANN, cid, given={(ANN.id, PAGE): {"share": 70}, (cid.id, PAGE): {"share": None}})

    assert agreement(stage(), view) == {"consensus": 100.0}
    assert KIND.parts(stage()).data.group_cells(agreement(stage(), view)) == {"consensus": 100.0}
    assert agreement(stage(), lab(ANN)) == {}


def test_assets_have_ids_of_their_own() -> None:
    twice = stage(assets=[*THREE, NAMED[0]])

    assert [problem.where for problem in KIND.problems(twice, [])] == ["assets[3].id"]


@pytest.mark.parametrize("check", [*ONCE, *WITH_SEEDS], ids=lambda check: check.__name__)
def test_shares_that_go_together_keep_what_every_kind_promises(check: Check) -> None:
    of_three = stage(assets=[*NAMED, {"id": "c", "name": "Gamma"}])

    told = [str(found) for seed in range(1, 4) for found in findings(check, Trial(KIND, of_three, seed))]

    assert told == []


@pytest.mark.parametrize("seed", range(5))
def test_assets_come_in_an_order_of_each_participant_which_the_data_have(seed: int) -> None:
    of = stage(assets=[{"id": one, "name": one.upper()} for one in "abcd"], shuffle_assets=True)
    view = own(ANN, draws=OrderDraws().draw([], {}, Random(seed)))
    question = asked(of, view)
    fields = [*question.form().json_schema()["properties"]]

    stored = question.check({"a": 25, "b": 25, "c": 25, "d": 25})

    assert sorted(fields) == [*"abcd"]
    assert [one.id for one in KIND.page(of, view).assets] == fields
    assert KIND.parts(of).data.cells(stored)["order"] == " ".join(fields)
    assert ShareQuestions(of).shown(stored) == dict.fromkeys("abcd", 25)


@pytest.mark.parametrize(
    ("path", "order", "stored", "scripted"), [("c1/m1", "a b", (70, 30), 70), ("c1/m2", "b a", (30, 70), 30)]
)
def test_two_assets_in_turn_have_the_share_that_is_asked(
    path: str, order: str, stored: tuple[int, int], scripted: int
) -> None:
    of = stage(shuffle_assets=True, order="latin")
    me = replace(ANN, path=path, player="script", script={"money": {"answers": {"share": 70}}})
    view, parts = own(me, draws=OrderDraws().draw([], {}, Random(1))), KIND.parts(of)
    assert parts.scripts is not None

    given = asked(of, view).check({"share": 70})
    page = parts.scripts.page(view, Random(1))

    assert KIND.problems(of, []) == []
    assert " ".join(one.id for one in KIND.page(of, view).assets) == order
    assert parts.data.cells(given) == {"a": stored[0], "b": stored[1], "order": order}
    assert asked(of, view).check(given) == given
    assert page == {"share": scripted, "_order": order.split()}
    assert shares(of, page) == {"a": 70, "b": 30}


def test_latin_orders_are_those_of_shuffled_assets() -> None:
    assert [problem.where for problem in KIND.problems(stage(order="latin"), [])] == ["order"]
