"""What people said and did is deleted so many days after the end, by itself; numbers stay, and the data files work."""

import io
import zipfile
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from sqlalchemy import text

from parley_lab.bus.in_process import InProcessBus
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import FILE, Api
from parley_lab.members import person_ids
from parley_lab.orchestrator.service import Orchestrator
from parley_lab.orchestrator.settings import OrchestratorSettings
from parley_lab.orchestrator.settling import settle
from parley_lab.store import keys
from parley_lab.store.session import Database
from parley_lab.store.tables import metadata
from parley_lab.testing.fake_clock import FakeClock
from parley_lab.testing.quick import quick_first

pytestmark = pytest.mark.postgres

SECRETS = ("zanzibar", "quicksilver", "Marmeladov", "prolific-7", "session-9", "mandrake")
DAY = 24 * 3600


@pytest.fixture
async def api(database: Database, fake_clock: FakeClock) -> AsyncIterator[Api]:
    bus = InProcessBus()
    app = create_app(database, bus, fake_clock, GatewaySettings(), environ={})
    async with database.transaction() as session:
        key = await keys.create_key(session, "Ellen", fake_clock.now())
    client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://gateway")
    async with app.router.lifespan_context(app), client:
        yield Api(client, key, database, fake_clock, app, settle)
    await bus.close()


async def ended_study(api: Api, **fields: Any) -> str:
    """A study in which people have answered and talked, each secret in one place."""
    experiment_id = await api.running(**{"join": {"parameters": ["SESSION_ID"]}, **fields})
    who = {"external_id": "prolific-7", "parameters": {"SESSION_ID": "session-9"}, "profile": {"name": "Marmeladov"}}
    tokens = [await api.token_of(experiment_id, **who), await api.join(experiment_id, "Sonya")]
    for token in tokens:
        await api.advance(token, "welcome")
        await api.settle(experiment_id)
        await api.advance(token, "before", {"age": 33, "why": "Because of zanzibar"})
        await api.settle(experiment_id)
    thread = await api.thread(tokens[0])
    said = {"text": "I like quicksilver", "client_message_id": "1"}
    posted = await api.participant(tokens[0], "POST", f"/v1/me/threads/{thread}/messages", json=said)
    assert posted.status_code == 201, posted.text
    help_needed = {"text": "Where is the mandrake?"}
    assert (await api.participant(tokens[0], "POST", "/v1/me/help", json=help_needed)).status_code == 204
    ended = await api.experimenter("POST", f"/v1/experiments/{experiment_id}/end")
    assert ended.status_code == 200, ended.text
    return experiment_id


async def stored(database: Database) -> str:
    """Every row of every table, as text."""
    async with database.read() as session:
        found = [await session.all(text(f"SELECT CAST(t AS text) AS row FROM {name} t")) for name in metadata.tables]  # noqa: S608
    return "\n".join(row.row for rows in found for row in rows)


def an_orchestrator(api: Api, days: int | None) -> Orchestrator:
    settings = OrchestratorSettings(keep_personal_days=days)
    return Orchestrator(database=api.database, bus=InProcessBus(), clock=api.clock, settings=settings)


async def found_in(api: Api) -> list[str]:
    rows = await stored(api.database)
    return [secret for secret in SECRETS if secret in rows]


async def members(api: Api, experiment_id: str) -> list[Any]:
    answer = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()
    return [(one["status"], one["path"]) for one in answer["members"]]


async def test_what_people_said_is_deleted_after_its_days_and_not_before(api: Api) -> None:
    experiment_id = await ended_study(api)
    orchestrator, before = an_orchestrator(api, 30), await members(api, experiment_id)

    api.clock.advance(29 * DAY)
    await orchestrator.forget_people()
    early = await found_in(api)
    api.clock.advance(2 * DAY)
    await orchestrator.forget_people()
    await orchestrator.forget_people()

    assert early == list(SECRETS)
    assert await found_in(api) == []
    assert await members(api, experiment_id) == before


MODEL = {"provider": "mock", "model": "mock", "temperature": 0}
SIDES = [{"id": "left", "text": "Left"}, {"id": "right", "text": "Right"}]
WITH_AN_AGENT: dict[str, Any] = {
    "personas": [{"id": "guide", "model": MODEL}],
    "cohorts": [{"seats": [{"open": True}, {"persona": "guide"}]}],
    "stages": [
        *FILE["stages"],
        {"id": "side", "kind": "survey", "questions": [{"id": "at", "kind": "choice", "title": "?", "options": SIDES}]},
    ],
}
# As refused and stored replies of an agent leave them.
QUOTING = """
    WITH failed AS (
        UPDATE members SET status = 'failed', status_reason = 'it speaks for Marmeladov' WHERE path = 'c1/m2'
    ), ask AS (
        INSERT INTO asks (id, path, cohort_id, stage_id, member_id, key, generation, purpose, state, reason, opened_at)
        SELECT id, 'ask', cohort_id, 'before', id, '', 1, 'page', 'failed', 'quicksilver is no number', created_at
        FROM members WHERE path = 'c1/m2' RETURNING id, cohort_id, member_id, opened_at
    ), draft AS (
        INSERT INTO drafts (id, path, cohort_id, stage_id, member_id, ask_id, purpose, provider, state, reason,
            not_before, created_at)
        SELECT id, 'draft', cohort_id, 'before', member_id, id, 'page', 'mock', 'failed', 'zanzibar is no number',
            opened_at, opened_at FROM ask
    ), told AS (
        UPDATE events SET payload = payload || '{"reason": "it speaks for Marmeladov"}'
        WHERE type = 'member.joined' AND subject = 'c1/m1'
    )
    INSERT INTO answers (member_id, stage_id, key, cohort_id, value, invalid, completed_at, written_at)
    SELECT m.id, a.stage_id, '', m.cohort_id, CAST(a.value AS jsonb), CAST(a.invalid AS jsonb), m.created_at,
        m.created_at
    FROM members m, (VALUES
        ('before', '{"age": 40, "why": "As Marmeladov likes quicksilver"}', NULL),
        ('side', '{"at": "left"}', NULL),
        ('after', '{"again": null}', '{"again": "zanzibar is no number"}')
    ) a(stage_id, value, invalid) WHERE m.path = 'c1/m2'
"""


async def test_what_agents_wrote_about_people_is_deleted_and_what_they_chose_stays(api: Api) -> None:
    experiment_id = await api.running(**WITH_AN_AGENT)
    await api.join(experiment_id, "Marmeladov")
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/end")
    async with api.database.transaction() as session:
        await session.run(text(QUOTING))

    api.clock.advance(31 * DAY)
    await an_orchestrator(api, 30).forget_people()

    assert await found_in(api) == []
    async with api.database.read() as session:
        answers = await session.all(text("SELECT stage_id, value, invalid FROM answers ORDER BY stage_id"))
    assert [tuple(row) for row in answers] == [
        ("after", {"again": None}, {"again": "[deleted]"}),
        ("side", {"at": "left"}, None),
    ]
    answer = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export")
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("of_the_lab", "of_the_file", "kept"),
    quick_first([(30, 7, 7), (7, 30, 7), (None, None, None), (None, 7, 7), (30, None, 30)], 3),
)
async def test_a_file_says_for_itself_and_the_shorter_time_holds(
    api: Api, of_the_lab: int | None, of_the_file: int | None, kept: int | None
) -> None:
    await ended_study(api, keep_personal_days=of_the_file)
    orchestrator = an_orchestrator(api, of_the_lab)

    api.clock.advance(((kept or 4000) - 1) * DAY)
    await orchestrator.forget_people()
    early = await found_in(api)
    api.clock.advance(2 * DAY)
    await orchestrator.forget_people()

    assert early == list(SECRETS)
    assert await found_in(api) == ([] if kept else list(SECRETS))


async def test_the_data_files_can_be_had_afterwards_and_have_the_numbers(api: Api) -> None:
    experiment_id = await ended_study(api)
    api.clock.advance(31 * DAY)
    await an_orchestrator(api, 30).forget_people()

    answer = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export")

    assert answer.status_code == 200, answer.text
    with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
        content = "\n".join(packed.read(name).decode() for name in packed.namelist())
    assert [secret for secret in SECRETS if secret in content] == []
    assert "[deleted]" in content


async def test_who_comes_back_afterwards_brings_nothing_back(api: Api) -> None:
    experiment_id = await api.running(join={"parameters": ["SESSION_ID"]})
    code = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()["join_code"]
    mine = {"join_key": "my-own-key", "external_id": "prolific-7", "parameters": {"SESSION_ID": "session-9"}}
    joined = [await api.client.post(f"/v1/join/{code}", json=mine)]
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/end")
    api.clock.advance(31 * DAY)
    await an_orchestrator(api, 30).forget_people()

    joined.append(await api.client.post(f"/v1/join/{code}", json=mine))

    assert [one.status_code for one in joined] == [201, 409]
    assert joined[1].json()["reason"] == "not_running"
    assert await found_in(api) == []
    assert joined[0].json()["member_id"] in await stored(api.database)


async def test_no_key_and_no_id_finds_a_person_again_of_whom_nothing_is_kept(api: Api) -> None:
    terms = {"id": "terms", "kind": "terms_of_service", "lines": ["Be kind."], "delete_when_declined": True}
    experiment_id = await api.running(stages=[terms, {"id": "last", "kind": "info", "lines": ["Bye"]}])
    code = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()["join_code"]
    mine = {"join_key": "my-own-key", "external_id": "prolific-7"}
    token = (await api.client.post(f"/v1/join/{code}", json=mine)).json()["token"]
    hashes = "SELECT declined_id_hash, join_key_hash FROM members WHERE declined_id_hash IS NOT NULL"

    await api.settle(experiment_id)
    await api.advance(token, "terms", {"accepted": False})
    async with api.database.read() as session:
        (known,) = await session.all(text(hashes))
    back = await api.client.post(f"/v1/join/{code}", json=mine)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/end")
    api.clock.advance(31 * DAY)
    await an_orchestrator(api, 30).forget_people()

    rows = await stored(api.database)
    assert back.status_code == 201
    assert [one.startswith("hmac-sha256:") for one in known] == [True, True]
    assert [one for one in ("hmac-sha256", *known) if one in rows] == []


GAMES: list[Any] = [
    {"id": "guess", "kind": "beauty_contest", "rounds": 2},
    {"id": "game", "kind": "matrix_game", "name": "prisoners_dilemma"},
]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: str(game["kind"]))
async def test_data_of_a_game_that_people_began_can_be_had_afterwards(api: Api, game: dict[str, Any]) -> None:
    experiment_id = await api.running(stages=[game])
    for name in ("Marmeladov", "Sonya"):
        await api.join(experiment_id, name)
    await api.settle(experiment_id)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/end")
    api.clock.advance(31 * DAY)
    await an_orchestrator(api, 30).forget_people()

    answer = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export")

    assert answer.status_code == 200, answer.text
    assert "Marmeladov" not in await stored(api.database)


async def test_an_experiment_that_goes_on_is_left_alone(api: Api) -> None:
    experiment_id = await api.running()
    await api.join(experiment_id, "Marmeladov")
    api.clock.advance(400 * DAY)

    await an_orchestrator(api, 30).forget_people()

    assert "Marmeladov" in await stored(api.database)


async def test_ids_that_an_earlier_version_stored_or_deleted_are_mended(api: Api) -> None:
    experiment_id = await api.running()
    seats = [await api.take_seat(experiment_id, external_id=one) for one in ("mandrake", "anna berg")]
    assert [one.status_code for one in seats] == [201, 201]
    async with api.database.transaction() as session:
        await session.run(text("UPDATE members SET external_id = NULL WHERE external_id = 'mandrake'"))
        await session.run(text("UPDATE members SET compared_id = NULL WHERE external_id = 'anna berg'"))

    await an_orchestrator(api, None).mend_ids()

    async with api.database.read() as session:
        found = await session.all(text("SELECT external_id, compared_id FROM members ORDER BY path"))
    ids = [(row.external_id, row.compared_id) for row in found]
    assert ("anna berg", "annaberg") in ids
    assert {one for one in ids if one[0] is None} <= {(None, None)}
    assert "mandrake" not in await stored(api.database)


async def test_members_are_mended_in_turns_and_none_whom_a_transaction_holds(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(person_ids, "_AT_ONCE", 1)
    experiment_id = await api.running()
    for one in ("ada", "ben"):
        assert (await api.take_seat(experiment_id, external_id=one)).status_code == 201
    async with api.database.transaction() as session:
        await session.run(text("UPDATE members SET compared_id = NULL"))

    async with api.database.transaction() as holding:
        await holding.run(text("SELECT id FROM members WHERE external_id = 'ada' FOR NO KEY UPDATE"))
        await an_orchestrator(api, None).mend_ids()
        held = await compared_ids(api.database)
    await an_orchestrator(api, None).mend_ids()

    assert held == {"ben"}
    assert await compared_ids(api.database) == {"ada", "ben"}


async def compared_ids(database: Database) -> set[str]:
    async with database.read() as session:
        found = await session.all(text("SELECT compared_id FROM members WHERE compared_id IS NOT NULL"))
    return {row.compared_id for row in found}
