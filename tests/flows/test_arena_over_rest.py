"""An arena as its users have it over REST: a person against a model, and the accounts of replicates."""

import csv
import io
import re
import zipfile
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from parley_lab.bus.in_process import InProcessBus
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.store import keys
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

TREE = {
    "parley": 1,
    "name": "Person and model",
    "seed": 4,
    "personas": [{"id": "fox", "role": "a player", "goal": "to win", "backstory": "You never lose."}],
    "stages": [
        {"id": "before", "kind": "survey", "questions": [{"id": "q", "kind": "text", "title": "Why are you here?"}]},
        {"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": 2}, "chat": True},
        {"id": "after", "kind": "info", "lines": ["Thank you."]},
    ],
    "cohorts": [{"seats": [{"open": True}, {"persona": "fox"}]}],
}
TOURNAMENT = {
    "parley": 1,
    "name": "Accounts",
    "seed": 9,
    "personas": [
        {"id": "coin", "player": "script", "script": {"matrix_game": {"policy": "RANDOM"}}},
        {"id": "gtft", "player": "script", "script": {"matrix_game": {"policy": "GTFT"}}},
        {"id": "tft", "player": "script", "script": {"matrix_game": {"policy": "TFT"}}},
    ],
    "stages": [{"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": 50}}],
}
TWO = [{"seats": ["coin", "gtft"]}, {"seats": ["coin", "tft"]}]


_GIVEN = "SELECT m.player FROM answers a JOIN members m ON m.id = a.member_id WHERE a.key = :key"


class Fox:
    """Always defects, and says things to itself and its opponent that no reader may see too early."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        found = re.search(r"round (\d+) of", request.messages[-1].content)
        number = found[1] if found else "0"
        said = {"action": "D", "reasoning": f"reasoncanary{number}", "message": f"messagecanary{number}", "q": "To win"}
        parsed = {name: said[name] for name in request.reply_schema["required"]}
        return ModelReply(status="ok", parsed=parsed, raw=str(parsed))

    async def aclose(self) -> None:
        """Nothing is open."""


class Rest:
    """A lab that is drained by hand, with its API for an experimenter and a participant."""

    def __init__(self, lab: DrainLab, client: httpx2.AsyncClient, key: str) -> None:
        self.lab = lab
        self._client = client
        self._key = key
        self.token = ""

    async def experimenter(self, method: str, path: str, **request: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self._key}"}
        answer = await self._client.request(method, path, headers=headers, **request)
        assert answer.is_success, answer.text
        return answer

    async def participant(self, method: str, path: str, **request: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        return await self._client.request(method, path, headers=headers, **request)

    async def start(self, document: dict[str, Any]) -> str:
        created = await self.experimenter("POST", "/v1/experiments", json=document)
        experiment_id: str = created.json()["id"]
        assert created.json()["status"] == "draft"
        await self.experimenter("POST", f"/v1/experiments/{experiment_id}/start")
        return experiment_id

    async def join(self, experiment_id: str) -> None:
        joined = await self.experimenter("POST", f"/v1/experiments/{experiment_id}/join")
        self.token = joined.json()["token"]

    async def answer(self, answer: dict[str, str]) -> httpx2.Response:
        """Answer what is wanted, once the others have done what they can."""
        await self.lab.drain()
        [ask] = (await self.participant("GET", "/v1/me")).json()["asks"]
        return await self.participant("POST", f"/v1/me/asks/{ask['id']}/answer", json={"answer": answer})

    async def shown(self) -> str:
        """All that the participant is given now, the events for the live stream included."""
        await self.lab.drain()
        page = await self.participant("GET", "/v1/me/stages/game")
        me = await self.participant("GET", "/v1/me")
        events = await self.lab.rows(
            """
            SELECT public::text AS shown FROM events WHERE public IS NOT NULL AND (audience IS NULL OR
                (SELECT id FROM members WHERE player = 'person') = ANY(audience))
            """
        )
        return "\n".join([page.text, me.text, *(row.shown for row in events)])

    async def game(self) -> dict[str, Any]:
        page: dict[str, Any] = (await self.participant("GET", "/v1/me/stages/game")).json()["view"]
        return page

    async def is_stored(self, key: str) -> bool:
        """Whether the model has answered this, and the person has not."""
        return [row.player for row in await self.lab.rows(_GIVEN, key=key)] == ["agent"]

    async def rounds(self, experiment_id: str) -> list[dict[str, str]]:
        archive = await self.experimenter("GET", f"/v1/experiments/{experiment_id}/export")
        with zipfile.ZipFile(io.BytesIO(archive.content)) as files:
            return list(csv.DictReader(io.StringIO(files.read("rounds.csv").decode())))


@pytest.fixture
async def rest(database: Database) -> AsyncIterator[Rest]:
    lab = DrainLab(database, models={"mock": Fox()})
    app = create_app(database, InProcessBus(), lab.clock, GatewaySettings(), environ={}, served_providers=["mock"])
    async with database.transaction() as session:
        key = await keys.create_key(session, "Ellen", lab.clock.now())
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://lab") as client:
        yield Rest(lab, client, key)


async def test_nothing_of_a_models_message_or_move_is_shown_to_a_person_before_the_persons_own(rest: Rest) -> None:
    await rest.join(await rest.start(TREE))
    await rest.lab.drain()
    answered = await rest.participant("POST", "/v1/me/stages/before/advance", json={"answer": {"q": "Curious"}})
    assert answered.status_code == 200, answered.text

    for number in (1, 2):
        spoken, thought = f"messagecanary{number}", f"reasoncanary{number}"
        assert spoken not in await rest.shown()
        assert await rest.is_stored(f"round:{number}/message")
        assert spoken not in (await rest.answer({"message": "Let us both choose C."})).text

        shown = await rest.shown()

        assert await rest.is_stored(f"round:{number}/move")
        assert spoken in shown
        assert thought not in shown
        assert [one["round"] for one in (await rest.game())["rounds"]] == list(range(1, number))
        played = await rest.answer({"action": "C"})
        assert played.json()["answer"] == {"action": "C"}

    assert "reasoncanary" not in await rest.shown()
    rounds = (await rest.game())["rounds"]
    assert [(one["you"], one["opponent"], one["opponent_points"]) for one in rounds] == [("C", "D", 5)] * 2
    assert (await rest.participant("GET", "/v1/me")).json()["asks"] == []


async def test_a_person_in_a_neutral_game_is_never_told_which_letter_is_to_cooperate(rest: Rest) -> None:
    game = {"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": 1}, "framing": "neutral"}
    stages = [game, TREE["stages"][2]]  # type: ignore[index]
    cohorts = [{"seats": [{"open": True}, {"persona": "tft"}]}]
    await rest.join(await rest.start({**TOURNAMENT, "stages": stages, "cohorts": cohorts}))

    played = await rest.answer({"action": "A"})
    during = await rest.shown()
    moved = await rest.participant("POST", "/v1/me/stages/game/advance", json={})
    after = await rest.shown()

    assert played.json()["answer"] == {"action": "A"}
    assert '"status":"over"' in during
    assert moved.json()["page"]["stage_id"] == "after"
    for shown in (played.text, during, moved.text, after):
        assert not re.search("cooperat|defect|dilemma|exploit|retaliat", shown)


async def test_a_move_is_final_and_the_same_again_is_what_is_stored(rest: Rest) -> None:
    document = {**TREE, "stages": [{**TREE["stages"][1], "chat": False}]}  # type: ignore[index]
    await rest.join(await rest.start(document))
    await rest.lab.drain()
    [ask] = (await rest.participant("GET", "/v1/me")).json()["asks"]
    path = f"/v1/me/asks/{ask['id']}/answer"

    first = await rest.participant("POST", path, json={"answer": {"action": "C"}})
    again = await rest.participant("POST", path, json={"answer": {"action": "C"}})
    other = await rest.participant("POST", path, json={"answer": {"action": "D"}})
    odd = await rest.participant("POST", path, json={"answer": {"action": "E"}})

    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert (other.status_code, odd.status_code) == (409, 409)


async def test_replicates_are_games_of_their_own_whatever_else_is_played(rest: Rest) -> None:
    first = await rest.start({**TOURNAMENT, "pairings": {"stage": "game", "replicates": 5, "pairs": TWO}})
    await rest.lab.drain()
    more = [{"seats": ["gtft", "tft"]}, *TWO]
    second = await rest.start({**TOURNAMENT, "pairings": {"stage": "game", "replicates": 5, "pairs": more}})
    await rest.lab.drain()

    shown = (await rest.experimenter("GET", f"/v1/experiments/{first}")).json()
    assert shown["status"] == "ended"
    rows, extended = await rest.rounds(first), await rest.rounds(second)
    games = transcripts(rows)
    assert (len(games), len(rows)) == (10, 500)
    assert {len(set(played)) for played in games.values()} == {50}
    assert len({tuple(row[1:] for row in played) for played in games.values()}) == 10
    again = transcripts(extended)
    assert {game: played for game, played in again.items() if game in games} == games
    assert len(again) == 15
    assert await rest.rounds(first) == rows


def transcripts(rows: list[dict[str, str]]) -> dict[tuple[str, int], list[tuple[str, ...]]]:
    """The rounds of each game in order, checked against sums of their points; by treatment and replicate."""
    found: dict[tuple[str, int], list[tuple[str, ...]]] = {}
    paths: dict[str, list[str]] = {}
    totals: dict[tuple[str, str], int] = {}
    for row in rows:
        cohorts = paths.setdefault(row["treatment"], [])
        if row["cohort_path"] not in cohorts:
            cohorts.append(row["cohort_path"])
        game = found.setdefault((row["treatment"], cohorts.index(row["cohort_path"])), [])
        assert int(row["round"]) == len(game) + 1
        for seat in "ab":
            total = totals.get((row["cohort_path"], seat), 0) + int(row[f"points_{seat}"])
            totals[row["cohort_path"], seat] = total
            assert int(row[f"total_{seat}"]) == total
        game.append((row["round"], row["action_a"], row["action_b"], row["points_a"], row["points_b"]))
    return found
