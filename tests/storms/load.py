"""Studies that are run one after another and several at a time, with people in every open seat."""

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.operators.processes import KEY
from tests.storms.client import Client
from tests.storms.ledger import Ledger
from tests.storms.people import Person
from tests.storms.study import mixed
from tests.storms.waiting import until

_COHORTS: Final = 2
_SEATS: Final = 2
_TURN_TAKING: Final = ("race", "select", "round")


@dataclass
class Load:
    """`is_enough` says when no further study begins. `people` are all who have come, `running` what goes on now."""

    gateways: list[str]
    seed: int
    ledger: Ledger
    is_enough: Callable[[], bool]
    people: list[Person] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    async def run(self, at_once: int) -> None:
        """Until it is enough and the last study is over."""
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(self._one_after_another())

    async def _one_after_another(self) -> None:
        while not self.is_enough():
            await self._run_study(next(self._numbers))

    async def _run_study(self, number: int) -> None:
        rng = Random(f"{self.seed}/{number}")
        staff = Client(self.gateways, KEY, rng)
        file = mixed(self.seed * 1_000_000 + number, _COHORTS, _TURN_TAKING[number % len(_TURN_TAKING)])
        study = await staff.post("/v1/experiments", file, once=f"storm-{self.seed}-the-study-{number}")
        await staff.post(f"/v1/experiments/{study['id']}/start")
        self.running.append(study["id"])
        people = [self._person(study["id"], f"p{number}-{one}") for one in range(_COHORTS * _SEATS)]
        self.people += people
        await asyncio.gather(*(one.take_part() for one in people))
        await until(lambda: self._has_ended(staff, study["id"]), every_seconds=0.5)
        self.running.remove(study["id"])
        await staff.close()

    async def _has_ended(self, staff: Client, study_id: str) -> bool:
        return bool((await staff.get(f"/v1/experiments/{study_id}"))["status"] == "ended")

    def _person(self, study_id: str, name: str) -> Person:
        return Person(self.gateways, study_id, name, Random(f"{self.seed}/{name}"), self.ledger, self.is_enough)
