"""The floor of people's pages: one FastAPI process that answers the requests of a survey page and stores their rows."""

import asyncio
import os
import secrets
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any
from uuid import UUID, uuid4

import orjson
import uvicorn
from fastapi import FastAPI, Header, HTTPException
from fastapi.responses import StreamingResponse
from psycopg.types.json import Jsonb, set_json_dumps
from pydantic import BaseModel, Field

from benchmarks.floor.tables import Connection, Pool

SCHEMA = """
CREATE TABLE members (
    id uuid PRIMARY KEY,
    cohort_id uuid NOT NULL,
    token text NOT NULL UNIQUE,
    join_key text NOT NULL UNIQUE,
    position int NOT NULL DEFAULT 0,
    joined_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE cohorts (id uuid PRIMARY KEY, started_at timestamptz NOT NULL DEFAULT now(), ended_at timestamptz);
CREATE TABLE cohort_stages (
    cohort_id uuid NOT NULL,
    stage_id text NOT NULL,
    unlocked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (cohort_id, stage_id)
);
CREATE TABLE presence (member_id uuid PRIMARY KEY, since timestamptz NOT NULL DEFAULT now());
CREATE TABLE streams (cohort_id uuid PRIMARY KEY, last bigint NOT NULL);
CREATE TABLE events (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cohort_id uuid NOT NULL,
    stream_seq bigint NOT NULL,
    type text NOT NULL,
    subject_id uuid NOT NULL,
    payload jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (cohort_id, stream_seq)
);
CREATE TABLE answers (
    member_id uuid NOT NULL,
    stage_id text NOT NULL,
    cohort_id uuid NOT NULL,
    value jsonb NOT NULL,
    written_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (member_id, stage_id)
);
CREATE INDEX ON answers (cohort_id, stage_id);
CREATE TABLE partial_answers (
    member_id uuid NOT NULL,
    stage_id text NOT NULL,
    value jsonb NOT NULL,
    saved_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (member_id, stage_id)
);
"""
OLD = """
INSERT INTO members (id, cohort_id, token, join_key, position)
    SELECT gen_random_uuid(), gen_random_uuid(), 'old' || n, 'old' || n, {pages} FROM generate_series(1, {members}) n;
INSERT INTO cohorts (id, ended_at) SELECT cohort_id, now() FROM members;
INSERT INTO cohort_stages (cohort_id, stage_id)
    SELECT cohort_id, 'p' || n FROM members, generate_series(0, {pages} - 1) n;
INSERT INTO presence (member_id) SELECT id FROM members;
INSERT INTO streams (cohort_id, last) SELECT cohort_id, 2 * {pages} FROM members;
INSERT INTO answers (member_id, stage_id, cohort_id, value)
    SELECT id, 'p' || n, cohort_id, '{{"mood": 4, "why": "Because of the bus that never came.", "ticked": true}}'
    FROM members, generate_series(0, {pages} - 1) n;
INSERT INTO events (cohort_id, stream_seq, type, subject_id, payload)
    SELECT cohort_id, n, 'member.advanced', id, '{{"from": 1}}' FROM members, generate_series(1, 2 * {pages}) n;
"""
_EVENTS = """
WITH told AS (SELECT * FROM unnest(%(types)s::text[]) WITH ORDINALITY AS told (type, number)),
    counted AS (
        UPDATE streams SET last = last + (SELECT count(*) FROM told) WHERE cohort_id = %(cohort)s RETURNING last
    )
INSERT INTO events (cohort_id, stream_seq, type, subject_id, payload)
SELECT %(cohort)s, last - (SELECT count(*) FROM told) + number, type, %(member)s, %(payload)s FROM counted, told
RETURNING stream_seq
"""
_UNLOCK = "INSERT INTO cohort_stages (cohort_id, stage_id) VALUES (%s, %s)"
_END = "UPDATE cohorts SET ended_at = now() WHERE id = %s"
_ME = "SELECT m.id, m.cohort_id, m.position, s.last FROM members m JOIN streams s USING (cohort_id) WHERE m.token = %s"
_SAVE = """
INSERT INTO partial_answers (member_id, stage_id, value) SELECT id, %s, %s FROM members WHERE token = %s
ON CONFLICT (member_id, stage_id) DO UPDATE SET value = excluded.value, saved_at = now()
"""
_MOVE = """
UPDATE members SET position = position + 1 WHERE token = %s AND position = %s RETURNING id, cohort_id, position
"""
PAGES = int(os.environ.get("FLOOR_PAGES", "10"))
QUESTIONS: list[dict[str, Any]] = [
    {"id": "mood", "kind": "scale", "title": "How do you feel?", "lower": 1, "upper": 7},
    {"id": "why", "kind": "text", "title": "Why?"},
    {"id": "ticked", "kind": "check", "title": "I have read this."},
]


class Join(BaseModel):
    join_key: str
    external_id: str | None = None


class Answer(BaseModel):
    mood: int = Field(ge=1, le=7)
    why: str = Field(max_length=10_000)
    ticked: bool


class Answered(BaseModel):
    answer: Answer


class Draft(BaseModel):
    answer: dict[str, Any]


class Me(BaseModel):
    member_id: UUID
    cohort_id: UUID
    cursor: str
    stage_id: str | None
    is_over: bool
    stages: list[dict[str, str]]


class Page(BaseModel):
    stage_id: str
    kind: str = "survey"
    state: str
    questions: list[dict[str, Any]] = QUESTIONS
    saved: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None


class Joined(BaseModel):
    token: str
    me: Me


class Moved(BaseModel):
    me: Me
    page: Page | None


pools: list[Pool] = []
listeners: defaultdict[UUID, set[asyncio.Queue[bytes]]] = defaultdict(set)


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    set_json_dumps(orjson.dumps)
    pools.append(await Pool.open(os.environ["FLOOR_DATABASE_URL"], 20))
    yield


app = FastAPI(lifespan=lifespan)
Bearer = Annotated[str, Header(alias="authorization")]


@app.get("/readyz")
async def get_readyz() -> dict[str, str]:
    return {"status": "ready"}


@app.get("/v1/join/{code}")
async def get_link(code: str) -> dict[str, str]:
    return {"title": "Study", "text": "Please take part.", "state": "open", "code": code}


@app.post("/v1/join/{code}", status_code=201)
async def join(code: str, body: Join) -> Joined:
    member_id, cohort_id, token = uuid4(), uuid4(), secrets.token_urlsafe(24)
    async with pools[0].lend() as connection, connection.transaction(), connection.pipeline():
        insert = "INSERT INTO members (id, cohort_id, token, join_key) VALUES (%s, %s, %s, %s)"
        await connection.execute(insert, (member_id, cohort_id, token, body.join_key))
        await connection.execute("INSERT INTO cohorts (id) VALUES (%s)", (cohort_id,))
        await connection.execute("INSERT INTO streams VALUES (%s, 0)", (cohort_id,))
        await connection.execute(_UNLOCK, (cohort_id, "p0"))
        types = ["cohort.started", "member.joined", "stage.unlocked"]
        await connection.execute(_EVENTS, _told(cohort_id, member_id, types, {"code": code}))
    return Joined(token=token, me=_me(member_id, cohort_id, 0, len(types)))


@app.get("/v1/me")
async def who_am_i(authorization: Bearer) -> Me:
    async with pools[0].lend() as connection:
        return _me(*await _standing(connection, authorization))


@app.get("/v1/me/appearance")
async def appearance(authorization: Bearer) -> dict[str, str]:
    async with pools[0].lend() as connection:
        await _standing(connection, authorization)
    return {"accent": "#005f99"}


@app.get("/v1/me/stages/{stage_id}")
async def stage(stage_id: str, authorization: Bearer) -> Page:
    async with pools[0].lend() as connection:
        member_id, _, position, _ = await _standing(connection, authorization)
        saved = await (await connection.execute(_of("partial_answers"), (member_id, stage_id))).fetchone()
        given = await (await connection.execute(_of("answers"), (member_id, stage_id))).fetchone()
    page = _page(position)
    if page is None or page.stage_id != stage_id:
        raise HTTPException(409)
    return page.model_copy(update={"saved": saved and saved[0], "answer": given and given[0]})


@app.put("/v1/me/stages/{stage_id}/answer", status_code=204)
async def save(stage_id: str, body: Draft, authorization: Bearer) -> None:
    async with pools[0].lend() as connection:
        await connection.execute(_SAVE, (stage_id, Jsonb(body.answer), _token(authorization)))


@app.post("/v1/me/stages/{stage_id}/advance")
async def advance(stage_id: str, body: Answered, authorization: Bearer) -> Moved:
    async with pools[0].lend() as connection, connection.transaction():
        found = await connection.execute(_MOVE, (_token(authorization), int(stage_id[1:])))
        row = await found.fetchone()
        if row is None:
            raise HTTPException(409)
        member_id, cohort_id, position = row
        async with connection.pipeline():
            insert = "INSERT INTO answers (member_id, stage_id, cohort_id, value) VALUES (%s, %s, %s, %s)"
            await connection.execute(insert, (member_id, stage_id, cohort_id, Jsonb(body.answer.model_dump())))
            delete = "DELETE FROM partial_answers WHERE member_id = %s AND stage_id = %s"
            await connection.execute(delete, (member_id, stage_id))
            if position < PAGES:
                await connection.execute(_UNLOCK, (cohort_id, f"p{position}"))
            else:
                await connection.execute(_END, (cohort_id,))
            types = ["member.advanced", "stage.unlocked" if position < PAGES else "cohort.ended"]
            told = await connection.execute(_EVENTS, _told(cohort_id, member_id, types, {"to": position}))
        numbers = [number for (number,) in await told.fetchall()]
    for number, type_ in zip(numbers, types, strict=True):
        frame = f"id: {cohort_id}:{number}\nevent: {type_}\ndata: {{}}\n\n".encode()
        for queue in listeners[cohort_id]:
            queue.put_nowait(frame)
    return Moved(me=_me(member_id, cohort_id, position, numbers[-1]), page=_page(position))


@app.get("/v1/me/stream")
async def stream(authorization: Bearer, last_event_id: Annotated[str, Header()]) -> StreamingResponse:
    query = "SELECT stream_seq FROM events WHERE cohort_id = %s AND stream_seq > %s"
    queue: asyncio.Queue[bytes] = asyncio.Queue()
    async with pools[0].lend() as connection:
        member_id, cohort_id, _, _ = await _standing(connection, authorization)
        come = "INSERT INTO presence (member_id) VALUES (%s) ON CONFLICT (member_id) DO UPDATE SET since = now()"
        await connection.execute(come, (member_id,))
        # Before it is looked what was missed, so that nothing falls in between.
        listeners[cohort_id].add(queue)
        missed = await connection.execute(query, (cohort_id, int(last_event_id.rpartition(":")[2])))
        for (seq,) in await missed.fetchall():
            queue.put_nowait(f"id: {cohort_id}:{seq}\ndata: {{}}\n\n".encode())
    return StreamingResponse(_follow(cohort_id, queue), media_type="text/event-stream")


async def _follow(cohort_id: UUID, queue: asyncio.Queue[bytes]) -> AsyncGenerator[bytes]:
    try:
        yield b"retry: 2000\n\n"
        while True:
            yield await queue.get()
    finally:
        listeners[cohort_id].discard(queue)
        if not listeners[cohort_id]:
            del listeners[cohort_id]


async def _standing(connection: Connection, authorization: str) -> tuple[UUID, UUID, int, int]:
    row = await (await connection.execute(_ME, (_token(authorization),))).fetchone()
    if row is None:
        raise HTTPException(401)
    return row[0], row[1], row[2], row[3]


def _told(cohort_id: UUID, member_id: UUID, types: list[str], payload: dict[str, Any]) -> dict[str, Any]:
    return {"cohort": cohort_id, "member": member_id, "types": types, "payload": Jsonb(payload)}


def _token(authorization: str) -> str:
    return authorization.removeprefix("Bearer ")


def _of(table: str) -> Any:
    return f"SELECT value FROM {table} WHERE member_id = %s AND stage_id = %s"  # noqa: S608 - of this module


def _me(member_id: UUID, cohort_id: UUID, position: int, cursor: int) -> Me:
    states = [(f"p{n}", "done" if n < position else "current" if n == position else "locked") for n in range(PAGES)]
    return Me(
        member_id=member_id,
        cohort_id=cohort_id,
        cursor=f"{cohort_id}:{cursor}",
        stage_id=f"p{position}" if position < PAGES else None,
        is_over=position >= PAGES,
        stages=[{"id": name, "kind": "survey", "state": state} for name, state in states],
    )


def _page(position: int) -> Page | None:
    return Page(stage_id=f"p{position}", state="current") if position < PAGES else None


if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ["FLOOR_GATEWAY_PORT"]), loop="uvloop", log_level="warning", access_log=False)
