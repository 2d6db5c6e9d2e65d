"""Pages name other members wherever something on them tells of others, and read no other member elsewhere."""

from typing import Any, Final

import pytest

from parley_lab.gateway.testing import Api
from parley_lab.testing.statements import counted

pytestmark = pytest.mark.postgres

LAST: Final[dict[str, Any]] = {"id": "end", "kind": "info", "lines": ["Bye"]}
VOTE: Final[dict[str, Any]] = {"id": "vote", "kind": "ranking", "rank": "participants", "strategy": "none"}


async def test_a_page_that_shows_ones_own_ranking_names_those_who_were_ranked(api: Api) -> None:
    shown = {"id": "shown", "kind": "reveal", "items": [{"stage": "vote"}]}
    experiment_id = await api.running(stages=[VOTE, shown, LAST], cohorts=[{"seats": [{"open": True, "count": 2}]}])
    ada, bo = [await api.join(experiment_id, name) for name in ("Ada", "Bo")]
    about_bo = (await api.participant(bo, "GET", "/v1/me")).json()["member_id"]

    moved = await api.advance(ada, "vote", {"ranking": [about_bo]})
    await api.settle(experiment_id)
    page = await api.participant(ada, "GET", "/v1/me/stages/shown")

    assert moved.status_code == 200, moved.text
    assert '"Bo"' in page.text, page.text


async def test_a_page_that_tells_of_no_other_member_reads_none(api: Api) -> None:
    survey = {"id": "why", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why"}]}
    experiment_id = await api.running(stages=[survey, LAST], cohorts=[{"seats": [{"open": True, "count": 2}]}])
    ada, _ = [await api.join(experiment_id, name) for name in ("Ada", "Bo")]

    with counted() as statements:
        page = await api.participant(ada, "GET", "/v1/me/stages/why")

    assert page.status_code == 200
    assert len(statements) == 1, statements
