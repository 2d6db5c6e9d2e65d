"""Who sees what: for every rule, all that was given to everybody is searched for a word that only some may know.

One study is run on each bus, with people, agents, a mediator, another cohort, another study, strangers with and without
keys; each rule then has a test of its own. `ada:rest` are all answers of the API to Ada, `ada:stream` her live stream,
`gus:prompt` what the endpoint of the models was sent for Gus, `owner:export` the data files.
"""

import asyncio
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from shared.contracts.hints import AGENT_STEPS, ORCHESTRATOR, provider_queue
from shared.db.databases import copy_database, drop_database
from shared.settings import ServerSettings
from shared.testing.buses import RabbitBroker
from shared.testing.services import Server
from tests.flows.watching import (
    AGENTS,
    LIBRARY_PERSONA,
    OTHER_STUDY,
    PEOPLE,
    PROVIDER_KEY,
    STUDY,
    Evidence,
    Watcher,
    watched_lab,
)

STRANGERS = {"fay", "zoe", "nobody", "liar", "mallory"}
"""In another cohort; in another study; without a token; with a made-up one; the owner of the other study."""
PROMPTS = {f"{name}:prompt" for name in AGENTS}


def surfaces(*names: str, of: str) -> set[str]:
    return {f"{name}:{of}" for name in names}


async def everything_happens(watcher: Watcher) -> None:
    """The story; what happens between two crawls is told apart by their phases."""
    facts = watcher.evidence.facts
    study = await watcher.create("owner", STUDY)
    facts["study"] = study
    other = await watcher.create("mallory", OTHER_STUDY)
    shelved = {"profile": {"name": "Lia"}, "text": "librarycanary"}
    await watcher.ask("owner", "PUT", f"/v1/personas/{LIBRARY_PERSONA}", json=shelved)
    for who in PEOPLE:
        await watcher.join(who, study, "watched")
    await watcher.join("fay", study, "next-door")
    await watcher.join("zoe", other)
    for who in (*PEOPLE, "fay", "zoe"):
        watcher.follow(who)
    watcher.follow("owner", f"/v1/experiments/{study}/stream")
    watcher.follow("mallory", f"/v1/experiments/{other}/stream")
    readers = {**watcher.tokens, "nobody": None, "liar": "made-up"}

    for who in ("ada", "bea", "dan", "eve", "fay"):
        await watcher.answer(who, "before", {"why": f"answercanary-{who}"})
    await watcher.agents_are_done()
    early = await watcher.say("ada", "earlycanary")
    await watcher.agents_are_done()
    facts["whisper"] = await watcher.whisper("ada", "whispercanary", to="bea")
    await watcher.agents_are_done()
    await watcher.say("bea", "replycanary", reply_to=facts["whisper"])
    await watcher.ask("bea", "PUT", f"/v1/me/messages/{facts['whisper']}/reactions/heart")
    await watcher.say("dan", "quotingcanary", reply_to=early["id"])
    await watcher.ask("eve", "PUT", f"/v1/me/messages/{early['id']}/reactions/thumbs_up")
    await watcher.agents_are_done()
    await watcher.crawl("before they go", readers)

    assert (await watcher.ask("dan", "POST", "/v1/me/leave")).status_code == 200
    removal = {"reason": "reasoncanary"}
    removed = await watcher.ask("owner", "POST", f"/v1/members/{facts['eve_id']}/remove", json=removal)
    assert removed.status_code == 200
    await asyncio.gather(watcher.streams["dan:live"], watcher.streams["eve:live"])
    await watcher.answer("bea", "talk", None)
    await watcher.say("ada", "latercanary")
    await watcher.agents_are_done()
    await watcher.crawl("after they went", readers)

    await watcher.answer("cid", "before", {"why": "answercanary-cid"})
    await watcher.say("cid", "arrivedcanary")
    await watcher.agents_are_done()
    for who in ("ada", "fay", "zoe"):
        await watcher.say(who, f"lastcanary-{who}")
    await watcher.agents_are_done()
    for listener, speaker in (("ada", "ada"), ("bea", "ada"), ("cid", "ada"), ("fay", "fay"), ("zoe", "zoe")):
        await watcher.hears(listener, f"lastcanary-{speaker}")
    await watcher.hears("owner", "lastcanary-ada")
    await watcher.crawl("in the end", readers)
    facts["said"] = [
        row.text for row in await watcher.rows("SELECT text FROM messages WHERE author_kind = 'agent' ORDER BY seq")
    ]
    facts["lost"] = [row.said for row in await watcher.rows(_LOST)]
    facts["explanations"] = [row.why for row in await watcher.rows(_EXPLANATIONS)]
    facts["tokens"] = dict(watcher.tokens)


_SAID = "SELECT text FROM messages WHERE author_kind = 'agent' ORDER BY seq"
_LOST = "SELECT reply ->> 'text' AS said FROM drafts WHERE state = 'lost_claim' AND reply IS NOT NULL"
_EXPLANATIONS = "SELECT explanation AS why FROM messages WHERE explanation <> ''"


async def watch(servers: ServerSettings, folder: Path) -> Evidence:
    evidence = Evidence()
    with capture_logs() as entries:
        async with watched_lab(servers, folder, evidence) as watcher:
            await everything_happens(watcher)
    evidence.add("logs", "lab:logs", repr(entries).encode())
    return evidence


@pytest.fixture(scope="module", params=["in process", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
def evidence(
    request: pytest.FixtureRequest,
    postgres_server: Server,
    template_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Evidence]:
    """All that everybody was given, from one run of the study on this bus."""
    name = f"parley_visibility_{uuid4().hex}"
    url = copy_database(postgres_server.url, template_database, name)
    folder = tmp_path_factory.mktemp("visibility")
    if request.param == "rabbitmq":
        yield asyncio.run(_on_rabbit(url, request.getfixturevalue("amqp_url"), folder))
    else:
        yield asyncio.run(watch(ServerSettings(database_url=url), folder))
    drop_database(postgres_server.url, name)


async def _on_rabbit(url: str, amqp_url: str, folder: Path) -> Evidence:
    queues = [ORCHESTRATOR, AGENT_STEPS, *map(provider_queue, ("mock", "openai"))]
    broker = RabbitBroker(amqp_url, queues=queues)
    try:
        return await watch(ServerSettings(database_url=url, amqp_url=amqp_url, amqp_prefix=broker.prefix), folder)
    finally:
        await broker.close()


def test_what_is_said_is_for_those_who_are_in_the_conversation(evidence: Evidence) -> None:
    there = ("ada", "bea", "dan", "eve")

    assert evidence.outsiders("earlycanary", "before they go") == surfaces(*there, of="rest")
    assert evidence.outsiders("earlycanary", "live") == surfaces(*there, of="stream")
    assert evidence.outsiders("earlycanary", "prompts") == PROMPTS
    assert evidence.knowing("earlycanary") >= {"owner:export", "owner:stream"}


def test_who_has_not_come_to_a_conversation_reads_nothing_of_it_and_then_all(evidence: Evidence) -> None:
    assert not {"cid:rest", "cid:stream"} & evidence.knowing("earlycanary", "before they go")
    assert not {"cid:rest", "cid:stream"} & evidence.knowing("latercanary", "after they went")
    assert "cid:stream" not in evidence.knowing("earlycanary", "live")
    assert "cid:stream" in evidence.knowing("lastcanary-ada", "live")
    assert "cid:rest" in evidence.knowing("earlycanary", "in the end")


@pytest.mark.parametrize("who", ["dan", "eve"])
def test_who_left_or_was_removed_reads_nothing_any_more(evidence: Evidence, who: str) -> None:
    assert f"{who}:stream" in evidence.knowing("earlycanary")
    assert not surfaces(who, of="rest") & evidence.knowing("earlycanary", "after they went")
    for words in ("latercanary", "arrivedcanary", "lastcanary-ada"):
        assert not {f"{who}:rest", f"{who}:stream"} & evidence.knowing(words)


def test_who_has_gone_on_reads_on(evidence: Evidence) -> None:
    assert {"bea:rest", "bea:stream"} <= evidence.knowing("latercanary")


def test_a_message_is_for_its_audience_and_its_author(evidence: Evidence) -> None:
    assert evidence.outsiders("whispercanary") == {"ada:rest", "ada:stream", "bea:rest", "bea:stream"}
    assert evidence.knowing("whispercanary") >= {"owner:export", "owner:stream"}


def test_a_quote_gives_away_nothing_that_its_readers_may_not_read(evidence: Evidence) -> None:
    assert "cid:rest" in evidence.knowing("replycanary")
    assert evidence.outsiders(evidence.facts["whisper"]) - {"lab:logs"} <= {
        *surfaces("ada", "bea", of="rest"),
        *surfaces("ada", "bea", of="stream"),
    }
    assert evidence.outsiders("answering Ada at") == PROMPTS


def test_a_reaction_is_told_to_those_who_may_read_its_message(evidence: Evidence) -> None:
    told = {(who, kind) for who, kind in _reactions(evidence)}

    assert {who for who, kind in told if kind == "heart"} == {"ada", "bea", "owner"}
    assert {who for who, kind in told if kind == "thumbs_up"} == {"ada", "bea", "dan", "eve", "owner"}


def _reactions(evidence: Evidence) -> Iterator[tuple[str, str]]:
    for (phase, surface), content in evidence.given.items():
        if phase == "live":
            for line in content.decode().splitlines():
                if line.startswith("data: ") and json.loads(line[6:])["type"] == "message.reacted":
                    yield surface.partition(":")[0], json.loads(line[6:])["data"]["reaction"]


@pytest.mark.parametrize("who", PEOPLE)
def test_an_answer_of_a_person_is_read_back_by_that_person_alone(evidence: Evidence, who: str) -> None:
    assert evidence.outsiders(f"answercanary-{who}") == surfaces(who, of="rest")
    assert "owner:export" in evidence.knowing(f"answercanary-{who}")


@pytest.mark.parametrize("who", ["gus", "hal"])
def test_an_answer_of_an_agent_is_in_its_own_prompts_alone(evidence: Evidence, who: str) -> None:
    assert evidence.outsiders(f"answercanary-{who}") == surfaces(who, of="prompt")
    assert "owner:export" in evidence.knowing(f"answercanary-{who}")


def test_a_mediator_knows_the_conversation_and_no_answers(evidence: Evidence) -> None:
    assert "mia:prompt" in evidence.knowing("earlycanary")
    for who in (*PEOPLE, "fay", "gus", "hal"):
        assert "mia:prompt" not in evidence.knowing(f"answercanary-{who}")


@pytest.mark.parametrize("who", AGENTS)
def test_a_persona_is_known_to_its_own_model_alone(evidence: Evidence, who: str) -> None:
    assert evidence.outsiders(f"textcanary-{who}") == surfaces(who, of="prompt")
    for secret in ("traitcanary", "rolecanary", "goalcanary", "storycanary"):
        assert evidence.outsiders(f"{secret}-{who}") <= surfaces(who, of="prompt")
        assert "owner:export" in evidence.knowing(f"{secret}-{who}")


def test_why_an_agent_spoke_is_for_the_owner(evidence: Evidence) -> None:
    assert len(evidence.facts["explanations"]) > 2
    for why in evidence.facts["explanations"]:
        assert evidence.outsiders(why) == set()
        assert evidence.knowing(why) >= {"owner:export", "owner:stream"}


def test_what_an_agent_said_is_known_to_those_who_were_there(evidence: Evidence) -> None:
    last = evidence.facts["said"][-1]

    there = {"ada", "bea", "cid"}
    assert evidence.outsiders(last) - PROMPTS == surfaces(*there, of="rest") | surfaces(*there, of="stream")
    assert "owner:export" in evidence.knowing(last)


def test_what_an_agent_nearly_said_is_for_the_owner(evidence: Evidence) -> None:
    assert evidence.facts["lost"]
    for words in evidence.facts["lost"]:
        assert evidence.knowing(words) == {"owner:export"}
    for number in range(1, 100):
        assert evidence.outsiders(f'wordcanary-mia-{number}"') == set()
    assert "owner:export" in evidence.knowing("wordcanary-mia-")


def test_nothing_tells_who_is_an_agent(evidence: Evidence) -> None:
    readers = {*PEOPLE, *STRANGERS}
    for secret in ("personacanary", "modelcanary"):
        seen = {surface for surface in evidence.outsiders(secret) if surface.partition(":")[0] in readers}
        assert seen == set()
        assert "owner:export" in evidence.knowing(secret)
    for who in (*PEOPLE, "fay"):
        names = {name for content in evidence.of(who) for name in _keys(content)}
        assert "profile" in names
        assert not TELLING & names, who


TELLING = {"player", "agent", "agent_config", "persona", "persona_id", "provider", "author_kind", "trigger_key"} | {
    "explanation", "model", "draft_id", "actor", "cause",
}  # fmt: skip
"""Fields that only agents have, or that say how something came about."""


def _keys(content: bytes) -> Iterator[str]:
    """The names of all fields in what somebody was given, the API's own description aside."""
    for line in content.decode().splitlines():
        start = line.removeprefix("data: ")
        if start.startswith("{") and '"openapi"' not in start and '"$defs"' not in start:
            yield from _names(json.loads(start))


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for part in value.values():
            yield from _names(part)
    if isinstance(value, list):
        for part in value:
            yield from _names(part)


def test_people_and_agents_are_shown_in_the_same_shape(evidence: Evidence) -> None:
    messages = [
        message
        for content in evidence.of("ada")
        for line in content.decode().splitlines()
        if line.startswith('{"messages"')
        for message in json.loads(line)["messages"]
    ]
    by_author = {message["author"]["profile"]["name"]: message for message in messages if message["author"]}

    assert {"Ada", "Dan"} < set(by_author)
    assert {"Gus", "Hal"} & set(by_author)
    assert len({(*message, *message["author"], *message["author"]["profile"]) for message in by_author.values()}) == 1


def test_a_persona_of_the_library_is_for_the_experimenter_who_keeps_it(evidence: Evidence) -> None:
    assert evidence.knowing("librarycanary") == {"owner:rest"}


def test_why_somebody_was_removed_is_for_the_owner(evidence: Evidence) -> None:
    assert evidence.outsiders("reasoncanary") <= {"eve:rest"}
    assert evidence.knowing("reasoncanary") >= {"owner:export", "owner:stream"}


def test_tokens_and_keys_are_nowhere(evidence: Evidence) -> None:
    for secret in (*evidence.facts["tokens"].values(), PROVIDER_KEY):
        assert evidence.knowing(secret) == set()
        assert evidence.knowing(hashlib.sha256(secret.encode()).hexdigest()) == set()


@pytest.mark.parametrize("who", sorted(STRANGERS))
def test_a_stranger_knows_nothing_of_the_study(evidence: Evidence, who: str) -> None:
    secrets = ("earlycanary", "latercanary", "whispercanary", "quotingcanary", "arrivedcanary", "lastcanary-ada")
    own = {"fay": "answercanary-fay"}.get(who, "")
    for content in evidence.of(who):
        text = content.decode().replace(own, "") if own else content.decode()
        assert not [secret for secret in secrets if secret in text]
        assert "answercanary" not in text
        assert "wordcanary" not in text
        assert not [name for name in PEOPLE if evidence.facts[f"{name}_id"] in text]


def test_what_is_there_and_not_yours_is_answered_like_what_is_not_there(evidence: Evidence) -> None:
    refused = {(who, status) for who, path, status in evidence.answers if who in {"nobody", "liar"} and "/me" in path}
    of_mallory = {
        status for who, path, status in evidence.answers if who == "mallory" and evidence.facts["study"] in path
    }

    assert refused == {("nobody", 401), ("liar", 401)}
    assert of_mallory == {404}
