"""Who sees what: for every rule, everything that any reader was given is searched for a word that only some may know.

One study is run on each bus (over RabbitMQ in `make faults`), with people, agents, a mediator, another cohort, another
study, strangers with and without keys; each rule then has a test of its own. `ada:rest` are all answers of the API to
Ada, `ada:stream` her live stream, `gus:prompt` what the endpoint of the models was sent for Gus, `owner:export` the
data files.
"""

import asyncio
import hashlib
import json
from pathlib import Path

import pytest

from parley_lab.base.settings import ServerSettings
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, provider_queue
from parley_lab.gateway.testing import assert_described
from parley_lab.testing.buses import RabbitBroker
from parley_lab.testing.fresh_databases import FreshDatabases
from tests.flows.fields_given import TELLING, field_names, reactions_told
from tests.flows.made_once import made_once
from tests.flows.watched_story import STRANGERS, watch
from tests.flows.watched_studies import AGENTS, PEOPLE
from tests.flows.watching import PROVIDER_KEY, Evidence

# The study is run and read by all before the first test; on a busy machine that takes a while.
pytestmark = [pytest.mark.timeout(300), pytest.mark.waits(200, reason="a study is played in real time, once")]

PROMPTS = {f"{name}:prompt" for name in AGENTS}


def surfaces(*names: str, of: str) -> set[str]:
    return {f"{name}:{of}" for name in names}


@pytest.fixture(
    scope="module", params=["in process", pytest.param("rabbitmq", marks=[pytest.mark.rabbitmq, pytest.mark.long])]
)
def evidence(
    request: pytest.FixtureRequest,
    fresh_databases: FreshDatabases,
    tmp_path_factory: pytest.TempPathFactory,
) -> Evidence:
    """Everything that any reader was given, from one run of the study on this bus."""
    amqp_url = request.getfixturevalue("amqp_url") if request.param == "rabbitmq" else None

    def make() -> Evidence:
        folder = tmp_path_factory.mktemp("visibility")
        with fresh_databases.one() as url:
            if amqp_url is None:
                return asyncio.run(watch(ServerSettings(database_url=url), folder))
            return asyncio.run(_on_rabbit(url, amqp_url, folder))

    return made_once(tmp_path_factory, f"visibility {request.param}", make)


async def _on_rabbit(url: str, amqp_url: str, folder: Path) -> Evidence:
    queues = [ORCHESTRATOR, AGENT_STEPS, *map(provider_queue, ("mock", "openai"))]
    broker = RabbitBroker(amqp_url, queues=queues)
    try:
        return await watch(ServerSettings(database_url=url, amqp_url=amqp_url, amqp_prefix=broker.prefix), folder)
    finally:
        await broker.close()


def test_every_event_that_was_streamed_is_as_its_schema_says(evidence: Evidence) -> None:
    types: set[str] = set()
    for (_, surface), given in evidence.given.items():
        who, _, what = surface.partition(":")
        if what != "stream":
            continue
        for line in given.decode().splitlines():
            if line.startswith("data: "):
                event = json.loads(line.removeprefix("data: "))
                assert_described(event, is_member=who not in ("owner", "mallory"))
                types.add(event["type"])

    assert {"member.moved", "member.left", "stage.unlocked", "message.created"} <= types


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
    told = {(who, kind) for who, kind in reactions_told(evidence)}

    assert {who for who, kind in told if kind == "heart"} == {"ada", "bea", "owner"}
    assert {who for who, kind in told if kind == "thumbs_up"} == {"ada", "bea", "dan", "eve", "owner"}


@pytest.mark.parametrize("who", PEOPLE)
def test_an_answer_of_a_person_is_read_back_by_that_person_alone(evidence: Evidence, who: str) -> None:
    assert evidence.outsiders(f"answercanary-{who}") == surfaces(who, of="rest")
    assert "owner:export" in evidence.knowing(f"answercanary-{who}")


@pytest.mark.parametrize("who", ["gus", "hal"])
def test_an_answer_of_an_agent_is_in_its_own_prompts_alone(evidence: Evidence, who: str) -> None:
    assert evidence.outsiders(f"answercanary-{who}") == surfaces(who, of="prompt")
    assert "owner:export" in evidence.knowing(f"answercanary-{who}")


@pytest.mark.parametrize("who", ["ada", "cid", "gus"])
def test_what_is_for_the_cohort_is_read_by_all_of_it_once_the_stage_is_over(evidence: Evidence, who: str) -> None:
    secret = f"toldcanary-{who}"
    own = surfaces(who, of="rest") if who in PEOPLE else set[str]()

    assert evidence.outsiders(secret, "while one still answers") == (own if who != "cid" else set())
    assert evidence.outsiders(secret, "before they go") == surfaces(*PEOPLE, of="rest")
    assert evidence.outsiders(secret) == surfaces(*PEOPLE, of="rest") | PROMPTS


@pytest.mark.parametrize("who", ["dan", "eve"])
def test_who_is_out_reads_no_answers_of_others(evidence: Evidence, who: str) -> None:
    assert not surfaces(who, of="rest") & evidence.knowing("toldcanary-ada", "after they went")


@pytest.mark.parametrize("who", ["ada", "cid", "gus"])
def test_what_is_for_mediators_is_read_by_them_alone(evidence: Evidence, who: str) -> None:
    own = surfaces(who, of="rest" if who in PEOPLE else "prompt")

    assert evidence.outsiders(f"guidedcanary-{who}") == own | {"mia:prompt"}


def test_answers_for_others_stay_in_their_cohort(evidence: Evidence) -> None:
    assert evidence.outsiders("toldcanary-fay") == evidence.outsiders("guidedcanary-fay") == {"fay:rest"}


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


@pytest.mark.parametrize(
    ("arm", "people", "agent"), [("a", PEOPLE[:2], "gus"), ("b", PEOPLE[2:], "hal")], ids=["a", "b"]
)
def test_what_an_arm_says_is_read_by_its_participants_and_its_name_by_none(
    evidence: Evidence, arm: str, people: tuple[str, ...], agent: str
) -> None:
    assert evidence.outsiders(f"armsayscanary-{arm}") == surfaces(*people, of="rest") | surfaces(agent, of="prompt")
    assert evidence.outsiders(f"armcanary-{arm}") == set()
    assert {"owner:rest", "owner:export"} <= evidence.knowing(f"armcanary-{arm}")


def test_what_is_shown_of_all_is_shown_to_the_cohort_and_only_when_the_stage_is_over(evidence: Evidence) -> None:
    there = surfaces("nia", "oli", of="rest")

    assert evidence.outsiders("sharedcanary-nia", "while one still answers") == {"nia:rest"}
    assert evidence.outsiders("sharedcanary-nia") == evidence.outsiders("sharedcanary-oli") == there
    assert evidence.outsiders("sharedcanary-pam") == {"pam:rest"}
    assert "owner:export" in evidence.knowing("sharedcanary-oli")


@pytest.mark.parametrize("who", ["nia", "oli", "pam"])
def test_what_is_shown_to_its_author_alone_is_read_by_no_other(evidence: Evidence, who: str) -> None:
    assert evidence.outsiders(f"keptcanary-{who}") == surfaces(who, of="rest")


def test_what_a_role_is_told_is_read_by_those_who_have_it(evidence: Evidence) -> None:
    chairs, peers = evidence.outsiders("chaircanary"), evidence.outsiders("peercanary")

    assert {"pam:rest"} < chairs <= surfaces("nia", "oli", "pam", of="rest")
    assert len(chairs) == 2
    assert peers == surfaces("nia", "oli", of="rest") - chairs


def test_a_text_for_a_role_is_read_by_those_who_have_it(evidence: Evidence) -> None:
    assert evidence.outsiders("chairtextcanary") == evidence.outsiders("chaircanary")
    assert evidence.outsiders("peertextcanary") == evidence.outsiders("peercanary")


@pytest.mark.parametrize(
    "word", ["paycanary", "1097.31", "altcanary", "captioncanary", "stockcanary", "assetcanary", '"share":83']
)
def test_what_a_page_shows_is_read_by_those_who_have_come_to_it(evidence: Evidence, word: str) -> None:
    """Payments, words of media, stocks and assets; Oli, in the same cohort, has not come so far."""
    assert evidence.outsiders(word) == {"nia:rest"}
    assert "owner:export" in evidence.knowing(word)


def test_whether_someone_is_there_is_asked_of_them_alone(evidence: Evidence) -> None:
    assert (
        {"oli:rest"} <= evidence.outsiders("checkcanary") <= surfaces("oli", of="rest") | surfaces("oli", of="stream")
    )
    assert "owner:export" in evidence.knowing("checkcanary")


def test_what_staff_tell_one_participant_is_theirs_alone(evidence: Evidence) -> None:
    assert (
        {"nia:rest"} <= evidence.outsiders("noticecanary") <= surfaces("nia", of="rest") | surfaces("nia", of="stream")
    )
    assert "owner:export" in evidence.knowing("noticecanary")


def test_a_call_for_help_is_read_by_the_owner_alone(evidence: Evidence) -> None:
    assert evidence.outsiders("helpcanary") == set()
    assert evidence.knowing("helpcanary") >= {"owner:rest", "owner:export"}


def test_who_was_elected_is_told_by_the_stage_that_shows_it_alone(evidence: Evidence) -> None:
    for who in ("nia", "oli", "pam"):
        elected = [line for content in evidence.of(who) for line in content.decode().splitlines() if "Elected" in line]
        assert elected
        assert all('"kind":"reveal"' in line for line in elected)


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
        assert evidence.knowing(words) == {"owner:export", "owner:rest"}
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
        names = {name for content in evidence.of(who) for name in field_names(content)}
        assert "profile" in names
        assert not TELLING & names, who


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


def test_agents_are_among_the_others_like_people(evidence: Evidence) -> None:
    shown = [
        (one["profile"]["name"], one["presence"], frozenset(one))
        for content in evidence.of("ada")
        for line in content.decode().splitlines()
        if line.startswith('{"member_id"') and '"timers"' in line
        for one in json.loads(line)["members"]
    ]

    assert {"Dan", "Gus", "Hal"} <= {name for name, _, _ in shown}
    assert {presence for name, presence, _ in shown if name in ("Gus", "Hal")} == {"connected"}
    assert len({fields for _, _, fields in shown}) == 1
    assert "Fay" not in {name for name, _, _ in shown}


def test_a_persona_of_the_library_is_for_the_experimenter_who_keeps_it(evidence: Evidence) -> None:
    assert evidence.knowing("librarycanary") == {"owner:rest"}


def test_why_someone_was_removed_is_for_the_owner(evidence: Evidence) -> None:
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


def test_what_is_right_is_known_to_the_owner_and_to_who_has_said_it(evidence: Evidence) -> None:
    """Lee and Mu say it in capitals."""
    assert evidence.outsiders("rightanswercanary") == {"kay:rest"}
    assert "owner:export" in evidence.knowing("rightanswercanary")


@pytest.mark.parametrize("word", ["attemptcanary", "aboutcanary"])
@pytest.mark.parametrize("who", ["kay", "lee"])
def test_attempts_and_answers_about_others_are_for_their_author_alone(evidence: Evidence, who: str, word: str) -> None:
    assert evidence.outsiders(f"{word}-{who}") <= surfaces(who, of="rest")
    assert "owner:export" in evidence.knowing(f"{word}-{who}")


@pytest.mark.parametrize("who", ["kay", "lee"])
def test_a_chosen_name_is_told_to_the_cohort_and_to_no_other(evidence: Evidence, who: str) -> None:
    there = ("kay", "lee")

    assert evidence.outsiders(f"namecanary-{who}") == {*surfaces(*there, of="rest"), *surfaces(*there, of="stream")}


def test_what_was_stored_of_who_declined_is_nowhere_any_more(evidence: Evidence) -> None:
    for phase in ("before they go", "after they went", "in the end"):
        assert evidence.knowing("attemptcanary-mu", phase) == set()
    assert evidence.outsiders("attemptcanary-mu") == set()
