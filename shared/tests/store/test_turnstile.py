"""Which transaction gets the next connection to Postgres, and how many are left for urgent ones."""

import asyncio
from contextlib import AsyncExitStack

from parley_lab.base.urgency import Urgency, urgency
from parley_lab.store.turnstile import Turnstile


class Passages:
    """Passages through one turnstile of five places, each of which lasts until it is ended."""

    def __init__(self) -> None:
        self.now = 0.0
        self.inside: dict[str, AsyncExitStack] = {}
        self._turnstile = Turnstile(5, patience_seconds=60, now=lambda: self.now)
        self._begun: list[asyncio.Task[None]] = []

    async def begin(self, how_urgent: Urgency, *names: str) -> None:
        for name in names:
            self._begun.append(asyncio.create_task(self._pass(name, how_urgent)))
        await _everybody_moves()

    async def end(self, name: str) -> None:
        await self.inside.pop(name).aclose()
        await _everybody_moves()

    async def _pass(self, name: str, how_urgent: Urgency) -> None:
        urgency.set(how_urgent)
        stack = AsyncExitStack()
        await stack.enter_async_context(self._turnstile.passed())
        self.inside[name] = stack


async def _everybody_moves() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_alone_the_background_has_all_places() -> None:
    passages = Passages()

    await passages.begin(Urgency.BACKGROUND, *"abcdef")

    assert sorted(passages.inside) == [*"abcde"]
    await passages.end("c")
    assert sorted(passages.inside) == [*"abdef"]


async def test_while_people_are_about_the_background_leaves_places_free_for_them() -> None:
    passages = Passages()
    await passages.begin(Urgency.PERSON, "ann")
    await passages.end("ann")

    await passages.begin(Urgency.BACKGROUND, *"abcd")
    await passages.begin(Urgency.PERSON, "ann", "bob", "eve")

    assert sorted(passages.inside) == ["a", "ann", "b", "bob", "eve"]
    await passages.end("bob")
    assert "c" not in passages.inside
    await passages.end("a")
    assert "c" in passages.inside


async def test_what_streams_tell_goes_before_what_people_do() -> None:
    passages = Passages()
    await passages.begin(Urgency.PERSON, *"abcde")

    await passages.begin(Urgency.PERSON, "ann")
    await passages.begin(Urgency.TELLING, "stream")
    await passages.end("a")

    assert sorted(passages.inside) == [*"bcde", "stream"]


async def test_when_no_one_has_come_for_a_while_the_background_has_all_places_again() -> None:
    passages = Passages()
    await passages.begin(Urgency.PERSON, "ann")
    await passages.end("ann")
    await passages.begin(Urgency.BACKGROUND, *"abcdef")
    assert sorted(passages.inside) == [*"ab"]

    passages.now = 11.0
    await passages.end("a")

    assert sorted(passages.inside) == [*"bcdef"]


async def test_a_place_is_not_lost_with_someone_who_is_called_off() -> None:
    passages = Passages()
    await passages.begin(Urgency.BACKGROUND, *"abcde")
    called_off = asyncio.create_task(passages._pass("f", Urgency.BACKGROUND))
    await _everybody_moves()

    await passages.inside.pop("a").aclose()
    called_off.cancel()
    await asyncio.gather(called_off, return_exceptions=True)
    await passages.begin(Urgency.BACKGROUND, "g")

    assert sorted(passages.inside) == [*"bcdeg"]
