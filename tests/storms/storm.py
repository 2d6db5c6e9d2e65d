"""A storm: people and agents take part in mixed studies while one fault after another strikes their lab."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from time import monotonic
from typing import Final

from tests.operators.processes import KEY
from tests.storms import staff
from tests.storms.canary import Canaries
from tests.storms.checker import Findings, check, made_again
from tests.storms.client import Client
from tests.storms.faults import Fault, deal
from tests.storms.lab import Lab
from tests.storms.ledger import Ledger
from tests.storms.load import Load
from tests.storms.models import Call
from tests.storms.waiting import until

_END_SECONDS: Final = 180.0
_CALM_SECONDS: Final = 15.0
# What a dead worker had in hand is called again after its lease.
_LEASE_SECONDS: Final = 10.0


@dataclass(frozen=True)
class Plan:
    seed: int
    messages: int
    faults: int
    groups: set[str]
    at_once: int = 3


@dataclass
class Struck:
    """One fault: when its harm was done, when it was mended, and when a newcomer was answered again."""

    fault: Fault
    began: float
    mended: float = 0.0
    recovered: float = 0.0
    messages: int = 0
    repeated: int = 0


@dataclass
class Outcome:
    struck: list[Struck]
    findings: Findings
    messages: int
    calls: int
    seconds: float
    broken: list[str] = field(default_factory=list)


class Storm:
    def __init__(self, lab: Lab, plan: Plan) -> None:
        self._lab = lab
        self._plan = plan
        self._ledger = Ledger()
        self._struck: list[Struck] = []
        self._messages = 0
        gateways = lab.cluster.gateways
        self._load = Load(gateways, plan.seed, self._ledger, self._is_enough)
        self._canaries = Canaries(gateways, plan.seed)
        self._staff = Client(gateways, KEY, Random(f"{plan.seed}/staff"))

    async def run(self) -> Outcome:
        began = monotonic()
        await self._canaries.start()
        load = asyncio.create_task(self._load.run(self._plan.at_once))
        deeds = asyncio.create_task(
            staff.work(self._staff, lambda: self._load.running, Random(f"{self._plan.seed}/deeds"))
        )
        striking = asyncio.create_task(self._strike())
        try:
            await self._until_enough(load, striking)
            unfinished = await self._come_to_an_end(load)
        finally:
            for task in (load, striking, deeds):
                task.cancel()
            await asyncio.gather(load, striking, deeds, return_exceptions=True)
        await self._canaries.end()
        await self._calm()
        findings = await check(self._lab.rows, self._ledger)
        if unfinished:
            findings.stuck["a person is not through"] = list(unfinished)
        await self._judge_calls(findings)
        await self._staff.close()
        broken = [one for person in self._load.people for one in person.broken]
        return Outcome(self._struck, findings, self._messages, len(self._lab.models.calls), monotonic() - began, broken)

    async def _until_enough(self, load: "asyncio.Task[None]", striking: "asyncio.Task[None]") -> None:
        """Until the last fault is over; what goes wrong in the suite itself ends it at once."""
        done, _ = await asyncio.wait((load, striking), return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        await striking

    def _is_enough(self) -> bool:
        return len(self._struck) >= self._plan.faults and self._messages >= self._plan.messages

    async def _strike(self) -> None:
        """Fault after fault until it is enough."""
        rng = Random(f"{self._plan.seed}/faults")
        faults = deal(rng, self._plan.groups)
        while not self._is_enough():
            if len(self._struck) < self._plan.faults:
                await self._strike_once(next(faults), rng)
            await asyncio.sleep(rng.uniform(0.2, 1.5))
            await self._count()

    async def _strike_once(self, fault: Fault, rng: Random) -> None:
        before, this = self._messages, Struck(fault, monotonic())
        print(f"{len(self._struck) + 1:4} {fault.name}", end="", flush=True)
        async with fault.strike(self._lab, rng):
            this.mended = monotonic()
        await self._canaries.sing(f"canary-{len(self._struck)}")
        this.recovered = monotonic()
        await self._count()
        this.messages = self._messages - before
        self._struck.append(this)
        print(f": {this.recovered - this.mended:.1f} s, {self._messages} messages", flush=True)

    async def _count(self) -> None:
        (row,) = await self._lab.rows("SELECT count(*) FROM messages")
        self._messages = row["count"]

    async def _come_to_an_end(self, load: "asyncio.Task[None]") -> Sequence[str]:
        """Who is not through when the storm has been over for minutes."""
        done, _ = await asyncio.wait((load,), timeout=_END_SECONDS)
        if done:
            load.result()
            return ()
        return [f"{one.name}: {one.doing}" for one in self._load.people if "over" not in one.doing] or ["a study"]

    async def _calm(self) -> None:
        """The last hints are published and followed, and what was announced in vain is closed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_CALM_SECONDS):
                await until(self._is_calm)

    async def _is_calm(self) -> bool:
        waiting = "SELECT 1 FROM outbox UNION ALL SELECT 1 FROM streams WHERE settled < unsettled LIMIT 1"
        return not await self._lab.rows(waiting)

    async def _judge_calls(self, findings: Findings) -> None:
        """A call may be made again only because of what ends a worker or its writing."""
        paid_twice = []
        for call in await made_again(self._lab.rows, self._lab.models.calls):
            causes = [one for one in self._struck if one.fault.repeats and _meets(one, call)]
            if causes:
                causes[0].repeated += 1
            else:
                paid_twice.append(call)
        if paid_twice:
            findings.doubled["a call was made again without a fault that explains it"] = paid_twice


def _meets(struck: Struck, call: Call) -> bool:
    ended = call.ended if call.ended is not None else monotonic()
    return call.began <= struck.recovered + 1 and struck.began <= ended + _LEASE_SECONDS
