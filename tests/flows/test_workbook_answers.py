"""What becomes of the answers to the questions of workbooks: asked again, kept, flagged."""

from typing import Any

import pytest

from parley_lab.agent_worker.models import build_models
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.formats.testing.workbooks import base_values, sheets_of, task_row, with_setting
from parley_lab.formats.workbook import compile_workbook, read
from parley_lab.store.session import Database
from parley_lab.testing.fake_endpoint import FakeEndpoint
from tests.flows.drain import DrainLab
from tests.flows.interviewing import Telling, document, kept, run, statuses

pytestmark = pytest.mark.postgres


def one_question(**fields: Any) -> str:
    values = with_setting(base_values(), max_conversation_length=1000)
    values["interview_prompts"][2:] = [task_row("n", llm_text="How many? {response_options}", **fields)]
    (experiment,) = compile_workbook(read(sheets_of(values)), sessions=1)
    return document(experiment)


async def test_an_answer_that_is_no_option_is_asked_again_with_the_reason_until_it_is_one(database: Database) -> None:
    tries = ["7", "I choose 2.", "9", "2."]
    model = Telling(lambda _, attempt: tries[attempt - 1])

    lab = await run(database, one_question(response_options="[1, 2, 3]", validate_response=1), model)

    assert len(model.requests) == 3 * 4
    assert "one of: 1, 2, 3" in model.requests[-1].messages[-1].content
    entries = [row for row in await kept(lab) if row[1] == "task:n"]
    assert [(value["response"], value["value"], valid) for _, _, value, valid in entries] == [("2.", 2, True)] * 3


async def test_after_five_attempts_the_last_answer_is_kept_and_flagged(database: Database) -> None:
    model = Telling(lambda _, attempt: f"two, for the {attempt}. time")

    lab = await run(database, one_question(response_options="[1, 2, 3]", validate_response=1), model)

    assert len(model.requests) == 3 * 5
    entries = [row for row in await kept(lab) if row[1] == "task:n"]
    assert [(value["response"], value["value"], value["valid"], valid) for _, _, value, valid in entries] == [
        ("two, for the 5. time", None, False, False)
    ] * 3
    assert await statuses(lab) == {"completed"}


async def test_without_validation_there_is_one_call(database: Database) -> None:
    model = Telling(lambda _, attempt: "two")

    lab = await run(database, one_question(response_options="[1, 2, 3]"), model)

    assert len(model.requests) == 3
    entries = [value for _, key, value, _ in await kept(lab) if key == "task:n"]
    assert [(value["response"], value["valid"]) for value in entries] == [("two", False)] * 3


@pytest.mark.parametrize(("typed", "value"), [(2, 2), ("2", 2), (2.0, 2)], ids=repr)
async def test_a_number_is_an_answer_whether_or_not_it_is_in_quotes(
    database: Database, typed: object, value: int
) -> None:
    fields = {"var_type": "integer", "generate_speculation_score": 1, "format_response": 1}

    lab = await run(
        database,
        one_question(response_options="(1, 3)", validate_response=1, **fields),
        Telling(lambda _, attempt: typed),
    )

    pages = await lab.rows("SELECT value FROM answers WHERE key = ''")
    entries = [row.value["n"] for row in pages]
    assert [(entry["value"], entry["reasoning"], entry["speculation_score"]) for entry in entries] == [
        (value, "because", 10)
    ] * 3


@pytest.mark.parametrize(
    ("said", "calls", "entry"),
    [
        ("2", 1, ("2", 2, True, None)),
        ("```\n2.0\n```", 1, ("```\n2.0\n```", 2, True, None)),
        ("2\nSpeculation Score: 30", 1, ("2", 2, True, 30)),
        ('{"response": 2, "speculation_score": 30}', 1, ("2", 2, True, 30)),
        ("99 but maybe 3", 5, ("99 but maybe 3", None, False, None)),
        ('{"response": 2, "speculati', 5, ('{"response": 2, "speculati', None, False, None)),
    ],
)
async def test_an_inference_endpoint_may_say_its_answer_in_an_object_or_in_plain_text(
    database: Database, said: str, calls: int, entry: tuple[str, int | None, bool, int | None]
) -> None:
    async with FakeEndpoint(replies=lambda _: said) as endpoint:
        text = at_endpoint(endpoint.base_url, generate_speculation_score=1, response_options="[1, 2, 3]")
        models = build_models({"HF_API_KEY": "hf_any_text"})
        lab = DrainLab(database, models=models)
        await lab.start(text)

        await lab.drain()
        await models["hf-inference"].aclose()

        assert len(endpoint.calls) == 3 * calls
        assert {call["model"] for call in endpoint.calls} == {"tgi"}
    entries = [value for _, key, value, _ in await kept(lab) if key == "task:n"]
    names = ("response", "value", "valid", "speculation_score")
    assert [tuple(value[name] for name in names) for value in entries] == [entry] * 3


@pytest.mark.parametrize("score", [0, 1])
@pytest.mark.parametrize("said", ["I give 3.", '{"offer": 3}', 'Say {"offer": 3}, and {mind} the rest.'])
async def test_where_responses_are_not_formatted_a_plain_text_is_asked_for_and_kept_as_it_is(
    database: Database, said: str, score: int
) -> None:
    async with FakeEndpoint(replies=lambda _: said + "\nSpeculation Score: 30" * score) as endpoint:
        text = at_endpoint(endpoint.base_url, generate_speculation_score=score, validate_response=0)
        models = build_models({"HF_API_KEY": "hf_any_text"})
        lab = DrainLab(database, models=models)
        await lab.start(text)

        await lab.drain()
        await models["hf-inference"].aclose()

        assert len(endpoint.calls) == 3
        for call in endpoint.calls:
            told = call["messages"][-1]["content"].partition("# Your reply")[2]
            assert "plain text" in told
            assert "JSON object" not in told
            assert ("Speculation Score" in told) == bool(score)
    entries = [value for _, key, value, _ in await kept(lab) if key == "task:n"]
    assert [(one["response"], one["speculation_score"]) for one in entries] == [(said, 30 if score else None)] * 3


async def test_a_plain_text_that_was_cut_off_is_no_answer(database: Database) -> None:
    cut = ModelReply(status="invalid", raw="I would give thr", finish_reason="length", error="the reply was cut off")
    model = Telling()
    model.reply = lambda request: _given(cut if request.path.endswith("call:1") else None, request)  # type: ignore[method-assign]

    lab = await run(database, one_question(), model)

    entries = [value for _, key, value, _ in await kept(lab) if key == "task:n"]
    assert [one["response"] for one in entries] == ["Three."] * 3


async def _given(reply: ModelReply | None, request: ModelRequest) -> ModelReply:
    assert request.is_text
    return reply or ModelReply(status="invalid", raw="Three.", finish_reason="stop", error="not a JSON object")


def at_endpoint(address: str, **fields: Any) -> str:
    """One session of three who are asked one question by real models at this address."""
    values = with_setting(base_values(), max_conversation_length=1000, model_info="hf-inference", api_endpoint=address)
    values["interview_prompts"][2:] = [
        task_row("n", llm_text="How many? {response_options}", **{"validate_response": 1, **fields})
    ]
    (experiment,) = compile_workbook(read(sheets_of(values)), sessions=1)
    return experiment.model_copy(update={"model_mode": "real"}).model_dump_json()
