"""The environment of CrewAI, made from its own lock, holds the agent worker too."""

import importlib
import warnings

import pytest

pytestmark = [pytest.mark.crewai, pytest.mark.slow]


def test_crewai_and_the_agent_worker_stand_in_one_environment() -> None:
    with warnings.catch_warnings():
        # Its own deprecations, which its users cannot mend.
        warnings.simplefilter("ignore")
        crewai = importlib.import_module("crewai")

    assert crewai.LLM
    importlib.import_module("parley_lab.agent_worker")
