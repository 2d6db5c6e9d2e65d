"""Matrix games in a lab: their files, a model that says what a test wants, and the moves and rounds that came of it."""

import csv
from pathlib import Path
from typing import Any
from uuid import UUID

from parley_lab.answers import answering
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.formats.exports import export
from parley_lab.kinds import Ask
from parley_lab.kinds.stages import kind_of, parts_of
from parley_lab.members.standing import Standing
from parley_lab.members.standings import sign_in
from tests.flows.drain import DrainLab

POLICIES = """
  - {id: allc, player: script, script: {matrix_game: {policy: ALLC}}}
  - {id: alld, player: script, script: {matrix_game: {policy: ALLD}}}
  - {id: tft, player: script, script: {matrix_game: {policy: TFT}}}
  - {id: wsls, player: script, script: {matrix_game: {policy: WSLS}}}
  - {id: chance, player: script, script: {matrix_game: {policy: RANDOM}}}
  - {id: forgiving, role: a patient trader, goal: to be fair, script: {matrix_game: {persona: forgiving}}}
  - {id: free, role: a player, goal: to win}
"""


def experiment(*pairs: tuple[str, str], rounds: int = 50, stage: str = "", count: int = 1, seed: int = 3) -> str:
    def seat(player: str) -> str:
        return "{open: true}" if player == "person" else f"{{persona: {player}}}"

    cohorts = "\n".join(f"  - {{id: {a}-{b}, count: {count}, seats: [{seat(a)}, {seat(b)}]}}" for a, b in pairs)
    return f"""
parley: 1
name: Games
seed: {seed}
personas: {POLICIES}
stages:
  - {{id: game, kind: matrix_game, horizon: {{type: fixed, rounds: {rounds}}}{stage}}}
cohorts:
{cohorts}
"""


async def moves(lab: DrainLab) -> dict[str, str]:
    """The actions of all players, a letter per round, by cohort and seat."""
    rows = await lab.rows(
        """
        SELECT c.name, m.path, a.value FROM answers a JOIN members m ON m.id = a.member_id
            JOIN cohorts c ON c.id = m.cohort_id
        WHERE a.key LIKE 'round:%/move' ORDER BY c.name, m.path, substring(a.key from 'round:([0-9]+)')::int
        """
    )
    found: dict[str, str] = {}
    for row in rows:
        seat = f"{row.name}/{row.path.rpartition('/')[2]}"
        letter = {True: "C", False: "D", None: "-"}[row.value["cooperates"]]
        found[seat] = found.get(seat, "") + letter
    return found


async def pages(lab: DrainLab) -> dict[str, Any]:
    rows = await lab.rows("SELECT m.path, a.value FROM answers a JOIN members m ON m.id = a.member_id WHERE a.key = ''")
    return {row.path: row.value for row in rows}


class Saying:
    """A model that says these texts, one call after another, without any object; the last one for ever."""

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)
        self.calls: list[ModelRequest] = []

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.calls.append(request)
        said = self._texts.pop(0) if len(self._texts) > 1 else self._texts[0]
        return ModelReply(status="invalid", raw=said, error="the reply is not a JSON object")

    async def aclose(self) -> None:
        """Nothing is open."""


async def answer(lab: DrainLab, token: str, action: str) -> None:
    """What the REST route does with a person's move."""
    async with lab.database.transaction() as session:
        standing = await sign_in(session, token, lock=True)
        (open_ask,) = standing.asks
        stage = standing.stage
        assert stage is not None
        ask = Ask(standing.member.id, open_ask.key, open_ask.purpose)
        questions = parts_of(stage).questions
        assert questions is not None
        question = questions.question(standing.view(stage, lab.clock.now()), ask)
        assert question is not None
        value = question.check({"action": action})
        assert await answering.answer(session, open_ask.id, value, lab.clock.now())
        answering.record_answer(session, standing, stage.id, ask, value, lab.clock.now(), cause="request")


def page_of(lab: DrainLab, standing: Standing) -> dict[str, Any]:
    """What the member's page shows now."""
    stage = standing.stage
    assert stage is not None
    return kind_of(stage).page(stage, standing.view(stage, lab.clock.now())).model_dump(mode="json")


async def rounds_of(lab: DrainLab, experiment_id: UUID, folder: Path) -> list[dict[str, str]]:
    await export(lab.database, experiment_id, folder, lab.clock.now(), formats=["csv"])
    with (folder / "rounds.csv").open() as lines:
        return list(csv.DictReader(lines))
