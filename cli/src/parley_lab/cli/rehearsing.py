"""Rehearsals: made-up people take the open seats over REST, so that a study is tried before real people come.

Some of them may stay away, or join and go silent: then the study shows what its waiting rooms and limits come to.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any, Final, Literal

import httpx2

from parley_lab.base import seeds
from parley_lab.cli.made_up_answers import RightAnswers, fill_in, right_for
from parley_lab.contracts.experiment import PageSettings
from parley_lab.contracts.lives import OUTCOMES
from parley_lab.talk import page_seconds

Json = Any
Fate = Literal["stays", "comes back", "leaves", "goes silent"]

_FATES: Final[Mapping[Fate, int]] = {"stays": 7, "comes back": 2, "leaves": 1}
_LOOK_SECONDS: Final = 0.1
_REFUSED_SECONDS: Final = 1.0
"""How long a made-up person waits after a refusal before they look again."""
_QUIET_SECONDS: Final = 10.0
"""How long a made-up person whose stream tells nothing waits at most before they look again."""
_AWAY_SECONDS: Final = 60.0
"""How long one who has gone silent waits before they look whether their part is over: to the lab a request is a sign of
life."""
_OF_A_PAGE: Final = httpx2.Timeout(30, read=None)
PATIENCE_SECONDS: Final = 120.0
"""After so long without anything new for anyone, and without a limit of the file that runs for anyone, empty seats are
given up and silent people leave."""
_TRIES: Final = 5
_MOST_MESSAGES: Final = 3
_MOST_OTHERS: Final = 3
"""How many come one after another for a made-up person who is out early."""
_LINES: Final = (
    "I see it a little differently.",
    "That is a good point.",
    "What would it cost?",
    "I had not thought of that.",
    "Let us hear the others, too.",
)


class _Gone(Exception):
    """The lab does not serve any more, or the experiment has ended."""


@dataclass(frozen=True, slots=True)
class Missing:
    """How many of the made-up people never come, and how many come and go silent."""

    no_shows: int = 0
    silent: int = 0


NONE_MISSING: Final = Missing()


@dataclass
class Company:
    """What made-up people know of each other: whether anything is still happening."""

    open: int
    """How many still take part."""
    steps: int = 0
    """How many times something was new for one of them, or was still to come by itself."""
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether all is done that can be done with those who are missing."""
    is_stuck: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether those who are left wait for something that does not come."""

    async def come_to_rest(self, patience_seconds: float) -> None:
        """Wait until all are through, also who is silent, by a limit, or so long nothing was new and no limit ran."""
        seen, quiet = self.steps, 0.0
        while self.open and quiet < patience_seconds:
            await asyncio.sleep(_LOOK_SECONDS)
            quiet = quiet + _LOOK_SECONDS if self.steps == seen else 0.0
            seen = self.steps


@dataclass
class MadeUpPerson:
    """Joins, reads, answers and talks by chance that belongs to the seed and the person's number.

    Some lose their browser's memory on a stage and come back, and some leave; the first person of a rehearsal stays.
    """

    client: httpx2.AsyncClient
    code: str
    number: int
    seed: int
    company: Company
    is_silent: bool = False
    right: RightAnswers = field(default_factory=dict)
    takes_time: bool = False
    """Whether they read and write as slowly as people do."""
    patience_seconds: float = PATIENCE_SECONDS
    token: str = ""
    said: dict[str, int] = field(default_factory=dict)
    tried: dict[str, int] = field(default_factory=dict)
    met: list[str] = field(default_factory=list)
    """The stages that the person has come to."""
    has_gone_silent: bool = False
    _known: Json = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _page: asyncio.Task[None] | None = None
    _busy_until: dict[str, float] = field(default_factory=dict)
    """When the person has read, or written, by place."""
    _next_look: float = 0.0
    """After how many seconds they look again, whatever the stream tells, because of what they did last."""

    async def take_part(self) -> str:
        """Go from the link to the end; how it ended for the person, `gone` when the lab was gone first."""
        try:
            await self._join()
            me = await self._step()
            while me["status"] not in OUTCOMES:
                await (self._stay_away(me) if self.has_gone_silent else self._wait(me))
                me = await self._step()
        except (_Gone, httpx2.TransportError):
            return "gone"
        finally:
            await self._close_page()
        status: str = me["status"]
        return status

    def _rng(self, what: str) -> Random:
        return seeds.rng(self.seed, f"rehearsal/{self.number}/{what}")

    @property
    def _fate(self) -> Fate:
        if self.is_silent:
            return "goes silent"
        if self.number == 1:
            return "stays"
        return self._rng("fate").choices(list(_FATES), list(_FATES.values()))[0]

    async def _join(self) -> None:
        joined = await self._ask(
            "POST", f"/v1/join/{self.code}", {"join_key": f"rehearsal-{self.seed}-{self.number}", "is_rehearsal": True}
        )
        if joined is None:
            raise _Gone
        self.token = joined["token"]
        await self._close_page()
        self._page = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        """Have the live stream of a page: what it tells is a reason to look."""
        while True:
            with suppress(httpx2.TransportError):
                headers = {"Authorization": f"Bearer {self.token}"}
                async with self.client.stream("GET", "/v1/me/stream", headers=headers, timeout=_OF_A_PAGE) as told:
                    self._news.set()
                    async for part in told.aiter_bytes():
                        if b"data:" in part:
                            self._news.set()
            await asyncio.sleep(_REFUSED_SECONDS)

    async def _close_page(self) -> None:
        if self._page is not None:
            self._page.cancel()
            await asyncio.wait([self._page])

    async def _wait(self, me: Json) -> None:
        """Wait until there may be something to do: by the stream, by a time of the page, or by what was done last."""
        now = asyncio.get_running_loop().time()
        own = [until - now for until in self._busy_until.values() if until > now]
        self.company.steps += bool(own)
        times = [one + _LOOK_SECONDS for one in (*own, *_seconds_left(me))]
        most = min(_QUIET_SECONDS, self.patience_seconds / 3)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), min([self._next_look or most, most, *times]))
        await asyncio.sleep(_LOOK_SECONDS)
        self._news.clear()

    async def _stay_away(self, me: Json) -> None:
        """Ask nothing until a limit is over that runs for the person, or the rehearsal is."""
        limits = [*_seconds_left(me)]
        left = min(limits) + _REFUSED_SECONDS if limits else min(_AWAY_SECONDS, self.patience_seconds / 2)
        while left > 0 and not self.company.is_over.is_set():
            self.company.steps += bool(limits)
            await asyncio.sleep(_LOOK_SECONDS)
            left -= _LOOK_SECONDS

    async def _step(self) -> Json:
        """One look at the page, and what a person would do there; the page as it was before."""
        self._next_look = 0.0
        me = await self._ask("GET", "/v1/me")
        if me is None:
            raise _Gone
        status: str = me["status"]
        self.company.steps += me["is_paused"] or any(True for _ in _seconds_left(me))
        if self.has_gone_silent:
            if self.company.is_over.is_set() and status not in OUTCOMES:
                await self._ask("POST", "/v1/me/leave")
            return me
        has_news = self._tell([status, me["stage_id"], dict(self.said), dict(self.tried)])
        if self.company.is_stuck.is_set() and not has_news and status not in OUTCOMES:
            await self._ask("POST", "/v1/me/leave")
            return me
        waiting = me["waiting"] or {}
        if me.get("check"):
            await self._ask("POST", "/v1/me/check")
        elif me.get("offer"):
            await self._ask("POST", "/v1/me/transfer", {"accept": True})
        elif waiting.get("confirm_until") or waiting.get("is_passed_over"):
            await self._ask("POST", "/v1/me/confirm")
        elif status == "in_progress" and not me["is_paused"] and me["stage_id"] is not None:
            await self._on_stage(me["stage_id"], len(me["stages"]))
        return me

    def _tell(self, known: Json) -> bool:
        """Let the others know when something is new, and whether it is."""
        has_news: bool = known != self._known
        self.company.steps += has_news
        self._known = known
        return has_news

    async def _go_silent(self) -> None:
        """Close the page for good."""
        self.has_gone_silent = True
        await self._close_page()

    def _is_busy(self, place: str, shown: str, written: str) -> bool:
        """Whether the person is still at reading what is shown there, or at writing."""
        if not self.takes_time:
            return False
        now = asyncio.get_running_loop().time()
        if place not in self._busy_until:
            seconds = page_seconds(shown, written, PageSettings(), self._rng(f"{place}/pace"))
            self._busy_until[place] = now + seconds
        return now < self._busy_until[place]

    async def _on_stage(self, stage_id: str, stages: int) -> None:
        if stage_id not in self.met:
            self.met.append(stage_id)
            if self._fate != "stays" and len(self.met) == self._rng("when").randint(1, stages):
                await self._meet_fate()
                return
        page = await self._ask("GET", f"/v1/me/stages/{stage_id}")
        if page is None or page["state"] != "current":
            return
        has_read = page["thread"] is not None or not self._is_busy(stage_id, _texts(page["view"]), "")
        if page["forms"] and has_read:
            await self._answer(stage_id, page["forms"][0])
        elif has_read and not await self._talks(stage_id, page) and not page["blocked_by"]:
            await self._ask("POST", f"/v1/me/stages/{stage_id}/advance", {})

    async def _meet_fate(self) -> None:
        if self._fate == "goes silent":
            await self._go_silent()
        elif self._fate == "comes back":
            await self._join()
        else:
            await self._ask("POST", "/v1/me/leave")

    async def _answer(self, stage_id: str, form: Mapping[str, Json]) -> None:
        right = right_for(form["form"], self.right.get(stage_id, ()))
        # Each attempt at a check is a form of its own.
        place = stage_id if right else f"{stage_id}/{form['key']}"
        most = max(_TRIES, len(right))
        tried = min(self.tried.get(place, 0), most) + 1
        answer = fill_in(form["form"], self._rng(f"{place}/{tried}"))
        if tried <= len(right):
            answer = {**answer, **right[tried - 1]}
        if self._is_busy(f"{place}/{tried}", "", _texts(answer)):
            return
        self.tried[place] = tried
        if tried > most:
            # A form that takes none of five made-up answers is a finding; others need not wait for this person.
            await self._ask("POST", "/v1/me/leave")
            return
        if form["ask_id"] is None:
            await self._ask("POST", f"/v1/me/stages/{stage_id}/advance", {"answer": answer})
        else:
            await self._ask("POST", f"/v1/me/asks/{form['ask_id']}/answer", {"answer": answer})

    async def _talks(self, stage_id: str, page: Mapping[str, Json]) -> bool:
        """Whether the person has something to say in the conversation of this page; then it is said."""
        thread, view = page["thread"], page["view"]
        if thread is None or thread["has_ended"]:
            return False
        said = self.said.get(stage_id, 0)
        has_said_all = said >= self._rng(f"{stage_id}/messages").randint(1, _MOST_MESSAGES)
        if has_said_all and view.get("turns", 0) >= view.get("min_turns", 0):
            return False
        whose_turn = view.get("whose_turn")
        is_mine = whose_turn is None or any(one["is_you"] and one["id"] == whose_turn for one in view["people"])
        if is_mine and not view.get("is_waiting_for_reply"):
            line = self._rng(f"{stage_id}/{said}").choice(_LINES)
            if self._is_busy(f"{stage_id}/says:{said}", "", line):
                return True
            message = {"text": line, "client_message_id": f"{stage_id}-{said}"}
            if await self._ask("POST", f"/v1/me/threads/{thread['id']}/messages", message) is not None:
                self.said[stage_id] = said + 1
        return True

    async def _ask(self, method: str, path: str, body: Json = None) -> Json:
        """What the API answers; None when it refuses, as it may whenever things have changed meanwhile."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        answer = await self.client.request(method, path, json=body, headers=headers)
        if method == "POST":
            self._next_look = _LOOK_SECONDS if answer.is_success else _REFUSED_SECONDS
        return answer.json() if answer.is_success else None


def _seconds_left(me: Mapping[str, Json]) -> Iterator[float]:
    """The seconds left of each time that runs for the person; at its end the lab acts or lets them go on."""
    now = datetime.fromisoformat(me["now"])
    for end in [*(one["ends_at"] for one in me["timers"]), (me["waiting"] or {}).get("until")]:
        left = 0.0 if end is None else (datetime.fromisoformat(end) - now).total_seconds()
        if left > 0:
            yield left


def _texts(value: Json) -> str:
    """All words in what a page shows, or in an answer."""
    if isinstance(value, Mapping):
        return _texts([*value.values()])
    if isinstance(value, list):
        return " ".join(filter(None, map(_texts, value)))
    return value if isinstance(value, str) else ""


async def rehearse(
    url: str,
    code: str,
    seats: int,
    seed: int,
    *,
    missing: Missing = NONE_MISSING,
    takes_time: bool = False,
    right: RightAnswers | None = None,
    give_up_seats: Callable[[], Awaitable[None]] | None = None,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Sequence[str]:
    """Fill so many seats with made-up people; how it ended for each who came, in the order of their numbers.

    The last ones never come, and those before them go silent. Where none are missing, another one comes for each who is
    out early, as long as the study takes them; they are last. Once all are through, or nothing was new for a while,
    `give_up_seats` is called, and the silent ones leave; after another while without news all others leave. May be
    repeated: people who have a seat get it back and go on, so `seats` counts theirs as well. `takes_time`: whether they
    read and write as slowly as people do. `right`: the answers that the file says are right.
    """
    coming = seats - missing.no_shows
    company = Company(open=coming)
    others: list[str] = []
    # Each has a stream of their own beside the requests. The lab is on this machine, where no proxy leads.
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(base_url=url, timeout=30, limits=limits, trust_env=False) as client:

        def person(number: int, *, is_silent: bool = False) -> MadeUpPerson:
            return MadeUpPerson(
                client,
                code,
                number,
                seed,
                company,
                is_silent,
                right or {},
                takes_time=takes_time,
                patience_seconds=patience_seconds,
            )

        async def fill_seat(number: int) -> str:
            try:
                first = await person(number, is_silent=number > coming - missing.silent).take_part()
                last = first
                for again in range(1, _MOST_OTHERS + 1):
                    if missing != NONE_MISSING or last in ("completed", "gone") or company.is_over.is_set():
                        break
                    last = await person(number + seats * again).take_part()
                    others.extend([last] if last != "gone" else [])
                return first
            finally:
                company.open -= 1

        taking_part = asyncio.gather(*(fill_seat(number) for number in range(1, coming + 1)))
        try:
            await company.come_to_rest(patience_seconds)
            company.is_over.set()
            if give_up_seats is not None:
                await give_up_seats()
            await company.come_to_rest(patience_seconds)
            company.is_stuck.set()
            return [*await taking_part, *others]
        finally:
            taking_part.cancel()
