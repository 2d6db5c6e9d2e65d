"""A participant's live stream, which is opened anew at any gateway whenever it breaks."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from random import Random
from typing import Final

import httpx2

from parley_lab.testing.network import WITHOUT_TLS
from tests.storms.ledger import Heard, Ledger

# A gateway that is held says nothing; one that lives says something every few seconds.
_SILENCE_SECONDS: Final = 20.0


async def listen(
    ledger: Ledger, gateways: list[str], token: Callable[[], str], member_id: str, cursor: str, rng: Random
) -> None:
    """Follow from the cursor on until the end of the part, until the lab refuses the participant, or until cancelled.

    Once the member has moved to another cohort, a cursor of the one before is refused, and the stream goes on from
    where they are. The token is empty while the participant joins anew, and then another one.
    """
    heard: list[Heard] = []
    # A stream that never tells anything misses what comes from here on.
    note(ledger, heard, member_id, cursor, "")
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(5.0, read=_SILENCE_SECONDS), verify=WITHOUT_TLS) as client:
        while True:
            url = f"{rng.choice(gateways)}/v1/me/stream"
            bearer = token()
            headers = {"authorization": f"Bearer {bearer}", "last-event-id": cursor}
            try:
                async with client.stream("GET", url, headers=headers) as answer:
                    if answer.status_code in (401, 403, 409) and bearer == token() != "":
                        heard[-1].is_open = False
                        return
                    if answer.status_code == 422:
                        cursor = await _cursor_now(client, url.removesuffix("/stream"), bearer) or cursor
                        note(ledger, heard, member_id, cursor, "")
                    if answer.is_success:
                        async with aclosing(_events(answer)) as events:
                            async for place, kind, data in events:
                                note(ledger, heard, member_id, place, kind)
                                cursor = place
                                if ends_part(kind, data, member_id):
                                    return
            except httpx2.TransportError:
                pass
            await asyncio.sleep(0.3)


async def _cursor_now(client: httpx2.AsyncClient, me: str, bearer: str) -> str | None:
    """The cursor of where the member is; None while the lab does not say."""
    answer = await client.get(me, headers={"authorization": f"Bearer {bearer}"})
    cursor: str | None = answer.json()["cursor"] if answer.is_success else None
    return cursor


async def _events(answer: httpx2.Response) -> AsyncGenerator[tuple[str, str, str]]:
    """The id, the type and the data of each event; the type is empty where the stream says only where it begins."""
    place = kind = data = ""
    async for line in answer.aiter_lines():
        name, _, value = line.partition(":")
        match name:
            case "id":
                place = value.strip()
            case "event":
                kind = value.strip()
            case "data":
                data = value.strip()
            case "" if place and not line:
                yield place, kind, data
                place = kind = data = ""


def ends_part(kind: str, data: str, member_id: str) -> bool:
    """Whether the member has gone beyond the last stage."""
    if kind != "member.moved":
        return False
    moved = json.loads(data)["data"]
    return moved["member_id"] == member_id and moved["to_stage_id"] is None


def note(ledger: Ledger, heard: list[Heard], member_id: str, place: str, kind: str) -> None:
    """Add an event to what the member has `heard` so far, and what is new of that to the ledger."""
    cohort_id, _, number = place.rpartition(":")
    # Who comes back to a cohort has not heard what was said there meanwhile.
    if not heard or heard[-1].cohort_id != cohort_id:
        for left in heard:
            left.is_open = False
        heard.append(Heard(member_id, cohort_id, int(number), int(number)))
        ledger.streams.append(heard[-1])
        if not kind:
            return
    heard[-1].until = max(heard[-1].until, int(number))
    if kind == "message.created":
        heard[-1].messages.append(int(number))
