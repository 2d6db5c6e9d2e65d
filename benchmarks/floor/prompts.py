"""The floor's second process: one FastAPI route that turns a transcript into the messages for a model."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from benchmarks.floor.tables import Pool

_TRANSCRIPT = "SELECT author, text FROM messages WHERE thread_id = %s AND id <= %s ORDER BY id"
_SYSTEM = (
    "You are Alex, a participant in a conversation. You are 35 and live in a small town. Decide whether to say "
    "something now; answer with a JSON object that says why, whether, what, and whether you want to leave."
)


class Question(BaseModel):
    thread_id: UUID
    message_id: int


class ChatMessage(BaseModel):
    role: str
    content: str


class Prompt(BaseModel):
    messages: list[ChatMessage]


class Wiring:
    """What the route needs, opened when the process starts."""

    pool: Pool


wiring = Wiring()


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    wiring.pool = await Pool.open(os.environ["FLOOR_DATABASE_URL"], 10)
    yield


app = FastAPI(lifespan=lifespan)


@app.get("/readyz")
async def get_readyz() -> dict[str, str]:
    return {"status": "ready"}


@app.post("/prompts")
async def post_prompt(question: Question) -> Prompt:
    async with wiring.pool.lend() as connection:
        rows = await (await connection.execute(_TRANSCRIPT, (question.thread_id, question.message_id))).fetchall()
    transcript = "\n".join(f"{author}: {text}" for author, text in rows)
    return Prompt(
        messages=[ChatMessage(role="system", content=_SYSTEM), ChatMessage(role="user", content=transcript)],
    )


if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ["FLOOR_PROMPTS_PORT"]), loop="uvloop", log_level="warning", access_log=False)
