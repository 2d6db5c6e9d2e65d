"""Prompt previews show what is really sent: before a run, during it and after it."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import httpx2
import pytest
import yaml

from parley_lab.bus.in_process import InProcessBus
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.store import keys
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab
from tests.flows.previewing import LookingModel, Messages, an_api

pytestmark = pytest.mark.postgres

FILE = """
parley: 1
name: Everything
seed: 5
variables: {town: Altmere}
stages:
  - {id: welcome, kind: info, lines: ["Welcome to {{town}}."]}
  - id: before
    kind: survey
    questions: [{id: why, kind: text, title: "Why?"}, {id: sure, kind: check, title: "Sure?"}]
  - {id: race, kind: group_chat, max_agent_run: 3}
  - {id: draw, kind: group_chat, turn_taking: select, max_agent_run: 3}
  - id: one
    kind: survey
    ask: sequential
    questions: [{id: a, kind: text, title: "A?"}, {id: b, kind: text, title: "B?"}]
  - {id: alone, kind: private_chat}
  - {id: game, kind: matrix_game, horizon: {type: fixed, rounds: 2}}
personas:
  - {id: ann, profile: {name: "Ann: [x]"}, text: "You live in {{town}}."}
  - id: bob
    prompts:
      group_chat:
        - {type: text, text: Be Bob.}
        - {type: group, shuffle: {}, items: [{type: text, text: A}, {type: text, text: B}, {type: text, text: C}]}
        - {type: stage_context, stage: all}
        - {type: task}
  - {id: mo, text: Be strict.}
cohorts: [{seats: [{persona: ann}, {persona: bob}], mediators: [mo]}]
treatments:
  - {id: cold, variables: {town: Frost}}
  - {id: warm, personas: {ann: {text: You are warm.}}}
"""


@pytest.fixture
async def looking(database: Database) -> AsyncIterator[tuple[DrainLab, LookingModel, httpx2.AsyncClient]]:
    model = LookingModel()
    lab = DrainLab(database, models={"mock": model})
    async with an_api(database, lab) as client:
        yield lab, model, client


async def created(client: httpx2.AsyncClient, document: str = FILE) -> str:
    answer = await client.post("/v1/experiments", content=document, headers={"Content-Type": "application/yaml"})
    assert answer.status_code == 201, answer.text
    experiment_id: str = answer.json()["id"]
    return experiment_id


async def test_a_preview_of_an_open_draft_is_what_is_sent_and_stays_what_was_sent(
    looking: tuple[DrainLab, LookingModel, httpx2.AsyncClient],
) -> None:
    lab, model, client = looking
    seen = 0

    async def look(draft_path: str, messages: Messages) -> None:
        nonlocal seen
        [draft] = await lab.rows("SELECT id, member_id, stage_id FROM drafts WHERE path = :path", path=draft_path)
        addresses = (f"/v1/drafts/{draft.id}/prompt", f"/v1/members/{draft.member_id}/prompt?stage={draft.stage_id}")
        for address in addresses:
            shown = (await client.get(address)).json()
            assert (shown["draft_id"], shown["was_sent"]) == (str(draft.id), False)
            assert shown["messages"] == messages
        seen += 1

    model.look = look
    await client.post(f"/v1/experiments/{await created(client)}/start")
    await lab.drain()
    calls = [call for call in await lab.calls() if call.attempt == 1]
    after = [(await client.get(f"/v1/drafts/{call.draft_id}/prompt")).json() for call in calls]

    assert seen == len(model.sent) >= 12
    assert [(one["was_sent"], one["messages"]) for one in after] == [(True, call.prompt) for call in calls]


@pytest.mark.parametrize("treatment", quick_first(["cold", "warm"], 1))
async def test_a_preview_before_the_start_is_what_is_sent_first(
    looking: tuple[DrainLab, LookingModel, httpx2.AsyncClient], treatment: str
) -> None:
    lab, model, client = looking
    document = yaml.safe_load(FILE)
    stages = {stage["id"]: stage for stage in document["stages"]}
    document["cohorts"][0]["treatment"] = treatment
    for persona, stage, path in (
        ("ann", "before", "c1/m1/before"),
        ("bob", "before", "c1/m2/before"),
        ("mo", "race", "c1/med1/race"),
        ("ann", "draw", "/draw/"),
        ("ann", "one", "c1/m1/one"),
        ("mo", "alone", "c1/alone/m1/med1/start"),
        ("ann", "game", "c1/m1/game"),
    ):
        # The stage comes first, so that nothing was said or answered before.
        file = {**document, "stages": [stages["welcome"], stages[stage]]}
        experiment_id = await created(client, yaml.safe_dump(file))
        asked = {"persona": persona, "stage": stage}
        shown = (await client.get(f"/v1/experiments/{experiment_id}/prompt", params=asked)).json()
        same_arm = await client.get(f"/v1/experiments/{experiment_id}/prompt", params={**asked, "treatment": treatment})
        model.sent.clear()
        await client.post(f"/v1/experiments/{experiment_id}/start")
        await lab.drain()
        sent = [messages for at, messages in model.sent if path in at]
        assert sent, [at for at, _ in model.sent]
        if stage == "draw":
            # The drawn agent speaks first, or the mediator: participants are shown the same words, about themselves.
            assert _task(shown["messages"]) in map(_task, sent)
        else:
            assert shown["messages"] == sent[0]
        assert same_arm.json()["messages"] == shown["messages"]


NAMED = """
parley: 1
name: A cohort with a name
seed: {seed}
stages:
  - id: interview
    kind: group_interview
    roles: [{{label: Ann}}, {{label: Bob}}]
    tasks:
      - id: first
        type: private_question
        variable: first
        randomize_options: true
        questions:
          - {{role: Ann, text: "Which letter?", options: {{type: list, values: [a, b, c, d, e, f, g, h]}}}}
  - {{id: game, kind: matrix_game, framing: neutral, counterbalance: true, horizon: {{type: fixed, rounds: 1}}}}
personas: [{{id: ann, profile: {{name: Ann}}}}, {{id: bob, profile: {{name: Bob}}}}]
cohorts: [{{id: fair-pair, seats: [{{persona: ann}}, {{persona: bob}}]}}]
"""


@pytest.mark.parametrize("seed", quick_first(range(3), 1))
async def test_a_preview_draws_for_a_named_cohort_what_the_run_draws(
    looking: tuple[DrainLab, LookingModel, httpx2.AsyncClient], seed: int
) -> None:
    lab, model, client = looking
    experiment_id = await created(client, NAMED.format(seed=seed))
    shown = {
        stage: (await client.get(f"/v1/experiments/{experiment_id}/prompt", params={"persona": "ann", "stage": stage}))
        for stage in ("interview", "game")
    }
    await client.post(f"/v1/experiments/{experiment_id}/start")
    await lab.drain()
    sent = {stage: next(messages for at, messages in model.sent if f"c1/m1/{stage}" in at) for stage in shown}

    assert {stage: answer.json()["messages"] for stage, answer in shown.items()} == sent


async def test_a_group_chat_keeps_its_people_when_a_private_one_looks_back_at_it(
    looking: tuple[DrainLab, LookingModel, httpx2.AsyncClient],
) -> None:
    lab, model, client = looking
    document = yaml.safe_load(FILE)
    stages = {stage["id"]: stage for stage in document["stages"]}
    document |= {"stages": [stages["race"], stages["alone"]], "treatments": []}
    document["personas"] = [{"id": one, "profile": {"name": one.title()}} for one in ("ann", "bob", "mo")]
    experiment_id = await created(client, yaml.safe_dump(document))
    before = await client.get(f"/v1/experiments/{experiment_id}/prompt", params={"persona": "ann", "stage": "alone"})
    await client.post(f"/v1/experiments/{experiment_id}/start")
    await lab.drain()
    ids = {row.path: row.id for row in await lab.rows("SELECT id, path FROM members")}
    later = await client.get(f"/v1/members/{ids['c1/med1']}/prompt", params={"stage": "alone"})

    sent = [messages for at, messages in model.sent if at.startswith("c1/alone/")]
    prompts = [*sent, before.json()["messages"], later.json()["messages"]]
    assert len(sent) > 2
    for prompt in prompts:
        group, _, private = prompt[1]["content"].partition("[Stage: alone]")
        assert "from the system" not in group
        listed = [line.removesuffix(" (you)") for line in group.splitlines() if line.startswith("- ")]
        assert listed == ["- Ann", "- Bob", "- Mo"]
        assert private.strip().startswith("This is a private conversation with the ")


INTERVIEW = """
parley: 1
name: An interview
seed: 5
variables: {what: tokens}
stages:
  - id: interview
    kind: group_interview
    description: The description.
    context: "Each of you has 10 {{what}}."
    treatment: What you keep is doubled.
    roles: [{label: Giver, description: You go first.}, {label: Taker, description: You wait.}]
    special_roles: [{label: Judge, description: You judge.}]
    tasks:
      - id: give
        type: public_question
        variable: give
        questions: [{role: Giver, text: "Give?"}, {role: Taker, text: "Take?"}]
      - {id: news, type: context, variable: news, text: The pot is full.}
      - {id: fair, type: private_question, variable: fair, questions: [{role: Judge, text: "Was it fair?"}]}
personas: [{id: ann}, {id: bob}, {id: judge, profile: {name: Judge}}]
cohorts: [{seats: [SEATS], mediators: [judge]}]
"""


async def test_agents_of_an_interview_are_told_what_people_see_and_previews_show_it(
    looking: tuple[DrainLab, LookingModel, httpx2.AsyncClient],
) -> None:
    lab, model, client = looking
    experiment_id = await created(client, INTERVIEW.replace("SEATS", "{persona: ann}, {persona: bob}"))
    asked = {"ann": ("c1/m1", "Give?"), "bob": ("c1/m2", "Take?"), "judge": ("c1/med1", "Was it fair?")}
    shown = {
        one: await client.get(f"/v1/experiments/{experiment_id}/prompt", params={"persona": one, "stage": "interview"})
        for one in asked
    }
    await client.post(f"/v1/experiments/{experiment_id}/start")
    await lab.drain()

    roles = {"ann": "Giver", "bob": "Taker", "judge": "Judge"}
    own = {"ann": "You go first.", "bob": "You wait.", "judge": "You judge."}
    for one, (path, question) in asked.items():
        sent = next(messages for at, messages in model.sent if at.startswith(f"{path}/interview/"))
        for messages in (sent, shown[one].json()["messages"]):
            told = messages[1]["content"]
            assert "Each of you has 10 tokens.\n\nWhat you keep is doubled.\n\n" in told
            assert f"Your role here is {roles[one]}, and so the others call you. {own[one]}" in told
            assert not [others for others in own.values() if others != own[one] and others in told]
            assert _task(messages).startswith(f"\n\nFacilitator asks you: {question}")
    assert "The pot is full." in shown["judge"].json()["messages"][1]["content"]
    assert "The pot is full." not in shown["bob"].json()["messages"][1]["content"]


async def test_an_interview_waits_for_everybody_by_default(
    looking: tuple[DrainLab, LookingModel, httpx2.AsyncClient],
) -> None:
    lab, _, client = looking
    at_once = INTERVIEW.replace("SEATS", "{open: true}, {persona: bob}").replace("public_question", "private_question")
    experiment_id = UUID(await created(client, at_once))
    await client.post(f"/v1/experiments/{experiment_id}/start")
    await lab.drain()
    before = await lab.rows("SELECT key FROM asks")
    await lab.join(experiment_id)
    await lab.drain()

    after = await lab.rows("SELECT m.path, k.key FROM asks k JOIN members m ON m.id = k.member_id ORDER BY m.path")
    assert before == []
    assert [(ask.path, ask.key) for ask in after] == [("c1/m1", "task:give"), ("c1/m2", "task:give")]


def _task(messages: Messages) -> str:
    return messages[1]["content"].partition("# Your task")[2]


async def test_an_agent_to_whom_nothing_is_to_be_said_is_shown_what_it_would_be_asked(
    looking: tuple[DrainLab, LookingModel, httpx2.AsyncClient],
) -> None:
    lab, _, client = looking
    experiment_id = await created(client)
    await client.post(f"/v1/experiments/{experiment_id}/start")
    members = {row.path: row.id for row in await lab.rows("SELECT id, path FROM members")}

    talk = (await client.get(f"/v1/members/{members['c1/med1']}/prompt", params={"stage": "race"})).json()
    page = (await client.get(f"/v1/members/{members['c1/m1']}/prompt", params={"stage": "before"})).json()
    info = await client.get(f"/v1/members/{members['c1/m1']}/prompt")

    assert (talk["purpose"], talk["draft_id"]) == ("mediate", None)
    assert "Why?" in page["messages"][1]["content"]
    assert page["reply_schema"]["properties"]
    assert (info.status_code, info.json()["detail"]) == (404, "Nothing is asked of a model here.")


@pytest.mark.parametrize("stage", quick_first(["one", "before", "game"], 1))
async def test_who_has_answered_everything_is_asked_nothing_any_more(
    looking: tuple[DrainLab, LookingModel, httpx2.AsyncClient], stage: str
) -> None:
    lab, _, client = looking
    await client.post(f"/v1/experiments/{await created(client)}/start")
    await lab.drain()
    [ann] = await lab.rows("SELECT id FROM members WHERE path = 'c1/m1'")

    answer = await client.get(f"/v1/members/{ann.id}/prompt", params={"stage": stage})

    assert (answer.status_code, answer.json()["reason"]) == (409, "ask_closed")
    assert "nothing is asked there any more" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"persona": "eve", "stage": "race"}, "'eve'"),
        ({"persona": "ann", "stage": "nowhere"}, "'nowhere'"),
        ({"persona": "ann", "stage": "race", "treatment": "hot"}, "'hot'"),
        ({"persona": "ann", "stage": "welcome"}, "Nothing is asked of a model here."),
    ],
)
async def test_what_there_is_not_is_not_found_and_says_what(
    looking: tuple[DrainLab, LookingModel, httpx2.AsyncClient], asked: dict[str, str], said: str
) -> None:
    _, _, client = looking

    answer = await client.get(f"/v1/experiments/{await created(client)}/prompt", params=asked)

    assert answer.status_code == 404
    assert said in answer.json()["detail"]


async def test_prompts_are_for_the_owner_of_the_experiment(
    looking: tuple[DrainLab, LookingModel, httpx2.AsyncClient],
) -> None:
    lab, _, client = looking
    experiment_id = await created(client)
    await client.post(f"/v1/experiments/{experiment_id}/start")
    await lab.drain()
    [draft, *_] = await lab.rows("SELECT id, member_id FROM drafts")
    async with lab.database.transaction() as session:
        stranger = await keys.create_key(session, "Sam", lab.clock.now())
    addresses = (
        f"/v1/drafts/{draft.id}/prompt",
        f"/v1/members/{draft.member_id}/prompt?stage=race",
        f"/v1/experiments/{experiment_id}/prompt?persona=ann&stage=race",
    )

    refused = await asyncio.gather(
        *(client.get(address, headers={"Authorization": f"Bearer {stranger}"}) for address in addresses)
    )

    assert [answer.status_code for answer in refused] == [404] * 3
    assert (await client.get(f"/v1/drafts/{uuid4()}/prompt")).status_code == 404
    assert (await client.get(f"/v1/members/{UUID(int=0)}/prompt")).status_code == 404


async def test_a_gateway_without_a_prompt_builder_says_so(database: Database) -> None:
    lab = DrainLab(database)
    app = create_app(database, InProcessBus(), lab.clock, GatewaySettings(), environ={})
    async with database.transaction() as session:
        key = await keys.create_key(session, "Ellen", lab.clock.now())
    headers, transport = {"Authorization": f"Bearer {key}"}, httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://lab", headers=headers) as client:
        answer = await client.get(
            f"/v1/experiments/{await created(client)}/prompt", params={"persona": "ann", "stage": "race"}
        )

    assert (answer.status_code, answer.json()["can_retry"]) == (503, True)


async def test_a_stage_is_seen_of_a_stored_file_and_of_one_that_is_only_written(
    looking: tuple[DrainLab, LookingModel, httpx2.AsyncClient],
) -> None:
    _, _, client = looking
    asked = {"stage": "before", "seat": "c1/m1", "treatment": "warm"}
    stored = await client.get(f"/v1/experiments/{await created(client)}/see", params=asked)
    written = await client.post(
        "/v1/experiments/see", params=asked, content=FILE, headers={"Content-Type": "application/yaml"}
    )
    nowhere = await client.post(
        "/v1/experiments/see?seat=c9/m1", content=FILE, headers={"Content-Type": "application/yaml"}
    )

    assert stored.status_code == written.status_code == 200, (stored.text, written.text)
    for found in (stored.json(), written.json()):
        assert "You are warm." in found["prompt"]["messages"][0]["content"]
        assert (found["page"]["kind"], found["me"]["stage_id"], found["made_up"]) == ("survey", "before", ["welcome"])
        assert found["page"]["forms"][0]["form"]
    assert (nowhere.status_code, "c9/m1" in nowhere.json()["detail"]) == (404, True)


async def test_a_persona_without_a_seat_is_shown_the_stage_in_the_place_of_an_agent(
    looking: tuple[DrainLab, LookingModel, httpx2.AsyncClient],
) -> None:
    client = looking[2]
    at = f"/v1/experiments/{await created(client)}/prompt"
    ann = {"profile": {"name": "Ann: [x]"}, "text": "You live in {{town}}."}
    await client.put("/v1/personas/zoe", json={"profile": {"name": "Zoe"}, "text": "You row in {{town}}."})

    async def words_for(persona: object, **more: str) -> str:
        answer = await client.post(at, json={"persona": persona, "stage": "before", **more})
        return "\n".join(one["content"] for one in answer.json()["messages"]) if answer.is_success else answer.text

    own = (await client.get(at, params={"persona": "ann", "stage": "before"})).json()["messages"]
    as_file_has_it = await words_for("ann")

    assert as_file_has_it == "\n".join(one["content"] for one in own)
    assert await words_for({"id": "twin", **ann}) == as_file_has_it
    assert "You row in Frost." in await words_for("zoe")
    assert "No cohort of the treatment 'warm'" in await words_for("zoe", treatment="warm")
    assert "You are new." in await words_for({"id": "ann", "text": "You are new."})
    assert await words_for("ann") == as_file_has_it
    assert "The persona library has no 'nobody'." in await words_for("nobody")
    assert "not_found" in await words_for("zoe", stage="nowhere")
    assert "persona.txt" in await words_for({"id": "new", "txt": "?"})
