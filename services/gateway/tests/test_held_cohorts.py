"""People of a cohort whose rules fail read that it is held; what they ask for may be asked again."""

from typing import Any, Final
from uuid import UUID

import pytest

from parley_lab.bus.in_process import InProcessBus
from parley_lab.gateway.testing import Api
from parley_lab.kinds.stages.beauty_contest import display, rules
from parley_lab.orchestrator.service import Orchestrator
from parley_lab.orchestrator.settings import OrchestratorSettings

pytestmark = pytest.mark.postgres

GAME: Final[dict[str, Any]] = {
    "stages": [{"id": "game", "kind": "beauty_contest", "rounds": 1}],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}


def broken(*_: Any) -> Any:
    raise RuntimeError("a rule that fails")


async def in_a_game(api: Api) -> tuple[str, list[str]]:
    experiment_id = await api.running(**GAME)
    tokens = [await api.join(experiment_id, name) for name in ("Ada", "Ben")]
    await api.settle(experiment_id)
    return experiment_id, tokens


async def guess(api: Api, token: str) -> int:
    (ask,) = (await api.participant(token, "GET", "/v1/me")).json()["asks"]
    url = f"/v1/me/asks/{ask['id']}/answer"
    return (await api.participant(token, "POST", url, json={"answer": {"guess": 30}})).status_code


async def me(api: Api, token: str) -> Any:
    return (await api.participant(token, "GET", "/v1/me")).json()


async def test_people_read_that_their_cohort_is_held_until_it_goes_on(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, (ada, ben) = await in_a_game(api)
    cohort_id = UUID((await me(api, ada))["cohort_id"])
    orchestrator = Orchestrator(
        database=api.database, bus=InProcessBus(), clock=api.clock, settings=OrchestratorSettings()
    )

    with monkeypatch.context() as patch:
        patch.setattr(rules, "tally", broken)
        answered = await guess(api, ada)
        before = await me(api, ada)
        await orchestrator.settle(cohort_id)
        held, page = await me(api, ben), await api.participant(ben, "GET", "/v1/me/stages/game")
        api.clock.advance(5)
    await orchestrator.settle(cohort_id)
    await orchestrator.watch()
    after = await me(api, ada)
    await guess(api, ben)
    await orchestrator.settle(cohort_id)
    await orchestrator.stop()

    assert (answered, before["is_held"], held["is_held"], page.status_code) == (200, False, True, 200)
    assert after["is_held"] is False
    assert held["cursor"] != before["cursor"], "pages are told to read anew"
    assert (await api.advance(ada, "game")).json()["me"]["status"] == "completed"


async def test_a_request_that_the_rules_make_fail_may_be_made_again(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    _, (ada, _) = await in_a_game(api)
    cohort_id = UUID((await me(api, ada))["cohort_id"])
    orchestrator = Orchestrator(
        database=api.database, bus=InProcessBus(), clock=api.clock, settings=OrchestratorSettings()
    )

    with monkeypatch.context() as patch:
        patch.setattr(rules, "tally", broken)
        patch.setattr(display, "page_of", broken)
        alone = await api.participant(ada, "GET", "/v1/me/stages/game")
        await guess(api, ada)
        await orchestrator.settle(cohort_id)
        held = await api.participant(ada, "GET", "/v1/me/stages/game")
    await orchestrator.stop()

    assert alone.status_code == 500
    assert (held.status_code, held.json()["can_retry"], held.headers["Retry-After"]) == (503, True, "10")


async def test_staff_do_not_let_the_clocks_of_a_held_cohort_go_on(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment_id, (ada, _) = await in_a_game(api)
    cohort_id = UUID((await me(api, ada))["cohort_id"])
    orchestrator = Orchestrator(
        database=api.database, bus=InProcessBus(), clock=api.clock, settings=OrchestratorSettings()
    )

    with monkeypatch.context() as patch:
        patch.setattr(rules, "tally", broken)
        await guess(api, ada)
        await orchestrator.settle(cohort_id)
    (alert,) = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/alerts")).json()["alerts"]
    refused = await api.experimenter("POST", f"/v1/alerts/{alert['id']}/resolve")
    held = await me(api, ada)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/end")
    resolved = await api.experimenter("POST", f"/v1/alerts/{alert['id']}/resolve")
    await orchestrator.stop()

    assert (refused.status_code, refused.json()["reason"], held["is_held"]) == (409, "cohort_held", True)
    assert resolved.status_code == 200, "nothing waits in an experiment that has ended"
