"""A persona's role, goal and backstory, from the experiment file to what a model is sent through CrewAI."""

from typing import Any

import pytest

from parley_lab.agent_worker.models.crewai_model import agent_arguments
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

SURVEY = """
parley: 1
name: A survey
seed: 0
model_mode: real
personas:
  - {id: ada, role: Farmer, goal: Sell the barn, backstory: Born in it., model: {provider: crewai, model: openai/some}}
stages: [{id: q, kind: survey, questions: [{id: why, kind: text, title: Why}]}]
cohorts: [{seats: [{persona: ada}]}]
"""


class Model:
    """Answers, and keeps what it was asked."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        return ModelReply(status="ok", parsed={"why": "Because."}, raw='{"why": "Because."}')

    async def aclose(self) -> None:
        pass


async def test_what_a_persona_is_reaches_crewai(database: Database) -> None:
    model = Model()
    lab = DrainLab(database, models={"crewai": model})
    await lab.start(SURVEY)

    await lab.drain()

    (request,) = model.requests
    agent: dict[str, Any] = agent_arguments(request)
    assert (agent["role"], agent["goal"], agent["backstory"]) == ("Farmer", "Sell the barn", "Born in it.")
    (call,) = await lab.rows("SELECT provider, model_asked, status FROM model_calls")
    assert (call.provider, call.model_asked, call.status) == ("crewai", "openai/some", "ok")
