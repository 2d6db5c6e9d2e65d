"""A rehearsal ends with every kind of stage: made-up people answer its example, or leave."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.cli.made_up_minds import Minds
from parley_lab.cli.rehearsing import rehearse
from parley_lab.contracts.lives import OUTCOMES
from parley_lab.design import load
from parley_lab.experiments.experiments import find
from parley_lab.kinds.stages import kinds, parts_of
from parley_lab.people.opening import close_to_people
from tests.faults.lab_tools import start

pytestmark = pytest.mark.postgres
# The examples of these name stages that come before them, and ask nothing.
ALL: Final = tuple(kind for kind in kinds() if kind not in ("payout", "reveal"))


def _study(kind: str) -> dict[str, Any]:
    stage = kinds()[kind].example()
    least = max(1, parts_of(stage).players[0])
    return {
        "parley": 1,
        "name": kind,
        "seed": 5,
        "stages": [stage.model_dump(mode="json", by_alias=True)],
        "personas": [{"id": "guide", "profile": {"name": "Guide"}, "chat": {"max_responses": 2}}],
        "cohorts": [{"seats": [{"open": True, "count": max(2, least)}], "mediators": ["guide"]}],
    }


@pytest.mark.parametrize(
    "chosen",
    [pytest.param(("comprehension", "matrix_game"), id="two"), pytest.param(ALL, id="all", marks=pytest.mark.long)],
)
async def test_made_up_people_complete_the_example_of_each_kind(
    tmp_path: Path, database_url: str, chosen: Sequence[str]
) -> None:
    async with EmbeddedLab(tmp_path, servers=ServerSettings(database_url=database_url), environ={}, port=0) as lab:

        async def ends_of(kind: str) -> tuple[str, list[str]]:
            file = json.dumps(_study(kind))
            experiment_id = await start(lab, file)
            people = load(file, "kind.yaml").cohorts[0].people
            async with lab.database.transaction() as session:
                code = (await find(session, experiment_id)).join_code

            async def give_up() -> None:
                await lab.database.transact(
                    lambda session: close_to_people(session, experiment_id, lab.clock.now(), cause="test")
                )

            found = await rehearse(
                lab.url or "",
                code,
                people,
                5,
                mind=Minds(lab.database, lab.clock, 5),
                give_up_seats=give_up,
                patience_seconds=3,
            )
            return kind, list(found)

        async with asyncio.timeout(100):
            ends = dict(await asyncio.gather(*(ends_of(kind) for kind in chosen)))

    assert {kind: found[0] for kind, found in ends.items()} == dict.fromkeys(chosen, "completed")
    assert {one for found in ends.values() for one in found} <= {*OUTCOMES}
