"""A person, an agent and a script look at stocks, divide their money, and are shown what all did."""

from pathlib import Path

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.design import validate
from parley_lab.store.session import Database
from tests.flows.playing import a_cast, playing

pytestmark = pytest.mark.postgres

TABLE = "date,close\n2022-01-03,100\n2022-12-30,90\n2023-01-02,90\n2023-12-29,117\n"
STOCKS = {
    "id": "stocks",
    "kind": "stock_info",
    "stocks": [{"id": "a", "name": "Alpha Rail", "prices": TABLE}, {"id": "b", "name": "Beta Foods", "prices": TABLE}],
}
MONEY = {
    "id": "money",
    "kind": "asset_allocation",
    "names_from": "stocks",
    "assets": [{"id": "a", "column": "stock.a"}, {"id": "b", "column": "stock.b"}],
}
OUT = {"id": "out", "kind": "reveal", "items": [{"stage": "money", "audience": "all"}]}
CAST = a_cast(scripts={"money": {"answers": {"share": 85}}})


async def test_a_person_an_agent_and_a_script_look_at_stocks_and_divide(database: Database, tmp_path: Path) -> None:
    async with playing(database, stages=[STOCKS, MONEY, OUT], **CAST) as ana:
        assert (await ana.go_on("stocks", status=409))["reason"] == "blocked"
        page = await ana.page("stocks")
        assert [ask["key"] for ask in page["asks"]] == ["viewed:a", "viewed:b"]
        for ask in reversed(page["asks"]):
            await ana.post(f"/v1/me/asks/{ask['id']}/answer", {"answer": {"viewed": True}})
        page = await ana.page("stocks")
        assert (page["blocked_by"], [one["is_viewed"] for one in page["view"]["stocks"]]) == ([], [True, True])
        await ana.go_on("stocks")
        refused = await ana.go_on("money", {"share": 33}, 422)
        assert [problem["where"] for problem in refused["problems"]] == ["share"]
        names = [one["name"] for one in (await ana.page("money"))["view"]["assets"]]
        prompt = await ana.prompts("Bob", "money")
        await ana.go_on("money", {"share": 35})
        shown = (await ana.page("out"))["view"]["items"][0]["answers"]
        await ana.go_on("out")
        rows = {row["name"]: row for row in await ana.data(tmp_path, "participants.csv")}
        statuses = await ana.statuses()

    assert set(statuses.values()) == {"completed"}
    assert names == ["Alpha Rail", "Beta Foods"]
    for stock in page["view"]["stocks"]:
        assert stock["name"] in prompt
        assert [year["change"] for year in stock["years"]] == [-0.1, 0.3]
    for line in ("- 2022: -10.0 %", "- 2023: +30.0 %", "- Best year: +30.0 % (2023)", "- Worst year: -10.0 % (2022)"):
        assert line in prompt
    assert {name: row["stocks.viewed.a"] for name, row in rows.items()} == dict.fromkeys(("Ana", "Bob", "Cid"), "true")
    assert [rows[name]["money.a"] for name in ("Ana", "Cid")] == ["35", "85"]
    assert {one["name"]: one["lines"][0]["value"] for one in shown} == {
        None: "35",
        "Cid": "85",
        "Bob": rows["Bob"]["money.a"],
    }


async def test_people_may_go_on_without_looking_at_all_where_the_file_says_so(database: Database) -> None:
    async with playing(database, stages=[{**STOCKS, "require_view_all": False}, MONEY], **CAST) as ana:
        (ask, _) = (await ana.page("stocks"))["asks"]
        await ana.post(f"/v1/me/asks/{ask['id']}/answer", {"answer": {"viewed": True}})
        await ana.go_on("stocks")
        (found,) = await ana.lab.rows(
            "SELECT a.value FROM answers a JOIN members m ON m.id = a.member_id "
            "WHERE m.player = 'person' AND a.stage_id = 'stocks' AND a.key = ''"
        )

    assert found.value == {"viewed": ["a"]}


def test_a_column_that_is_not_there_is_an_error_of_the_file() -> None:
    assets = [{"id": "a", "column": "stock.z"}, {"id": "b", "name": "Cash"}]

    with pytest.raises(InvalidInput) as refused:
        validate({"parley": 1, "name": "x", "stages": [STOCKS, {**MONEY, "assets": assets}], **CAST})

    assert [problem.where for problem in refused.value.problems] == ["stages[1].assets[0].column"]


async def test_a_person_an_agent_and_a_script_divide_between_three(database: Database, tmp_path: Path) -> None:
    assets = [{"id": name, "name": name.title()} for name in ("rail", "food", "cash")]
    money = {"id": "money", "kind": "asset_allocation", "assets": assets}
    async with playing(database, stages=[money], **a_cast(scripts={"money": {"policy": "random"}})) as ana:
        refused = await ana.go_on("money", {"rail": 50, "food": 50, "cash": 50}, 422)
        assert [problem["found"] for problem in refused["problems"]] == ["150 percent in all"]
        await ana.go_on("money", {"rail": 10, "food": 20, "cash": 70})
        rows = {row["name"]: row for row in await ana.data(tmp_path, "participants.csv")}
        statuses = await ana.statuses()

    assert set(statuses.values()) == {"completed"}
    given = {name: [int(row[f"money.{one['id']}"]) for one in assets] for name, row in rows.items()}
    assert given["Ana"] == [10, 20, 70]
    assert {sum(shares) for shares in given.values()} == {100}
    assert len({row["money.consensus"] for row in rows.values()}) == 1
    assert 0 <= float(rows["Ana"]["money.consensus"]) < 100
