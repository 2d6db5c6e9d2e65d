"""What the data of an experiment hold, and what they do not."""

import csv
import io
import json
import zipfile
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.data import exports
from parley_lab.data.export_sections import by
from parley_lab.formats.exports import natural, without_ids_and_clocks
from parley_lab.gateway.testing import FILE, Api
from parley_lab.store import keys


async def _exported(api: Api, experiment_id: str, **params: str) -> dict[str, bytes]:
    answer = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export", params=params)
    assert answer.status_code == 200, answer.text
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


async def _a_run(api: Api) -> str:
    experiment_id = await api.running()
    ada, bo = [await api.to_the_talk(experiment_id, name) for name in ("Ada", 'Bo, "B"\nthe second')]
    address = f"/v1/me/threads/{await api.thread(ada)}/messages"
    said = await api.participant(ada, "POST", address, json={"text": '=1+1;\n"ä"', "client_message_id": "m-1"})
    await api.participant(
        bo, "POST", address, json={"text": "Hi", "client_message_id": "m-1", "reply_to": said.json()["id"]}
    )
    for token in (bo, ada):
        await api.participant(token, "PUT", f"/v1/me/messages/{said.json()['id']}/reactions/heart")
    for token in (ada, bo):
        await api.advance(token, "talk")
        await api.settle(experiment_id)
    await api.advance(ada, "after", {"again": "yes"})
    await api.settle(experiment_id)
    return experiment_id


def _table(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


async def test_the_export_has_everything(api: Api) -> None:
    files = await _exported(api, await _a_run(api))

    everything = json.loads(files["data.json"])
    participants = _table(files["participants.csv"])
    answers = _table(files["answers.csv"])
    messages = _table(files["messages.csv"])
    manifest = json.loads(files["manifest.json"])
    assert sorted(files) == [
        "answers.csv",
        "data.json",
        "manifest.json",
        "members.csv",
        "messages.csv",
        "model_calls.csv",
        "participants.csv",
        "payments.csv",
    ]
    assert [one["path"] for one in everything["members"]] == ["c1/m1", "c1/m2"]
    assert everything["experiment"]["document"]["name"] == FILE["name"]
    assert {one["type"] for one in everything["events"]} >= {"member.moved", "message.created", "stage.unlocked"}
    assert [(one["name"], one["before.age"], one["after.again"]) for one in participants] == [
        ("Ada", "33", "yes"),
        ('Bo, "B"\nthe second', "33", ""),
    ]
    assert participants[0]["status"] == "completed"
    assert participants[1]["stage"] == "after"
    assert [(one["path"], one["stage"], one["field"], one["value"]) for one in answers][:4] == [
        ("c1/m1", "welcome", "", ""),
        ("c1/m1", "before", "age", "33"),
        ("c1/m1", "before", "why", "Curious"),
        ("c1/m1", "talk", "", ""),
    ]
    assert [one["text"] for one in messages][:2] == ['=1+1;\n"ä"', "Hi"]
    assert messages[1]["reply_to_seq"] == "1"
    assert (messages[1]["reply_to_author_path"], messages[1]["reply_to_text"]) == ("c1/m1", messages[0]["text"])
    assert json.loads(messages[0]["reactions"]) == {"heart": ["c1/m1", "c1/m2"]}
    assert [(one["member_path"], one["message_seq"]) for one in everything["reactions"]] == [("c1/m1", 1), ("c1/m2", 1)]
    assert messages[0]["created_at"].endswith("Z")
    assert {row["model_mode"] for table in (participants, answers, messages) for row in table} == {"mock"}
    assert files["model_calls.csv"].decode().startswith("experiment_id,made_up,model_mode,")
    assert everything["model_mode"] == manifest["model_mode"] == "mock"
    assert manifest["rows"]["participants.csv"] == 2
    assert manifest["seed"] == 3
    assert b"NaN" not in files["data.json"]


async def test_no_secret_is_exported(api: Api) -> None:
    experiment_id = await _a_run(api)
    async with api.database.transaction() as session:
        rows = await session.all(text("SELECT token_hash FROM members WHERE token_hash IS NOT NULL"))
        hashes = [row.token_hash for row in rows]

    files = await _exported(api, experiment_id)

    everything = b"".join(files.values()).decode()
    assert len(hashes) == 2
    assert not any(secret in everything for secret in (*hashes, api.key, keys.hash_key(api.key)))


async def test_two_runs_export_the_same_but_for_ids_and_clocks(api: Api) -> None:
    first = await _exported(api, await _a_run(api))
    api.clock.advance(77)
    second = await _exported(api, await _a_run(api))

    assert first != second
    for name in first:
        assert without_ids_and_clocks(name, first[name]) == without_ids_and_clocks(name, second[name]), name


async def test_one_kind_of_files_can_be_asked_for(api: Api) -> None:
    experiment_id = await api.running()

    as_json = await _exported(api, experiment_id, format="json")
    as_csv = await _exported(api, experiment_id, format="csv")

    assert sorted(as_json) == ["data.json", "manifest.json"]
    assert "data.json" not in as_csv
    assert len(as_csv) == 6


async def test_exports_count_ten_after_two(api: Api) -> None:
    experiment_id = await api.running(cohorts=[{"seats": [{"open": True, "count": 11}], "count": 11}])

    files = await _exported(api, experiment_id, format="csv")

    paths = [one["path"] for one in _table(files["participants.csv"])]
    assert paths == [f"c{cohort}/m{seat}" for cohort in range(1, 12) for seat in range(1, 12)]


async def test_a_draft_can_be_exported(api: Api) -> None:
    created = await api.experimenter("POST", "/v1/experiments", json=FILE)

    files = await _exported(api, created.json()["id"])

    assert json.loads(files["data.json"])["members"] == []
    assert json.loads(files["manifest.json"])["status"] == "draft"


async def test_tables_have_texts_marks_scores_attributes_and_levels(api: Api) -> None:
    options = [{"id": "a", "text": "Bonn"}, {"id": "b", "text": "Berlin"}]
    questions = [
        {"id": "capital", "kind": "choice", "title": "Capital?", "options": options, "correct": "b"},
        {"id": "former", "kind": "choice", "title": "Former capital?", "options": options, "correct": "a"},
        {"id": "nicer", "kind": "choice", "title": "The nicer one?", "options": options},
    ]
    experiment_id = await api.running(
        stages=[{"id": "quiz", "kind": "survey", "questions": questions}],
        personas=[{"id": "ben", "attributes": {"age": 41}}],
        cohorts=[{"seats": [{"open": True}, {"persona": "ben"}]}],
        treatments=[{"id": "loss-short", "levels": {"framing": "loss", "length": "short"}}],
    )
    token = await api.join(experiment_id)
    await api.advance(token, "quiz", {"capital": "b", "former": "b", "nicer": "a"})

    files = await _exported(api, experiment_id, format="csv")

    (ada, ben), answers = _table(files["participants.csv"]), _table(files["answers.csv"])
    wanted = ("quiz.capital", "quiz.capital.text", "quiz.capital.correct", "quiz.former.correct", "quiz.score")
    assert [ada[name] for name in wanted] == ["b", "Berlin", "true", "false", "1"]
    assert "quiz.nicer.correct" not in ada
    assert (ada["attribute.age"], ben["attribute.age"], ben["quiz.score"]) == ("", "41", "")
    assert {(row["factor.framing"], row["factor.length"]) for row in (ada, ben, *answers)} == {("loss", "short")}
    assert [(row["field"], row["value"], row["text"], row["correct"]) for row in answers] == [
        ("capital", "b", "Berlin", "true"),
        ("former", "b", "Berlin", "false"),
        ("nicer", "a", "Bonn", ""),
    ]


async def test_labels_and_texts_of_options_are_as_the_participant_read_them(api: Api) -> None:
    like = {
        "id": "like",
        "kind": "choice",
        "title": "How do you like {{city}}?",
        "options": [{"id": "much", "text": "{{city}} is fine"}, {"id": "little", "text": "Not at all"}],
    }
    why = {"id": "why", "kind": "text", "title": "You said {{answers.first.like.text}}: why?"}
    experiment_id = await api.running(
        assigned=[{"id": "city", "kind": "balanced", "values": ["Rome", "Oslo"]}],
        stages=[
            {"id": "first", "kind": "survey", "questions": [like]},
            {"id": "second", "kind": "survey", "questions": [why]},
        ],
        cohorts=[{"seats": [{"open": True}], "count": 2}],
    )
    for name in ("Ada", "Bo"):
        token = await api.join(experiment_id, name)
        for stage_id, answer in (("first", {"like": "much"}), ("second", {"why": "Because"})):
            assert (await api.advance(token, stage_id, answer)).status_code == 200
            await api.settle(experiment_id)

    files = await _exported(api, experiment_id)

    answers = _table(files["answers.csv"])
    assert {(one["label"], one["text"]) for one in answers if one["field"] == "like"} == {
        (f"How do you like {city}?", f"{city} is fine") for city in ("Rome", "Oslo")
    }
    assert {one["label"] for one in answers if one["field"] == "why"} == {
        f"You said {city} is fine: why?" for city in ("Rome", "Oslo")
    }
    assert {one["first.like.text"] for one in _table(files["participants.csv"])} == {"Rome is fine", "Oslo is fine"}


# As a member leaves them who was moved to another cohort and back on a page: three asks for one answer.
_THREE_ASKS = """
    WITH ask AS (
        INSERT INTO asks (id, path, cohort_id, stage_id, member_id, key, generation, purpose, state, reason, opened_at)
        SELECT gen_random_uuid(), 'ask' || n, cohort_id, 'before', id, '', n, 'page', 'failed', 'the reason of ' || n,
            created_at
        FROM members CROSS JOIN generate_series(1, 3) n WHERE path = 'c1/m1' RETURNING *
    ), draft AS (
        INSERT INTO drafts (id, path, cohort_id, stage_id, member_id, ask_id, purpose, provider, state, not_before,
            created_at)
        SELECT gen_random_uuid(), path, cohort_id, stage_id, member_id, id, purpose, 'mock', 'failed', opened_at,
            opened_at
        FROM ask RETURNING *
    )
    INSERT INTO model_calls (id, draft_id, attempt, path, provider, model_asked, model_mode, settings, prompt,
        prompt_hash, status, started_at, finished_at)
    SELECT gen_random_uuid(), d.id, n, d.path || n, 'mock', 'mock', 'mock', '{}', '[]', '', 'ok', d.created_at,
        d.created_at
    FROM draft d JOIN ask a ON a.id = d.ask_id CROSS JOIN generate_series(1, a.generation) n
"""


async def test_an_answer_that_was_asked_for_again_has_all_its_calls_and_the_last_reason(api: Api) -> None:
    experiment_id = await _a_run(api)
    async with api.database.transaction() as session:
        await session.run(text(_THREE_ASKS))

    async with exports.snapshot(api.database) as session:
        rows = [row async for row in exports.answers(session, UUID(experiment_id), with_pages=False)]

    (before,) = [row for row in rows if (row["path"], row["stage"]) == ("c1/m1", "before")]
    assert (before["attempts"], before["reasons"]) == ({"": 6}, {"": "the reason of 3"})


@pytest.mark.parametrize(
    "paths",
    [
        [f"c{number}/m{seat}" for number in (1, 2, 9, 10, 11, 99, 100, 1000) for seat in (1, 2, 10, 21)],
        ["c7/m1", "c007/m2", "c07/m3", "a123456789", "a12345678", "a1", "b", "b-2", "b-10"],
    ],
)
async def test_rows_are_sorted_by_their_numbers_as_numbers(api: Api, paths: list[str]) -> None:
    statement = text(f"SELECT x.path FROM unnest(CAST(:paths AS text[])) x(path) ORDER BY {by('x.path')}")  # noqa: S608

    async with api.database.transaction() as session:
        rows = await session.all(statement, {"paths": paths[::-1]})

    assert [natural(row.path) for row in rows] == sorted(map(natural, paths))
