"""A game between two models, written by hand: calls, moves and one table, and nothing that a lab is there for."""

import asyncio
import time
from typing import Final

import psycopg
from openai import AsyncOpenAI

_TABLE: Final = "CREATE TABLE moves (player int, round int, move text, PRIMARY KEY (player, round))"
_MOVE: Final = "INSERT INTO moves VALUES (%s, %s, %s)"


async def seconds(model_url: str, database_url: str, rounds: int) -> float:
    """From the first call to the last move that is stored: both players are asked at once, each round is committed."""
    async with (
        AsyncOpenAI(base_url=model_url, api_key="any") as models,
        await psycopg.AsyncConnection.connect(database_url) as connection,
    ):
        await connection.execute(_TABLE)
        history: list[tuple[str, str]] = []
        began = time.perf_counter()
        for number in range(1, rounds + 1):
            first, second = await asyncio.gather(_move(models, 0, history), _move(models, 1, history))
            for player, move in enumerate((first, second)):
                await connection.execute(_MOVE, (player, number, move))
            await connection.commit()
            history.append((first, second))
        return time.perf_counter() - began


async def _move(models: AsyncOpenAI, player: int, history: list[tuple[str, str]]) -> str:
    lines = [f"Round {number}: {moves[player]} {moves[1 - player]}" for number, moves in enumerate(history[-10:], 1)]
    completion = await models.chat.completions.create(
        model="any",
        messages=[
            {"role": "system", "content": "You play the Prisoner's Dilemma."},
            {"role": "user", "content": "\n".join([*lines, "Reply with C or D."])},
        ],
    )
    return "D" if "D" in (completion.choices[0].message.content or "") else "C"
