"""Lab staff who pause members and experiments, let them go on, and move people to other groups."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

from tests.storms.client import Client, Refused

Json = Any


async def work(client: Client, running: Callable[[], list[str]], rng: Random) -> None:
    """Until cancelled. `running` are the experiments that go on now; what is paused goes on soon."""
    while True:
        await asyncio.sleep(rng.uniform(0.5, 2))
        if experiments := running():
            deed = rng.choice((_pause_member, _pause_member, _transfer, _transfer, _pause_experiment))
            # What is paused must go on: staff who are called away finish that first.
            await asyncio.shield(asyncio.ensure_future(_try(deed, client, rng.choice(experiments), rng)))


async def _try(deed: Any, client: Client, experiment_id: str, rng: Random) -> None:
    try:
        await deed(client, experiment_id, rng)
    except Refused as error:
        # Between the look and the deed everything may have become something else.
        if error.status not in (404, 409):
            raise


async def _pause_member(client: Client, experiment_id: str, rng: Random) -> None:
    members = await _taking_part(client, experiment_id)
    if not members:
        return
    member_id = rng.choice(members)["id"]
    await client.post(f"/v1/members/{member_id}/pause")
    await asyncio.sleep(rng.uniform(0.2, 2))
    await client.post(f"/v1/members/{member_id}/resume")


async def _transfer(client: Client, experiment_id: str, rng: Random) -> None:
    people = [one for one in await _taking_part(client, experiment_id) if one["player"] == "person"]
    cohorts = (await client.get(f"/v1/experiments/{experiment_id}/cohorts"))["cohorts"]
    if people and cohorts:
        target = rng.choice(cohorts)["id"]
        await client.post(f"/v1/members/{rng.choice(people)['id']}/transfer", {"cohort_id": target, "seconds": 20})


async def _pause_experiment(client: Client, experiment_id: str, rng: Random) -> None:
    await client.post(f"/v1/experiments/{experiment_id}/pause")
    await asyncio.sleep(rng.uniform(0.2, 1))
    await client.post(f"/v1/experiments/{experiment_id}/resume")


async def _taking_part(client: Client, experiment_id: str) -> list[Json]:
    members = (await client.get(f"/v1/experiments/{experiment_id}/members"))["members"]
    return [one for one in members if one["status"] == "in_progress"]
