"""The floor of people's chats: one FastAPI process that stores a message, its event and their numbers, and tells it."""

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

from benchmarks.floor.tables import Pool

SCHEMA = """
CREATE TABLE members (id uuid PRIMARY KEY, token text NOT NULL UNIQUE, cohort_id uuid NOT NULL);
CREATE TABLE threads (id uuid PRIMARY KEY, last_seq int NOT NULL DEFAULT 0);
CREATE TABLE messages (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    thread_id uuid NOT NULL,
    seq int NOT NULL,
    member_id uuid NOT NULL,
    client_key text NOT NULL,
    text text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (thread_id, seq),
    UNIQUE (thread_id, member_id, client_key)
);
CREATE TABLE streams (cohort_id uuid PRIMARY KEY, last bigint NOT NULL DEFAULT 0);
CREATE TABLE events (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cohort_id uuid NOT NULL,
    stream_seq bigint NOT NULL,
    type text NOT NULL,
    payload jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (cohort_id, stream_seq)
);
"""
_SAY = """
WITH author AS (SELECT id, cohort_id FROM members WHERE token = %(token)s AND cohort_id = %(thread)s),
    thread AS (
        UPDATE threads SET last_seq = last_seq + 1 FROM author WHERE threads.id = author.cohort_id
        RETURNING threads.id, last_seq
    ), said AS (
        INSERT INTO messages (thread_id, seq, member_id, client_key, text)
        SELECT thread.id, last_seq, author.id, %(key)s, %(text)s FROM thread, author RETURNING seq
    ), counted AS (
        UPDATE streams SET last = last + 1 FROM said WHERE cohort_id = %(thread)s RETURNING last
    )
INSERT INTO events (cohort_id, stream_seq, type, payload)
SELECT %(thread)s, counted.last, 'message.created', %(payload)s FROM counted, said
RETURNING stream_seq, (SELECT seq FROM said)
"""
SIZE = int(os.environ.get("FLOOR_GROUP_SIZE", "4"))
seats: dict[str, int] = {"taken": 0}
groups: list[UUID] = []
pools: list[Pool] = []
listeners: defaultdict[UUID, set[asyncio.Queue[bytes]]] = defaultdict(set)
cohorts: dict[str, UUID] = {}


class Join(BaseModel):
    join_key: str
    external_id: str | None = None


class Message(BaseModel):
    text: str = Field(max_length=10_000)
    client_message_id: str


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


@app.post("/v1/join/{code}", status_code=201)
async def join(code: str, body: Join) -> dict[str, Any]:
    seat, token = seats["taken"], secrets.token_urlsafe(24)
    seats["taken"] += 1
    if seat % SIZE == 0:
        groups.append(uuid4())
    async with pools[0].lend() as connection, connection.transaction():
        if seat % SIZE == 0:
            await connection.execute("INSERT INTO threads (id) VALUES (%s)", (groups[seat // SIZE],))
            await connection.execute("INSERT INTO streams (cohort_id) VALUES (%s)", (groups[seat // SIZE],))
        cohort_id = groups[seat // SIZE]
        await connection.execute("INSERT INTO members VALUES (%s, %s, %s)", (uuid4(), token, cohort_id))
    cohorts[token] = cohort_id
    return {"token": token, "me": {"cohort_id": cohort_id, "cursor": f"{cohort_id}:0"}}


@app.get("/v1/me/stages/{stage_id}")
async def stage(stage_id: str, authorization: Bearer) -> dict[str, Any]:
    return {"stage_id": stage_id, "state": "current", "thread": {"id": _cohort(authorization)}}


@app.post("/v1/me/threads/{thread_id}/messages", status_code=201)
async def say(thread_id: UUID, body: Message, authorization: Bearer) -> dict[str, Any]:
    payload = {"text": body.text, "thread_id": str(thread_id)}
    said = {"token": _token(authorization), "thread": thread_id, "key": body.client_message_id, "text": body.text}
    async with pools[0].lend() as connection:
        told = await connection.execute(_SAY, {**said, "payload": Jsonb(payload)})
        row = await told.fetchone()
    if row is None:
        raise HTTPException(404)
    number, seq = row
    data = orjson.dumps({"data": {**payload, "seq": seq}})
    frame = b"id: %b:%d\nevent: message.created\ndata: %b\n\n" % (str(thread_id).encode(), number, data)
    for queue in listeners[thread_id]:
        queue.put_nowait(frame)
    return {**payload, "seq": seq}


@app.get("/v1/me/stream")
async def stream(authorization: Bearer) -> StreamingResponse:
    queue: asyncio.Queue[bytes] = asyncio.Queue()
    cohort_id = _cohort(authorization)
    listeners[cohort_id].add(queue)
    return StreamingResponse(_follow(cohort_id, queue), media_type="text/event-stream")


async def _follow(cohort_id: UUID, queue: asyncio.Queue[bytes]) -> AsyncGenerator[bytes]:
    try:
        yield b"retry: 2000\n\n"
        while True:
            yield await queue.get()
    finally:
        listeners[cohort_id].discard(queue)


def _cohort(authorization: str) -> UUID:
    try:
        return cohorts[_token(authorization)]
    except KeyError:
        raise HTTPException(401) from None


def _token(authorization: str) -> str:
    return authorization.removeprefix("Bearer ")


if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ["FLOOR_GATEWAY_PORT"]), loop="uvloop", log_level="warning", access_log=False)
