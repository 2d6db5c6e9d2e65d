"""Are people who come and go grouped as well as they can be? 300 people, two gateways and two orchestrators, killed.

docs/benchmarks.md says what is checked and how to read it.
"""

import asyncio
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import httpx2
import psycopg

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.contestants import API_KEY, Place, migrate
from benchmarks.processes import Service
from benchmarks.servers import own_broker_corner, own_database
from parley_lab.people.matching import Rule
from parley_lab.testing.crowds import Guest, crowd, possible_groups
from parley_lab.testing.network import free_port

GROUP: Final = 4
ENDS: Final = ("completed", "released", "left", "dropped_out", "removed")
GONE_SECONDS: Final = 15.0
LATE_SECONDS: Final = 10.0
LEAST_SHARE: Final = 0.95
KILLS: Final = 2
"""How often one gateway and one orchestrator are killed."""
_AGAIN_SECONDS: Final = 0.3


def study(people: int, at_most_seconds: float) -> dict[str, Any]:
    return {
        "parley": 1,
        "name": "Groups of four who meet",
        "pace": "live",
        "language": "en",
        "treatments": [{"id": "a"}, {"id": "b"}],
        "completion": {
            one: {"code": one.upper()} for one in ("completed", "released", "left", "dropped_out", "removed")
        },
        "stages": [
            {"id": "before", "kind": "info", "lines": ["Hello"]},
            {
                "id": "play",
                "kind": "info",
                "lines": ["Together"],
                "progress": {"wait_for_all": True, "at_most_seconds": at_most_seconds},
                "when_gone": "go_on",
            },
            {"id": "paid", "kind": "payout", "currency": "GBP", "items": [{"id": "fee", "stage": "play", "base": 1}]},
        ],
        "cohorts": [
            {"made": "when_together", "at": "play", "count": people, "seats": [{"open": True, "count": GROUP}]}
        ],
    }


@dataclass
class Servers:
    """Two gateways and two orchestrators; the first of each is killed now and then, and begun again."""

    environment: Mapping[str, str]
    ports: Sequence[int]
    stack: ExitStack
    services: dict[str, Service] = field(default_factory=dict)

    def begin(self, name: str) -> None:
        kind, number = name.split()
        health = free_port()
        port = self.ports[int(number)] if kind == "gateway" else 0
        environment = {**self.environment, "GATEWAY_PORT": str(port), "PARLEY_HEALTH_PORT": str(health)}
        service = self.stack.enter_context(Service(name, ["-m", f"parley_lab.{kind}"], environment))
        service.wait_for_http(f"http://127.0.0.1:{health}/readyz")
        self.services[name] = service

    async def kill_at(self, name: str, moments: Sequence[float], begun: float) -> None:
        for moment in moments:
            await asyncio.sleep(max(0.0, begun + moment - time.monotonic()))
            self.services[name].process.kill()
            await asyncio.to_thread(self.begin, name)


@dataclass
class Visitor:
    """A person with a browser, which looks for the other gateway when one does not answer."""

    guest: Guest
    ports: Sequence[int]
    client: httpx2.AsyncClient
    code: str
    rng: Random
    token: str = ""
    member_id: str = ""
    me: Mapping[str, Any] = field(default_factory=dict)

    async def ask(self, method: str, path: str, **content: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        while True:
            with suppress(httpx2.TransportError):
                url = f"http://127.0.0.1:{self.rng.choice(self.ports)}{path}"
                answer = await self.client.request(method, url, headers=headers, timeout=30, **content)
                if answer.status_code < 500:
                    return answer.json() if answer.content else None
            await asyncio.sleep(_AGAIN_SECONDS)

    async def take_part(self, begun: float) -> None:
        for number, (opens, closes) in enumerate(self.guest.spans):
            await asyncio.sleep(max(0.0, begun + opens - time.monotonic()))
            if number == 0:
                await self.join()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(_loop_time(begun + closes)):
                    await self.follow()
                    return
        if self.guest.declines_at is not None:
            await self.ask("POST", "/v1/me/leave")

    async def join(self) -> None:
        body = {"join_key": f"browser-{self.guest.number}", "external_id": f"P{self.guest.number:03}"}
        joined = await self.ask("POST", f"/v1/join/{self.code}", json=body)
        self.token, self.member_id = joined["token"], joined["member_id"]
        await self.ask("POST", "/v1/me/stages/before/advance", json={})

    async def follow(self) -> None:
        """Keep the page open until the part is over."""
        headers = {"Authorization": f"Bearer {self.token}"}
        while True:
            await self.read()
            if self.me["is_over"]:
                return
            url = f"http://127.0.0.1:{self.rng.choice(self.ports)}/v1/me/stream?after={self.me['cursor']}"
            with suppress(httpx2.TransportError):
                async with self.client.stream("GET", url, headers=headers, timeout=None) as stream:
                    async for line in stream.aiter_lines():
                        if line.startswith("data:"):
                            await self.read()
                            if self.me["is_over"]:
                                return
            await asyncio.sleep(_AGAIN_SECONDS)

    async def read(self) -> None:
        """Read the page, and go on where there is nothing to wait for."""
        self.me = await self.ask("GET", "/v1/me")
        while not self.me["is_over"] and self.me["waiting"] is None:
            await self.ask("POST", f"/v1/me/stages/{self.me['stage_id']}/advance", json={})
            self.me = await self.ask("GET", "/v1/me")


def _loop_time(at: float) -> float | None:
    return None if at == float("inf") else asyncio.get_running_loop().time() + at - time.monotonic()


async def play(people: Sequence[Guest], servers: Servers, code: str, rng: Random, options: Namespace) -> float:
    """Let everybody take part, and kill services meanwhile; the wall time at which it began."""
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(limits=limits) as client, asyncio.TaskGroup() as group:
        begun, wall = time.monotonic(), time.time()
        for name in ("gateway 0", "orchestrator 0"):
            moments = sorted(rng.uniform(0.2, 0.9) * options.seconds for _ in range(KILLS))
            group.create_task(servers.kill_at(name, moments, begun))
        visits = [Visitor(one, servers.ports, client, code, Random(one.number)) for one in people]
        tasks = [asyncio.create_task(one.take_part(begun)) for one in visits]
        await asyncio.sleep(options.seconds + options.at_most + LATE_SECONDS)
        await asyncio.wait(tasks, timeout=60)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return wall


@dataclass(frozen=True)
class Outcome:
    """What the database says of the session."""

    groups: int
    longest_gone: float
    longest_wait: float
    arms: Mapping[str, int]
    twice: int
    without_code: int


def outcome(url: str, people: Sequence[Guest], wall: float, lines: Sequence[Mapping[str, Any]]) -> Outcome:
    by_name = {f"P{one.number:03}": one for one in people}
    with psycopg.connect(url) as connection:
        made = connection.execute(
            "SELECT extract(epoch FROM x.made_at)::float8, c.treatment_id, x.given_back_at IS NULL, "
            "ARRAY(SELECT m.external_id FROM members m WHERE m.id = ANY(x.people)) "
            "FROM matches x JOIN cohorts c ON c.id = x.cohort_id"
        ).fetchall()
        waits = connection.execute(
            "SELECT extract(epoch FROM coalesce((SELECT min(x.made_at) FROM matches x WHERE m.id = ANY(x.people)), "
            "m.ended_at, now()) - a.completed_at)::float8 FROM members m JOIN answers a ON a.member_id = m.id "
            "AND a.stage_id = 'before'"
        ).fetchall()
    gone = [by_name[name].gone_for(at - wall) for at, _, _, names in made for name in names]
    return Outcome(
        groups=sum(began for _, _, began, _ in made),
        longest_gone=max(gone, default=0.0),
        longest_wait=max((wait for (wait,) in waits), default=0.0),
        arms=Counter(arm for _, arm, began, _ in made if began),
        twice=sum(count > 1 for count in Counter(name for *_, names in made for name in names).values()),
        without_code=sum(not line["code"] for line in lines),
    )


def payment_lines(url: str, key: str, experiment_id: str) -> list[dict[str, str]]:
    answer = httpx2.get(
        f"{url}/v1/experiments/{experiment_id}/tables/payments?limit=500", headers={"Authorization": f"Bearer {key}"}
    )
    found = answer.json()
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


def main() -> None:
    options = _options()
    rng = Random(options.seed)
    people = crowd(options.people, options.seconds, rng)
    with own_database("meeting") as url, own_broker_corner() as broker, ExitStack() as stack:
        migrate(Place(url, broker, ""))
        environment = {"PARLEY_DATABASE_URL": url, "PARLEY_AMQP_URL": broker, "PARLEY_BOOTSTRAP_API_KEY": API_KEY}
        servers = Servers(environment, (free_port(), free_port()), stack)
        for name in ("gateway 0", "gateway 1", "orchestrator 0", "orchestrator 1"):
            servers.begin(name)
        base = f"http://127.0.0.1:{servers.ports[1]}"
        headers = {"Authorization": f"Bearer {API_KEY}"}
        made = httpx2.post(f"{base}/v1/experiments", json=study(options.people, options.at_most), headers=headers)
        experiment = made.raise_for_status().json()
        httpx2.post(f"{base}/v1/experiments/{experiment['id']}/start", headers=headers).raise_for_status()
        wall = asyncio.run(play(people, servers, experiment["join_code"], rng, options))
        httpx2.post(f"{base}/v1/experiments/{experiment['id']}/end", headers=headers).raise_for_status()
        lines = payment_lines(base, API_KEY, experiment["id"])
        found = outcome(url, people, wall, lines)
    report(found, possible_groups(people, Rule(people=GROUP), options.at_most, options.seconds), options, lines)


def report(found: Outcome, oracle: int, options: Namespace, lines: Sequence[Mapping[str, str]]) -> None:
    ends = Counter(line["outcome"] for line in lines)
    print(f"{options.people} people in {options.seconds:g} s: {found.groups} groups, the oracle finds {oracle}")
    print("ends:", ", ".join(f"{count} {name}" for name, count in sorted(ends.items())))
    bars = {
        f"groups: {found.groups / max(1, oracle):.2f} of the oracle's": found.groups >= LEAST_SHARE * oracle,
        f"a member of a group was gone for {found.longest_gone:.1f} s": found.longest_gone <= GONE_SECONDS,
        f"the longest wait is {found.longest_wait:.1f} s": found.longest_wait <= options.at_most + LATE_SECONDS,
        f"arms: {dict(found.arms)}": abs(found.arms.get("a", 0) - found.arms.get("b", 0)) <= 1,
        f"people in two groups: {found.twice}": found.twice == 0,
        f"lines of payment without a code: {found.without_code}": found.without_code == 0,
    }
    for said, is_met in bars.items():
        print(f"{'meets bar' if is_met else 'BELOW BAR'}  {said}")


def _options() -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=600.0, help="within which they come")
    parser.add_argument("--at-most", type=float, default=100.0, help="how long one waits for a group")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
