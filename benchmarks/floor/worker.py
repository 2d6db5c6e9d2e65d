"""The floor's third process: takes a message off the queue, asks for the prompt, calls the model, stores the reply."""

import asyncio
import os

import aio_pika
import httpx2
import orjson
import uvloop
from aio_pika.abc import AbstractIncomingMessage
from openai import AsyncOpenAI
from openai.types.shared_params import ResponseFormatJSONSchema

from benchmarks.floor.tables import Pool

_PREFETCH = 64
_REPLY_FORMAT: ResponseFormatJSONSchema = {
    "type": "json_schema",
    "json_schema": {
        "name": "reply",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "explanation": {"type": "string", "description": "Why you speak or stay silent now."},
                "shouldRespond": {"type": "boolean", "description": "Whether you say something now."},
                "response": {"type": "string", "description": "What you say."},
                "readyToEndChat": {"type": "boolean", "description": "Whether you want to leave."},
            },
            "required": ["explanation", "shouldRespond", "response", "readyToEndChat"],
            "additionalProperties": False,
        },
    },
}
_CALL = """
    INSERT INTO model_calls (thread_id, trigger_key, reply, tokens_in, tokens_out) VALUES (%s, %s, %s, %s, %s)
"""
_REPLY = """
    WITH said AS (
        INSERT INTO messages (thread_id, author, text) VALUES (%(thread_id)s, 'agent', %(text)s) RETURNING id
    )
    INSERT INTO trigger_log (thread_id, trigger_key, message_id)
    SELECT %(thread_id)s, %(trigger_key)s, id FROM said
    ON CONFLICT DO NOTHING
"""


class Worker:
    def __init__(self, pool: Pool, prompts: httpx2.AsyncClient, models: AsyncOpenAI) -> None:
        self._pool = pool
        self._prompts = prompts
        self._models = models

    async def on_message(self, delivered: AbstractIncomingMessage) -> None:
        async with delivered.process():
            body = orjson.loads(delivered.body)
            response = await self._prompts.post("/prompts", json=body)
            completion = await self._models.chat.completions.create(
                model="fake", messages=response.json()["messages"], response_format=_REPLY_FORMAT
            )
            content = completion.choices[0].message.content or "{}"
            usage = completion.usage
            key = f"message:{body['message_id']}"
            async with self._pool.lend() as connection:
                tokens = (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)
                await connection.execute(_CALL, (body["thread_id"], key, content, *tokens))
            reply = orjson.loads(content)
            if reply["shouldRespond"]:
                await self._publish(body["thread_id"], key, reply["response"])

    async def _publish(self, thread_id: str, key: str, text: str) -> None:
        async with self._pool.lend() as connection, connection.transaction() as transaction:
            stored = await connection.execute(_REPLY, {"thread_id": thread_id, "trigger_key": key, "text": text})
            if not stored.rowcount:
                transaction.force_rollback = True  # another worker answered: the message is rolled back, too


async def main() -> None:
    pool = await Pool.open(os.environ["FLOOR_DATABASE_URL"], 20)
    limits = httpx2.Limits(max_connections=100, max_keepalive_connections=100)
    prompts = httpx2.AsyncClient(base_url=os.environ["FLOOR_PROMPTS_URL"], limits=limits, timeout=10.0)
    worker = Worker(pool, prompts, AsyncOpenAI(max_retries=0))
    connection = await aio_pika.connect(os.environ["FLOOR_AMQP_URL"])
    channel = await connection.channel()
    await channel.set_qos(prefetch_count=_PREFETCH)
    queue = await channel.declare_queue(os.environ["FLOOR_QUEUE"], durable=True, arguments={"x-queue-type": "quorum"})
    await queue.consume(worker.on_message)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main())
