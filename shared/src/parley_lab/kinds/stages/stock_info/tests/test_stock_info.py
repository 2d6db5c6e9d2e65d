"""The change of each year, what a table must be, and who has looked at what."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.kinds import Blocked, Done
from parley_lab.kinds.stages.stock_info.config import StockInfoStage
from parley_lab.kinds.stages.stock_info.prices import best, in_percent, read, unreadable, worst, years
from parley_lab.kinds.stages.stock_info.rules import KIND, StockQuestions
from parley_lab.testing.thread_world import a_member
from parley_lab.testing.views import own

TABLE = "date,close\n2021-01-04,100\n2021-06-01,40\n2021-12-31,150\n2022-01-03,150\n2022-12-30,120\n2023-05-05,7\n"
ANA, BOB = a_member("ana", player="person"), a_member("bob")


def stage(**fields: Any) -> StockInfoStage:
    stocks = [{"id": "a", "name": "Alpha", "prices": TABLE}, {"id": "b", "name": "Beta", "prices": TABLE}]
    return StockInfoStage.model_validate({"id": "stocks", "stocks": stocks, **fields})


def test_the_change_of_a_year_is_from_its_first_price_to_its_last() -> None:
    found = years(read(TABLE))

    assert [(one.year, one.change) for one in found] == [
        (2021, Decimal("0.5")),
        (2022, Decimal("-0.2")),
        (2023, Decimal("0")),
    ]
    top, low = best(found), worst(found)
    assert top is not None
    assert low is not None
    assert (top.year, low.year) == (2021, 2022)
    assert [in_percent(one.change) for one in (top, low)] == ["+50.0 %", "-20.0 %"]


@given(st.lists(st.decimals(Decimal("0.01"), 10_000, places=2), min_size=1, max_size=12))
def test_only_the_first_and_the_last_price_of_a_year_count(closes: list[Decimal]) -> None:
    table = "date,close\n" + "\n".join(f"2020-{month:02}-01,{close}" for month, close in enumerate(closes, start=1))

    (year,) = years(read(table))

    assert not list(unreadable(table))
    assert abs(year.change - (closes[-1] - closes[0]) / closes[0]) <= Decimal("0.000001")


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ("", "a table without its columns"),
        ("day,price\n2021-01-04,1", "a table without its columns"),
        ("date,close\n", "no prices"),
        ("date,close\n2021-01-04,1\n04.01.2021,2", "'04.01.2021,2' in line 3"),
        ("date,close\n2021-01-04,0", "'2021-01-04,0' in line 2"),
        ("date,close\n2021-01-04,NaN", "'2021-01-04,NaN' in line 2"),
        ("date,close\n2021-01-04,1\n2021-01-04,2", "2021-01-04 after 2021-01-04 in line 3"),
    ],
)
def test_a_table_that_cannot_be_read_is_told_with_its_line(table: str, found: str) -> None:
    wrong = stage(stocks=[{"id": "a", "name": "Alpha", "prices": table}])

    (problem,) = KIND.problems(wrong, [])

    assert (problem.where, problem.found) == ("stocks[0].prices", found)


def test_a_person_goes_on_after_looking_at_every_stock_and_an_agent_at_once() -> None:
    one, both = {"viewed:a": {"viewed": True}}, {"viewed:a": {"viewed": True}, "viewed:b": {"viewed": True}}

    assert isinstance(KIND.completion(stage(), own(ANA, own=one)), Blocked)
    assert KIND.completion(stage(), own(ANA, own=both)) == Done({"viewed": ["a", "b"]})
    assert KIND.completion(stage(require_view_all=False), own(ANA, own=one)) == Done({"viewed": ["a"]})
    assert KIND.completion(stage(), own(BOB)) == Done({"viewed": ["a", "b"]})
    assert [ask.key for ask in StockQuestions(stage()).due(own(ANA, own=one))] == ["viewed:b"]
    assert StockQuestions(stage()).due(own(BOB)) == []


def test_cards_of_the_best_and_worst_year_are_shown_where_the_file_says_so() -> None:
    titles = [card.title for card in KIND.page(stage(), own(ANA)).stocks[0].cards]
    without = KIND.page(stage(show_best_year=False, show_worst_year=False), own(ANA)).stocks[0].cards

    assert (titles, without) == (["Best year", "Worst year"], [])


def test_the_prompt_tells_what_the_page_shows() -> None:
    page, told = KIND.page(stage(), own(BOB)), "\n".join(block.text for block in KIND.prompt(stage(), own(BOB)))

    for stock in page.stocks:
        assert stock.name in told
        for card in stock.cards:
            assert f"- {card.title}: {card.value} ({card.subtext})" in told
        for year in stock.years:
            assert f"- {year.year}: {in_percent(Decimal(str(year.change)))}" in told


def test_the_data_have_what_was_looked_at_and_names_for_others_to_read() -> None:
    cells = KIND.parts(stage()).data.cells({"viewed": ["b"]})

    assert cells == {"viewed.a": False, "viewed.b": True, "stock.a": "Alpha", "stock.b": "Beta"}
