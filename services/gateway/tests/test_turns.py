"""The messages of one conversation take turns in a gateway."""

import asyncio
from uuid import UUID

import pytest

from parley_lab.base.errors import Unavailable
from parley_lab.gateway import context
from parley_lab.gateway.context import Queues

TALK, OTHER_TALK = UUID(int=1), UUID(int=2)


async def test_tasks_of_one_key_take_turns_in_the_order_in_which_they_came() -> None:
    queues, log = Queues(), list[str]()

    async def take(key: UUID, name: str) -> None:
        async with queues.turn(key):
            log.append(f"{name} in")
            await asyncio.sleep(0.01)
            log.append(f"{name} out")

    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(take(TALK, name))
    async with asyncio.TaskGroup() as group:
        group.create_task(take(TALK, "d"))
        group.create_task(take(OTHER_TALK, "e"))

    assert log[:6] == ["a in", "a out", "b in", "b out", "c in", "c out"]
    assert log[6:8] == ["d in", "e in"]


async def test_a_task_that_takes_long_lets_only_the_next_one_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_TURN_SECONDS", 0.05)
    queues, may_end, inside = Queues(), asyncio.Event(), list[str]()

    async def take(name: str, seconds: float) -> None:
        async with queues.turn(TALK):
            inside.append(name)
            if seconds:
                await asyncio.sleep(seconds)
            else:
                await may_end.wait()

    stuck = asyncio.create_task(take("stuck", 0))
    others = [asyncio.create_task(take(name, 0.001)) for name in "abc"]
    await asyncio.wait(others, timeout=10)
    came = list(inside)
    may_end.set()
    await stuck
    await take("d", 0.001)

    assert came == ["stuck", "a", "b", "c"]
    assert inside[-1] == "d"


async def test_a_turn_is_given_up_with_an_error() -> None:
    queues = Queues()

    with pytest.raises(ZeroDivisionError):
        async with queues.turn(TALK):
            raise ZeroDivisionError
    async with asyncio.timeout(10), queues.turn(TALK):
        pass


async def test_who_waits_for_too_long_is_turned_away_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_PATIENCE_SECONDS", 0.05)
    queues, may_end, inside = Queues(), asyncio.Event(), list[str]()

    async def take(name: str) -> None:
        async with queues.turn(TALK):
            inside.append(name)
            await may_end.wait()

    first = asyncio.create_task(take("first"))
    waiting = [asyncio.create_task(take(name)) for name in "ab"]
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    later = asyncio.create_task(take("later"))
    await asyncio.sleep(0)
    may_end.set()
    await asyncio.gather(first, later)

    assert [type(outcome) for outcome in outcomes] == [Unavailable, Unavailable]
    assert inside == ["first", "later"]


async def test_a_task_that_is_cancelled_while_it_waits_gives_way() -> None:
    queues, may_end, inside = Queues(), asyncio.Event(), list[str]()

    async def take(name: str) -> None:
        async with queues.turn(TALK):
            inside.append(name)
            await may_end.wait()

    tasks = {name: asyncio.create_task(take(name)) for name in "abcd"}
    await asyncio.sleep(0)
    tasks["b"].cancel()
    may_end.set()
    await asyncio.sleep(0)
    tasks["c"].cancel()
    await asyncio.wait(tasks.values(), timeout=10)
    await take("e")

    assert inside in (["a", "d", "e"], ["a", "c", "d", "e"])
