"""A participant's live stream, which is opened anew at any gateway whenever it breaks."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from random import Random
from typing import Final

import httpx2

from shared.testing.network import WITHOUT_TLS
from tests.storms.ledger import Heard, Ledger

# A gateway that is held says nothing; one that lives says something every few seconds.
_SILENCE_SECONDS: Final = 20.0


async def listen(
    ledger: Ledger, gateways: list[str], token: Callable[[], str], member_id: str, cursor: str, rng: Random
) -> None:
    """Follow from the cursor on until the lab says that the participant is out, or until cancelled."""
    heard: list[Heard] = []
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(5.0, read=_SILENCE_SECONDS), verify=WITHOUT_TLS) as client:
        while True:
            url = f"{rng.choice(gateways)}/v1/me/stream"
            headers = {"authorization": f"Bearer {token()}", "last-event-id": cursor}
            try:
                async with client.stream("GET", url, headers=headers) as answer:
                    if answer.status_code in (401, 403, 409):
                        return
                    if answer.is_success:
                        async with aclosing(_events(answer)) as events:
                            async for place, kind in events:
                                note(ledger, heard, member_id, place, kind)
                                cursor = place
            except httpx2.TransportError:
                pass
            await asyncio.sleep(0.3)


async def _events(answer: httpx2.Response) -> AsyncGenerator[tuple[str, str]]:
    """The id and the type of each event; the type is empty where the stream says only where it begins."""
    place = kind = ""
    async for line in answer.aiter_lines():
        name, _, value = line.partition(":")
        match name:
            case "id":
                place = value.strip()
            case "event":
                kind = value.strip()
            case "" if place and not line:
                yield place, kind
                place = kind = ""


def note(ledger: Ledger, heard: list[Heard], member_id: str, place: str, kind: str) -> None:
    """Add an event to what the member has `heard` so far, and what is new of that to the ledger."""
    cohort_id, _, number = place.rpartition(":")
    # Who comes back to a cohort has not heard what was said there meanwhile.
    if not heard or heard[-1].cohort_id != cohort_id:
        heard.append(Heard(member_id, cohort_id, int(number), int(number)))
        ledger.streams.append(heard[-1])
        if not kind:
            return
    heard[-1].until = max(heard[-1].until, int(number))
    if kind == "message.created":
        heard[-1].messages.append(int(number))
