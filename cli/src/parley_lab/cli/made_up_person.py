"""A made-up person of a rehearsal joins, reads, answers and talks over REST, and waits on a live stream as a page does.

Chance is drawn from the seed and the person's number.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any, Final, Protocol
from uuid import UUID

import httpx2
import orjson

from parley_lab.base import seeds
from parley_lab.cli.made_up_answers import Self, fill_in, line_as_mock, lines_of
from parley_lab.cli.made_up_people import Fate, closed_seconds, profile_of
from parley_lab.contracts.experiment import PageSettings, Persona
from parley_lab.contracts.lives import OUTCOMES
from parley_lab.talk import page_seconds

Json = Any

_LOOK_SECONDS: Final = 0.1
_NOTICE_SECONDS: Final = 0.5
"""How long a person who takes time needs to notice that something is new."""
_REFUSED_SECONDS: Final = 1.0
"""How long a made-up person waits after a refusal before they look again."""
_QUIET_SECONDS: Final = 60.0
"""How long a made-up person whose stream tells nothing waits at most before they look again."""
_AWAY_SECONDS: Final = 60.0
"""How long one who has gone silent waits before they look whether their part is over."""
_OF_A_PAGE: Final = httpx2.Timeout(30, read=None)
_TRIES: Final = 5
_MOST_MESSAGES: Final = 3
_CONSENT: Final = "terms_of_service"
_ATTEMPT: Final = "attempt"
"""The purpose of what is asked anew until it is right: each attempt is a form of its own."""


class Gone(Exception):
    """The lab does not serve any more, or the experiment has ended."""


class Mind(Protocol):
    """Gives answers of made-up people that are not by chance."""

    def persona_of(self, number: int) -> Persona | None:
        """As whom the person with this number takes part."""

    async def answer(self, member_id: UUID, number: int, stage_id: str, key: str) -> Json | None:
        """The answer of this person to what is asked of them under this key; None: there is none."""

    async def is_out(self, member_id: UUID) -> bool | None:
        """Whether the part of this person is over; None: only a request tells."""


class Mindless:
    """All by chance."""

    def persona_of(self, number: int) -> None:
        return None

    async def answer(self, member_id: UUID, number: int, stage_id: str, key: str) -> None:
        return None

    async def is_out(self, member_id: UUID) -> None:
        return None


@dataclass
class Company:
    """All made-up people of a rehearsal: whether anything is still happening."""

    open: int
    """How many still take part."""
    patience_seconds: float
    steps: int = 0
    """How many times something was new for one of them, or was still to come by itself."""
    is_over: bool = False
    """Whether all is done that can be done with those who are missing."""
    is_stuck: bool = False
    """Whether those who are left wait for something that does not come."""
    bells: list[asyncio.Event] = field(default_factory=list)
    """Each wakes one of them."""

    def end(self) -> None:
        self.is_over = True
        self._ring()

    def give_up(self) -> None:
        self.is_stuck = True
        self._ring()

    def _ring(self) -> None:
        for bell in self.bells:
            bell.set()

    async def pass_time(self, seconds: float, *, is_step: bool = True) -> None:
        """Wait so long, or until the rehearsal is over; `is_step`: something is still to come by itself meanwhile."""
        tick = min(1.0, self.patience_seconds / 5)
        while seconds > 0 and not self.is_over:
            self.steps += is_step
            await asyncio.sleep(min(tick, seconds))
            seconds -= tick


@dataclass
class MadeUpPerson:
    """One person from the link to the end."""

    client: httpx2.AsyncClient
    code: str
    number: int
    seed: int
    company: Company
    fate: Fate = "stays"
    mind: Mind = field(default_factory=Mindless)
    takes_time: bool = False
    """Whether they read and write as slowly as people do."""
    token: str = ""
    member_id: str = ""
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
    _last_words: str = ""
    """The newest message of another."""
    _led_to: Json = None
    """The page to which going on has led: the next look needs no request."""

    async def take_part(self) -> str:
        """Go from the link to the end; how it ended for the person, `gone` when the lab was gone first."""
        self.company.bells.append(self._news)
        try:
            await self._join()
            me = await self._step()
            while me["status"] not in OUTCOMES:
                await (self._stay_away(me) if self.has_gone_silent else self._wait(me))
                me = await self._step()
        except (Gone, httpx2.TransportError):
            return "gone"
        finally:
            self.company.bells.remove(self._news)
            await self._close_page()
        status: str = me["status"]
        return status

    def _rng(self, what: str) -> Random:
        return seeds.rng(self.seed, f"rehearsal/{self.number}/{what}")

    @property
    def _self(self) -> Self:
        return Self(self.seed, f"person {self.number}", self.mind.persona_of(self.number))

    async def _join(self) -> None:
        persona = self.mind.persona_of(self.number)
        profile = profile_of(self.number, self.seed, None if persona is None else persona.profile)
        wanted = {
            "join_key": f"rehearsal-{self.seed}-{self.number}",
            "is_rehearsal": True,
            "profile": profile.model_dump(mode="json", exclude_defaults=True),
        }
        joined = await self._ask("POST", f"/v1/join/{self.code}", wanted)
        if joined is None:
            raise Gone
        self.token, self.member_id = joined["token"], joined["member_id"]
        await self._close_page()
        self._open_page()

    def _open_page(self) -> None:
        self._page = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        """Have the live stream of a page: what it tells is a reason to look."""
        while True:
            with suppress(httpx2.TransportError):
                headers = {"Authorization": f"Bearer {self.token}"}
                async with self.client.stream("GET", "/v1/me/stream", headers=headers, timeout=_OF_A_PAGE) as told:
                    self._news.set()
                    event = ""
                    async for line in told.aiter_lines():
                        if line.startswith("event:"):
                            event = line.removeprefix("event:").strip()
                        elif line.startswith("data:"):
                            self._hear(event, orjson.loads(line.removeprefix("data:")))
            await asyncio.sleep(_REFUSED_SECONDS)

    def _hear(self, event: str, told: Json) -> None:
        data = told["data"]
        if event == "message.created":
            self._last_words = data["text"]
        is_of_another = data.get("member_id") not in (None, self.member_id) or event == "message.created"
        # A person who reads or writes looks up when they have done so.
        if event != "thread.typing" and not (is_of_another and self._own_times()):
            self._news.set()

    async def _close_page(self) -> None:
        if self._page is not None:
            self._page.cancel()
            await asyncio.wait([self._page])
            self._page = None

    def _own_times(self) -> list[float]:
        """For how long the person still reads or writes, by place."""
        now = asyncio.get_running_loop().time()
        return [until - now for until in self._busy_until.values() if until > now]

    async def _wait(self, me: Json) -> None:
        """Wait until there may be something to do: by the stream, by a time of the page, or by what was done last."""
        if self._led_to is not None:
            return
        own = self._own_times()
        self.company.steps += bool(own)
        times = [one + _LOOK_SECONDS for one in (*own, *_seconds_left(me))]
        most = min(_QUIET_SECONDS, self.company.patience_seconds / 3)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), min([self._next_look or most, most, *times]))
        await asyncio.sleep(_NOTICE_SECONDS if self.takes_time else _LOOK_SECONDS)
        self._news.clear()

    async def _stay_away(self, me: Json) -> None:
        """Ask nothing until a limit is over that runs for the person, or the rehearsal is."""
        limits = [*_seconds_left(me)]
        most = min(_AWAY_SECONDS, self.company.patience_seconds / 2)
        await self.company.pass_time(min(limits) + _REFUSED_SECONDS if limits else most, is_step=bool(limits))
        # To the lab a request is a sign of life.
        while not self.company.is_over and await self.mind.is_out(UUID(self.member_id)) is False:
            await self.company.pass_time(most, is_step=False)

    async def _step(self) -> Json:
        """One look at the page, and what a person would do there; the page as it was before."""
        self._next_look = 0.0
        me, page = await self._look()
        status: str = me["status"]
        self.company.steps += me["is_paused"] or any(True for _ in _seconds_left(me))
        if self.has_gone_silent:
            if self.company.is_over and status not in OUTCOMES:
                await self._ask("POST", "/v1/me/leave")
            return me
        has_news = self._tell([status, me["stage_id"], dict(self.said), dict(self.tried)])
        if self.company.is_stuck and not has_news and status not in OUTCOMES:
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
            await self._on_stage(me, page)
        return me

    async def _look(self) -> tuple[Json, Json | None]:
        """The shell of the person's page; with the page, if going on has just led there."""
        led_to, self._led_to = self._led_to, None
        if led_to is not None:
            return led_to["me"], led_to["page"]
        me = await self._ask("GET", "/v1/me")
        if me is None and await self._ask("POST", "/v1/me/return") is not None:
            # An agent had the place while the page was closed.
            me = await self._ask("GET", "/v1/me")
        if me is None:
            raise Gone
        return me, None

    def _tell(self, known: Json) -> bool:
        """Let the others know when something is new, and whether it is."""
        has_news: bool = known != self._known
        self.company.steps += has_news
        self._known = known
        return has_news

    def _is_busy(self, place: str, shown: str, written: str) -> bool:
        """Whether the person is still at reading what is shown there, or at writing."""
        if not self.takes_time:
            return False
        now = asyncio.get_running_loop().time()
        if place not in self._busy_until:
            seconds = page_seconds(shown, written, PageSettings(), self._rng(f"{place}/pace"))
            self._busy_until[place] = now + seconds
        return now < self._busy_until[place]

    async def _on_stage(self, me: Json, page: Json | None) -> None:
        stage_id = me["stage_id"]
        if stage_id not in self.met:
            self.met.append(stage_id)
            if await self._has_met_fate(me):
                return
        page = page or await self._ask("GET", f"/v1/me/stages/{stage_id}")
        if page is None or page["state"] != "current":
            return
        has_read = page["thread"] is not None or not self._is_busy(stage_id, _texts(page["view"]), "")
        if page["forms"] and has_read:
            await self._answer(me, page)
        elif has_read and not await self._talks(stage_id, page) and not page["blocked_by"]:
            await self._go_on(stage_id, {})

    async def _has_met_fate(self, me: Json) -> bool:
        """Whether the person does something else on this stage than to take part."""
        when = self._rng("when").randint(1, len(me["stages"]))
        if self.fate == "declines":
            when = 0 if any(one["kind"] == _CONSENT for one in me["stages"]) else 1
        if self.fate == "stays" or len(self.met) != when:
            return False
        match self.fate:
            case "goes silent":
                self.has_gone_silent = True
                await self._close_page()
            case "closes the page":
                await self._close_page()
                await self.company.pass_time(closed_seconds(self._rng("closed")))
                self._open_page()
            case "comes back":
                await self._join()
            case _:
                await self._ask("POST", "/v1/me/leave")
        return True

    async def _answer(self, me: Json, page: Json) -> None:
        stage_id, form = page["stage_id"], page["forms"][0]
        purpose = next((one["purpose"] for one in me["asks"] if one["id"] == form["ask_id"]), "")
        place = stage_id if purpose == _ATTEMPT else f"{stage_id}/{form['key']}"
        tried = min(self.tried.get(place, 0), _TRIES) + 1
        answer = await self._answer_to(page, form, f"{place}/{tried}", is_first=tried == 1)
        if self._is_busy(f"{place}/{tried}", "", _texts(answer)):
            return
        self.tried[place] = tried
        if tried > _TRIES:
            # A form that takes none of five made-up answers is a finding; others need not wait for this person.
            await self._ask("POST", "/v1/me/leave")
        elif form["ask_id"] is None:
            await self._go_on(stage_id, {"answer": answer})
        else:
            await self._ask("POST", f"/v1/me/asks/{form['ask_id']}/answer", {"answer": answer})

    async def _answer_to(self, page: Json, form: Json, place: str, *, is_first: bool) -> Json:
        """As the person thinks, and by chance once that was refused."""
        if page["kind"] == _CONSENT and self.fate == "declines":
            return dict.fromkeys(form["form"]["properties"], False)
        known = None
        if is_first and page["kind"] != _CONSENT:
            known = await self.mind.answer(UUID(self.member_id), self.number, page["stage_id"], form["key"])
        return fill_in(form["form"], self._rng(place)) if known is None else known

    async def _go_on(self, stage_id: str, body: Json) -> None:
        self._led_to = await self._ask("POST", f"/v1/me/stages/{stage_id}/advance", body)

    async def _talks(self, stage_id: str, page: Mapping[str, Json]) -> bool:
        """Whether the person has something to say in the conversation of this page; then it is said."""
        thread, view = page["thread"], page["view"]
        if thread is None or thread["has_ended"]:
            return False
        said = self.said.get(stage_id, 0)
        most = len(lines_of(self._self.persona, stage_id)) or self._rng(f"{stage_id}/messages").randint(
            1, _MOST_MESSAGES
        )
        if said >= most and view.get("turns", 0) >= view.get("min_turns", 0):
            return False
        whose_turn = view.get("whose_turn")
        is_mine = whose_turn is None or any(one["is_you"] and one["id"] == whose_turn for one in view["people"])
        if is_mine and not view.get("is_waiting_for_reply"):
            line = line_as_mock(self._self, stage_id, said, self._last_words)
            if self._is_busy(f"{stage_id}/says:{said}", "", line):
                return True
            message = {"text": line, "client_message_id": f"{stage_id}-{said}"}
            if await self._ask("POST", f"/v1/me/threads/{thread['id']}/messages", message) is not None:
                self.said[stage_id] = said + 1
        return True

    async def _ask(self, method: str, path: str, body: Json = None) -> Json:
        """The answer of the API; None when it refuses, as it may whenever things have changed meanwhile."""
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
