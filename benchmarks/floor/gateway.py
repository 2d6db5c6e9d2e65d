"""The floor's first process: one FastAPI route that stores a message and publishes its id with confirm."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import aio_pika
import orjson
import uvicorn
from aio_pika.abc import AbstractExchange
from fastapi import FastAPI
from pydantic import BaseModel

from benchmarks.floor.tables import Pool

_INSERT = "INSERT INTO messages (thread_id, author, text) VALUES (%s, 'person', %s) RETURNING id"


class NewMessage(BaseModel):
    text: str
    client_message_id: str


class Posted(BaseModel):
    id: int


class Wiring:
    """What the route needs, opened when the process starts."""

    pool: Pool
    exchange: AbstractExchange


wiring = Wiring()


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    wiring.pool = await Pool.open(os.environ["FLOOR_DATABASE_URL"], 20)
    connection = await aio_pika.connect(os.environ["FLOOR_AMQP_URL"])
    channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
    wiring.exchange = channel.default_exchange
    yield
    await connection.close()


app = FastAPI(lifespan=lifespan)


@app.get("/readyz")
async def get_readyz() -> dict[str, str]:
    return {"status": "ready"}


@app.post("/threads/{thread_id}/messages", status_code=201)
async def post_message(thread_id: UUID, message: NewMessage) -> Posted:
    async with wiring.pool.lend() as connection:
        row = await (await connection.execute(_INSERT, (thread_id, message.text))).fetchone()
    assert row is not None
    body = orjson.dumps({"thread_id": thread_id, "message_id": row[0]})
    await wiring.exchange.publish(
        aio_pika.Message(body, delivery_mode=aio_pika.DeliveryMode.PERSISTENT), routing_key=os.environ["FLOOR_QUEUE"]
    )
    return Posted(id=row[0])


if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ["FLOOR_GATEWAY_PORT"]), loop="uvloop", log_level="warning", access_log=False)
