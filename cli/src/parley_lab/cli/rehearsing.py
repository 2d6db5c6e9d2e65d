"""Rehearsals: made-up people take the open seats over REST, so that a study is tried before real people come.

Some of them may stay away, go silent, close the page for a while or decline: then the study shows what its waiting
rooms and limits come to.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import httpx2

from parley_lab.cli.made_up_people import ALL_COME, Fate, Turnout
from parley_lab.cli.made_up_person import Company, MadeUpPerson, Mind, Mindless

PATIENCE_SECONDS: Final = 120.0
"""After so long without anything new for anyone, and without a limit of the file that runs for anyone or a reply of an
agent that is to come, empty seats are given up and silent people leave."""
_LOOK_SECONDS: Final = 0.1
_MOST_OTHERS: Final = 3
"""How many come one after another for a made-up person who is out early."""


async def _nothing() -> None:
    return None


async def _never() -> bool:
    return False


async def rehearse(
    url: str,
    code: str,
    seats: int,
    seed: int,
    *,
    turnout: Turnout = ALL_COME,
    takes_time: bool = False,
    mind: Mind | None = None,
    give_up_seats: Callable[[], Awaitable[None]] = _nothing,
    are_agents_busy: Callable[[], Awaitable[bool]] = _never,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Sequence[str]:
    """Fill so many seats with made-up people; how it ended for each who came, in the order of their numbers.

    Where all come, another one comes for each who is out early, as long as the study takes them; they are
    last. Once all are through, or nothing was new for a while and no agent is busy, `give_up_seats` is called, and the
    silent ones leave; after another such while all others leave, and the seats that they leave are given up. May be
    repeated: people who have a seat get it back and go on, so `seats` counts theirs as well. `takes_time`: whether they
    read and write as slowly as people do. `mind`: what they answer; None: by chance.
    """
    coming = seats - turnout.no_shows
    company = Company(open=coming, patience_seconds=patience_seconds)
    others: list[str] = []
    # Each has a stream of their own beside the requests. The lab is on this machine, where no proxy leads.
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(base_url=url, timeout=30, limits=limits, trust_env=False) as client:

        def person(number: int, fate: Fate) -> MadeUpPerson:
            return MadeUpPerson(client, code, number, seed, company, fate, mind or Mindless(), takes_time=takes_time)

        async def fill_seat(number: int) -> str:
            try:
                await company.pass_time(turnout.comes_after_seconds(number, seats, seed))
                last = first = await person(number, turnout.fate_of(number, seats, seed)).take_part()
                for again in range(1, _MOST_OTHERS + 1):
                    if turnout.is_short or last in ("completed", "gone") or company.is_over:
                        break
                    other = number + seats * again
                    last = await person(other, turnout.fate_of(other, seats, seed)).take_part()
                    others.extend([last] if last != "gone" else [])
                return first
            finally:
                company.open -= 1

        taking_part = asyncio.gather(*(fill_seat(number) for number in range(1, coming + 1)))
        try:
            await _come_to_rest(company, are_agents_busy)
            company.end()
            await give_up_seats()
            await _come_to_rest(company, are_agents_busy)
            company.give_up()
            ends = await taking_part
            # Those who have left meanwhile may have left seats that the file gives to others.
            await give_up_seats()
            return [*ends, *others]
        finally:
            taking_part.cancel()


async def _come_to_rest(company: Company, are_agents_busy: Callable[[], Awaitable[bool]]) -> None:
    """Wait until all are through, also those who are silent, by a limit, or so long nothing was new and none ran."""
    seen, quiet = company.steps, 0.0
    while company.open:
        if quiet >= company.patience_seconds:
            if not await are_agents_busy():
                return
            quiet = 0.0
        await asyncio.sleep(_LOOK_SECONDS)
        quiet = quiet + _LOOK_SECONDS if company.steps == seen else 0.0
        seen = company.steps
