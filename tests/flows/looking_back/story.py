"""The story, from the file of the experiment to its end."""

from collections.abc import Mapping

import yaml

from parley_lab.kinds.stages import kinds
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab
from tests.flows.looking_back.cast import PROFILES, SEED, Cast, secret
from tests.flows.looking_back.evidence import Evidence, Shown
from tests.flows.looking_back.players import Ana, Teller, reader_of
from tests.flows.looking_back.way import Stage, way
from tests.flows.previewing import an_api


def document(cast: Cast, stages: list[Stage]) -> str:
    everything = [
        {"type": "profile_info"},
        {"type": "persona_context"},
        {"type": "stage_context", "stage": "all"},
        {"type": "task"},
    ]
    closed = [name for name, kind in kinds().items() if kind.parts(kind.example()).prompt is not None]
    agents = [name for name in cast.names if name != "ana"]
    seated = [{"persona": name} for name in cast.participants[1:]]
    seats = [{"open": True}, *seated, *({"open": True} for _ in (*cast.absent, *cast.removed))]
    return yaml.safe_dump(
        {
            "parley": 1,
            "name": "Looking back",
            "seed": SEED,
            "look_back": "all",
            "stages": [{"id": stage.id, "kind": stage.kind, **stage.row.stage} for stage in stages],
            "personas": [
                {
                    "id": name,
                    "profile": PROFILES[name],
                    "text": secret(name),
                    # Of kinds whose own prompt looks back at nothing.
                    "prompts": {} if name in cast.mediators else dict.fromkeys(closed, everything),
                }
                for name in agents
            ],
            "cohorts": [{"id": "the-room", "seats": seats, "mediators": [*cast.mediators]}],
        }
    )


async def told(database: Database, cast: Cast) -> Evidence:
    """The story, with everything that any reader was shown."""
    evidence = Evidence(cast, way(cast))
    lab = DrainLab(database, models={"mock": Teller(cast, evidence)})
    async with an_api(database, lab) as client:
        created = await client.post(
            "/v1/experiments", content=document(cast, evidence.way), headers={"Content-Type": "application/yaml"}
        )
        assert created.status_code == 201, created.text
        address = f"/v1/experiments/{created.json()['id']}"
        agents = [name for name in cast.names if name != "ana"]

        async def look(addresses: Mapping[str, str], at: Stage, how: str, into: list[Shown]) -> None:
            for name in agents:
                reader = reader_of(cast, name, at)
                shown = await client.get(f"{addresses[name]}stage={at.id}")
                is_asked, may_be_through = at.row.is_asked(reader), at.row.has_last_ask and into is evidence.shown
                expected = {200, 409} if is_asked and may_be_through else {200 if is_asked else 404}
                assert shown.status_code in expected, (how, name, at, shown.text)
                if shown.status_code == 200:
                    said = "\n\n".join(message["content"] for message in shown.json()["messages"])
                    into.append(Shown(reader, at, said, how))

        for stage in evidence.way:
            by_persona = {name: f"{address}/prompt?persona={name}&" for name in agents}
            await look(by_persona, stage, "preview before the start", evidence.before)
        await client.post(f"{address}/start")
        people: dict[str, Ana] = {}
        for name in ("ana", *cast.absent, *cast.removed):
            joined = (await client.post(f"{address}/join", json={"profile": PROFILES[name]})).json()
            people[name] = Ana(client, lab, joined["token"], cast)
        for name in cast.absent:
            await people[name].post("/v1/me/leave", {})
        for name in cast.removed:
            await people[name].post("/v1/me/stages/arrival/advance", {})
        rows = await lab.rows("SELECT id, lower(profile ->> 'name') AS name FROM members WHERE player = 'agent'")
        by_member = {row.name: f"/v1/members/{row.id}/prompt?" for row in rows}
        ana = people["ana"]
        await lab.drain()
        for place, stage in enumerate(evidence.way):
            for looked_at in evidence.way[: place + 1]:
                evidence.pages[stage.id, looked_at.id] = await ana.sees(looked_at)
            for later in evidence.way[place + 1 :] if place == 0 else evidence.way[place + 1 : place + 2]:
                await ana.get(f"/v1/me/stages/{later.id}", 409)
            await look(by_member, stage, "preview while it is on", evidence.shown)
            if stage.id == "first-group-chat":
                for row in await lab.rows("SELECT id FROM members WHERE profile ->> 'name' = 'Fay'"):
                    await client.post(f"/v1/members/{row.id}/remove", json={"reason": "for the test"})
            await stage.row.act(ana, stage.id)
            await ana.post(f"/v1/me/stages/{stage.id}/advance", {"answer": stage.row.answer("", stage.id)})
        assert (await ana.get("/v1/me"))["status"] == "completed"
        for stage in evidence.way:
            await look(by_member, stage, "preview when all is over", evidence.shown)
    return evidence
