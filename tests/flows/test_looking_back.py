"""What everybody is shown of every stage, while it is on and looked back at: in prompts, on pages and in previews.

One table (`ROWS`) says for each kind of stage who is listed, who said what, that it is over, and whose words are there.
The story goes through all kinds twice, the second time in the other order, so that each is looked back at from each,
itself included. A kind without a row fails. A word is said once and tells by whom and where, so that whatever is shown
can be searched for the words of others; what nobody may see (reasons, persona texts) is a word of its own.
"""

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final
from uuid import uuid4

import httpx2
import orjson
import pytest
import yaml

from shared.contracts.models import HINT_SPEAKER_NAME, ModelReply, ModelRequest
from shared.db.databases import connect, copy_database, drop_database
from shared.db.session import Database
from shared.stages import kinds
from shared.testing.services import Server
from tests.flows.drain import DrainLab
from tests.flows.test_previews import an_api

pytestmark = pytest.mark.postgres

Json = Any

OVER: Final = "# Earlier stages\n\nThese are over."
PROFILES: Final[Mapping[str, dict[str, str]]] = {
    "ana": {"name": "Ana", "pronouns": "she/her"},
    "ben": {"name": "Ben", "pronouns": "he/him"},
    "dan": {"name": "Dan"},
    "eve": {"name": "Eve"},
    "fay": {"name": "Fay"},
    "mo": {"name": "Mo", "pronouns": "they/them"},
    "kim": {"name": "Kim"},
}
MEDIATORS: Final = ("mo", "kim")
ROLES: Final = {"ana": "First", "ben": "Second", "mo": "Mo"}
"""Of an interview; Dan and Kim have none."""
_WORD: Final = re.compile(r"<([a-z]+)(?:-to-([a-z]+))?@([a-z0-9-]+)>")


LATER: Final = "later"


def word(author: str, stage_id: str, to: str = "") -> str:
    """What this member says on this stage and nobody says anywhere else.

    `to` is whom a mediator says it alone, or LATER for what Ana says once the other participants have left the room.
    """
    return f"<{author}{f'-to-{to}' if to else ''}@{stage_id}>"


def secret(owner: str) -> str:
    return f"secret-of-{owner}"


def words_in(text: str, stage_id: str) -> set[str]:
    """The words of this stage that stand there."""
    return {found.group() for found in _WORD.finditer(text) if found[3] == stage_id}


@dataclass(frozen=True)
class Cast:
    """Who is in the cohort. Ana is a person.

    `absent` are people who leave before anything begins, `removed` people who come to the first conversation and are
    removed there without a word.
    """

    participants: tuple[str, ...]
    mediators: tuple[str, ...] = MEDIATORS
    absent: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.participants, *self.mediators)

    def others(self, name: str) -> set[str]:
        return {*self.names, *self.absent, *self.removed} - {name}

    def came_to(self, stage_id: str) -> tuple[str, ...]:
        return (*self.participants, *(self.removed if stage_id == "first-group-chat" else ()))


@dataclass(frozen=True)
class Eyes:
    """Whoever looks. `partner` is the participant with whom a mediator is alone now."""

    name: str
    cast: Cast
    partner: str | None = None

    @property
    def is_mediator(self) -> bool:
        return self.name in self.cast.mediators

    @property
    def room(self) -> str | None:
        """Whose private conversation the eyes are on."""
        return self.partner if self.is_mediator else self.name


class Row(ABC):
    """What one kind of stage shows. Sentences are of the stage with this id; all of them must be there."""

    stage: ClassVar[Mapping[str, Json]] = {}
    """The stage, but for kind and id."""
    has_last_ask: bool = False
    """Whether nothing is asked of somebody who has answered everything: a preview is refused (409)."""
    not_over: tuple[str, ...] = ()
    """What may not stand where the stage is looked back at."""

    @abstractmethod
    def is_asked(self, eyes: Eyes) -> bool:
        """Whether a model is asked anything here for this member."""

    @abstractmethod
    def listed(self, eyes: Eyes, stage_id: str, *, is_over: bool) -> list[str]:
        """Who is there and what it is, in a prompt."""

    @abstractmethod
    def before(self, eyes: Eyes) -> list[str]:
        """What a preview shows that looks back although nothing has happened."""

    @abstractmethod
    def said(self, eyes: Eyes, stage_id: str) -> list[str]:
        """Who said what, in a prompt that looks back."""

    @abstractmethod
    def known(self, eyes: Eyes, stage_id: str) -> set[str]:
        """The words of the stage that are there when it is over: these and no others."""

    @abstractmethod
    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        """What Ana's page shows."""

    async def act(self, ana: "Ana", stage_id: str) -> None:
        """What Ana does before she goes on."""
        await ana.answer_asks(self, stage_id)

    def answer(self, key: str, stage_id: str) -> Json:
        """What she answers to an ask with this key, or (empty) as her page."""
        return None


class InfoRow(Row):
    stage: ClassVar[Mapping[str, Json]] = {"lines": ["Read this."]}

    def is_asked(self, eyes: Eyes) -> bool:
        return False

    def listed(self, eyes: Eyes, stage_id: str, *, is_over: bool) -> list[str]:
        return ["Read this."]

    def before(self, eyes: Eyes) -> list[str]:
        return ["Read this."]

    def said(self, eyes: Eyes, stage_id: str) -> list[str]:
        return []

    def known(self, eyes: Eyes, stage_id: str) -> set[str]:
        return set()

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert view["lines"] == ["Read this."]


class SurveyRow(Row):
    stage: ClassVar[Mapping[str, Json]] = {"questions": [{"id": "why", "kind": "text", "title": "Why?"}]}
    not_over = (" yet",)
    has_last_ask = True

    def is_asked(self, eyes: Eyes) -> bool:
        return not eyes.is_mediator

    def listed(self, eyes: Eyes, stage_id: str, *, is_over: bool) -> list[str]:
        return ["Your answers:" if is_over and not eyes.is_mediator else "Questions:\n- Why?"]

    def before(self, eyes: Eyes) -> list[str]:
        return ["Questions:\n- Why?" if eyes.is_mediator else "Your answers: none."]

    def said(self, eyes: Eyes, stage_id: str) -> list[str]:
        return [] if eyes.is_mediator else [f"Your answers:\n- Why? {word(eyes.name, stage_id)}"]

    def known(self, eyes: Eyes, stage_id: str) -> set[str]:
        return set() if eyes.is_mediator else {word(eyes.name, stage_id)}

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert [question["title"] for question in view["questions"]] == ["Why?"]
        assert view["answers"] == ({"why": word("ana", stage_id)} if is_over else {})

    def answer(self, key: str, stage_id: str) -> Json:
        return {"why": word("ana", stage_id)}


class TalkRow(Row):
    """What the two kinds of conversations have in common."""

    not_over = (" yet", "What is talked about now")

    def is_asked(self, eyes: Eyes) -> bool:
        return True

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        names = [person["profile"]["name"] for person in view["people"]]
        assert sorted(names) == sorted(PROFILES[name]["name"] for name in self.people_of(Eyes("ana", cast), stage_id))
        assert [person["profile"]["name"] for person in view["people"] if person["is_you"]] == ["Ana"]

    @abstractmethod
    def people_of(self, eyes: Eyes, stage_id: str) -> list[str]:
        """Who is in the conversation."""

    def said(self, eyes: Eyes, stage_id: str) -> list[str]:
        return [
            f"{_shown_name(author, eyes)}: {said}"
            for said in self.known(eyes, stage_id)
            for author in [said[1:].split("-to-")[0].split("@")[0]]
        ]


class GroupChatRow(TalkRow):
    stage: ClassVar[Mapping[str, Json]] = {"topics": [{"id": "one", "name": "The one topic"}]}

    def people_of(self, eyes: Eyes, stage_id: str) -> list[str]:
        return [*eyes.cast.came_to(stage_id), *eyes.cast.mediators]

    def listed(self, eyes: Eyes, stage_id: str, *, is_over: bool) -> list[str]:
        people = [
            "People in this conversation (name, pronouns):",
            *(f"- {_with_pronouns(name)}{' (you)' * (name == eyes.name)}" for name in eyes.cast.came_to(stage_id)),
            "Mediators, who talk without taking part:",
            *(f"- {_with_pronouns(name)}{' (you)' * (name == eyes.name)}" for name in eyes.cast.mediators),
        ]
        about = "What was talked about, one after another:\n\n" if is_over else "What is talked about now: "
        return ["\n".join(people), f"{about}The one topic"]

    def before(self, eyes: Eyes) -> list[str]:
        agents = (name for name in eyes.cast.names if name != "ana")
        listed = (f"- {_with_pronouns(name)}{' (you)' * (name == eyes.name)}" for name in agents)
        return [*listed, "Nobody said anything."]

    def known(self, eyes: Eyes, stage_id: str) -> set[str]:
        """Whoever has left the room hears nothing more, mediators stay."""
        stays = eyes.is_mediator or eyes.name == "ana"
        return {*(word(name, stage_id) for name in eyes.cast.names), *([word("ana", stage_id, LATER)] if stays else [])}

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        super().check_page(view, cast, stage_id, is_over=is_over)
        assert view["topic"] == "one"

    async def act(self, ana: "Ana", stage_id: str) -> None:
        thread, said = await ana.thread(stage_id), word("ana", stage_id)
        everything = {word(name, stage_id) for name in ana.eyes.cast.names}
        await ana.say(thread, said, until=everything)
        # Now the others are asked once more, and leave.
        await ana.say(thread, said)
        await ana.say(thread, word("ana", stage_id, LATER))


class PrivateChatRow(TalkRow):
    def people_of(self, eyes: Eyes, stage_id: str) -> list[str]:
        return [eyes.name, *eyes.cast.mediators]

    def listed(self, eyes: Eyes, stage_id: str, *, is_over: bool) -> list[str]:
        if eyes.room is None:
            return ["Every participant talked alone with the mediators here. What was said stays between them"]
        if eyes.is_mediator:
            (other,) = (name for name in eyes.cast.mediators if name != eyes.name)
            whom = f"the participant {_in_a_sentence(eyes.room)} and the mediator {_in_a_sentence(other)}"
        else:
            whom = f"the mediators {' and '.join(map(_in_a_sentence, eyes.cast.mediators))}"
        return [f"This {'was' if is_over else 'is'} a private conversation with {whom}; nobody else reads it."]

    def before(self, eyes: Eyes) -> list[str]:
        return [] if eyes.room is None else ["Nobody said anything."]

    def known(self, eyes: Eyes, stage_id: str) -> set[str]:
        if eyes.room is None:
            return set()
        return {word(eyes.room, stage_id), *(word(name, stage_id, to=eyes.room) for name in eyes.cast.mediators)}

    async def act(self, ana: "Ana", stage_id: str) -> None:
        await ana.say(await ana.thread(stage_id), word("ana", stage_id), until=self.known(ana.eyes, stage_id))


class MatrixGameRow(Row):
    has_last_ask = True
    stage: ClassVar[Mapping[str, Json]] = {"chat": True, "memory": "full", "horizon": {"type": "fixed", "rounds": 2}}
    not_over = ("You are playing round", "again and again", "has been played yet", "SCORES: You: 0 | Opponent: 0")

    def is_asked(self, eyes: Eyes) -> bool:
        return not eyes.is_mediator

    def answer(self, key: str, stage_id: str) -> Json:
        return {"message": word("ana", stage_id)} if key.endswith("/message") else {"action": "C"} if key else None

    def listed(self, eyes: Eyes, stage_id: str, *, is_over: bool) -> list[str]:
        if eyes.is_mediator:
            return ["Two participants played a game here. It is over. You took no part in it"]
        if is_over:
            return ["You played 2 rounds of this game with one opponent. It is over.", "PAYOFF MATRIX:"]
        return ["of an iterated Prisoner's Dilemma game."]

    def before(self, eyes: Eyes) -> list[str]:
        return [] if eyes.is_mediator else ["No round of this game was played. It is over."]

    def said(self, eyes: Eyes, stage_id: str) -> list[str]:
        if eyes.is_mediator:
            return []
        (other,) = (name for name in eyes.cast.participants if name != eyes.name)
        both = f'You said: "{word(eyes.name, stage_id)}" Opponent said: "{word(other, stage_id)}"'
        return [f"Round 1: {both}\nRound 2: {both}", "Round 2: You=C, Opponent=C", "SCORES: You: 6 | Opponent: 6"]

    def known(self, eyes: Eyes, stage_id: str) -> set[str]:
        return set() if eyes.is_mediator else {word(name, stage_id) for name in eyes.cast.participants}

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert (view["is_player"], view["opponent"]) == (True, "Ben")
        assert (view["status"], view["round"], len(view["rounds"])) == (
            ("over", None, 2) if is_over else ("playing", 1, 0)
        )
        assert view["wants"] == (None if is_over else "message")


class GroupInterviewRow(Row):
    has_last_ask = True
    stage: ClassVar[Mapping[str, Json]] = {
        "context": "Everybody is told this.",
        "roles": [
            {"label": "First", "description": "Only First is told."},
            {"label": "Second", "description": "Only Second is told."},
        ],
        "special_roles": [{"label": "Mo", "description": "Only Mo is told."}],
        "tasks": [
            {
                "id": "ask",
                "type": "private_question",
                "variable": "ask",
                "ask_reasoning": True,
                "randomize_options": True,
                "questions": [
                    {"role": role, "text": f"{role}?", "options": {"type": "list", "values": [*"abcdefgh"]}}
                    for role in ("First", "Second", "Mo")
                ],
            },
        ],
    }

    def is_asked(self, eyes: Eyes) -> bool:
        return eyes.name in ROLES

    def answer(self, key: str, stage_id: str) -> Json:
        return {"response": word("ana", stage_id), "reasoning": secret("ana")} if key else None

    def listed(self, eyes: Eyes, stage_id: str, *, is_over: bool) -> list[str]:
        role = ROLES.get(eyes.name)
        if role is None:
            return ["Everybody is told this.", "You have no role here, and hear nothing of what is said."]
        told = f"Your role here is {role}, and so the others call you. Only {role} is told."
        return ["Everybody is told this.", told]

    def before(self, eyes: Eyes) -> list[str]:
        return []

    def said(self, eyes: Eyes, stage_id: str) -> list[str]:
        if eyes.name not in ROLES:
            return []
        asked = [f"Facilitator (to {role}): {role}?\n" for role in ROLES.values()]
        return [*asked, *(f"\n{role}: {word(name, stage_id)}" for name, role in ROLES.items())]

    def known(self, eyes: Eyes, stage_id: str) -> set[str]:
        return {word(name, stage_id) for name in ROLES} if eyes.name in ROLES else set()

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert (view["context"], view["role"]) == ("Everybody is told this.", "First")
        assert (view["role_description"], view["over"]) == ("Only First is told.", is_over)
        replies = {line["role"]: line["text"] for line in view["transcript"] if not line["read_out"]}
        assert replies == ({role: word(name, stage_id) for name, role in ROLES.items()} if is_over else {})


ROWS: Final[Mapping[str, Row]] = {
    "group_chat": GroupChatRow(),
    "group_interview": GroupInterviewRow(),
    "info": InfoRow(),
    "matrix_game": MatrixGameRow(),
    "private_chat": PrivateChatRow(),
    "survey": SurveyRow(),
}


def _with_pronouns(name: str) -> str:
    return ", ".join(PROFILES[name].values())


def _in_a_sentence(name: str) -> str:
    profile = PROFILES[name]
    return f"{profile['name']} ({profile['pronouns']})" if "pronouns" in profile else profile["name"]


def _shown_name(author: str, eyes: Eyes) -> str:
    return f"{PROFILES[author]['name']}{' (you)' * (author == eyes.name)}"


@dataclass(frozen=True)
class Stage:
    """A stage of the story; `first` and `second` are the two times that the story comes to its kind."""

    id: str
    kind: str

    @property
    def row(self) -> Row:
        return ROWS[self.kind]


def way(cast: Cast) -> list[Stage]:
    """Through all kinds that so many can go through, and back, from a page on which those leave who take no part."""
    there = [name for name, kind in sorted(kinds().items()) if kind.players in (None, len(cast.participants))]
    times = (("first", there), ("second", reversed(there)))
    through = [Stage(f"{time}-{name.replace('_', '-')}", name) for time, names in times for name in names]
    return [Stage("arrival", "info"), *through]


CASTS: Final = {
    "two": Cast(("ana", "ben")),
    "three": Cast(("ana", "ben", "dan"), absent=("eve",), removed=("fay",)),
}


@dataclass(frozen=True)
class Shown:
    """A prompt that was sent (`after` nothing in particular) or a preview, on the stage `at`."""

    eyes: Eyes
    at: Stage
    text: str
    how: str

    def section(self, stage: Stage) -> str:
        """What it shows of this stage, without the headings around it."""
        _, found, rest = self.text.partition(f"[Stage: {stage.id}]")
        assert found, f"{self}: nothing of {stage.id}"
        return re.split(r"\n\n(?:\[Stage: |# )", rest)[0]

    @property
    def was_sent(self) -> bool:
        return self.how.startswith("prompt ")

    @property
    def task(self) -> str:
        """What is asked, with the form of the reply."""
        return self.text.partition("# Your task")[2]

    def __str__(self) -> str:
        return f"{self.how} for {self.eyes.name} at {self.at.id}, alone with {self.eyes.partner}"


@dataclass
class Evidence:
    cast: Cast
    way: list[Stage]
    before: list[Shown] = field(default_factory=list)
    """Previews before the start."""
    shown: list[Shown] = field(default_factory=list)
    """Prompts that were sent, and previews while the story went on and when it was over."""
    pages: dict[tuple[str, str], tuple[Json, str]] = field(default_factory=dict)
    """By the stage on which Ana is and the stage that she looks at: the page, and everything that it gives."""

    def earlier(self, at: Stage) -> list[Stage]:
        return self.way[: self.way.index(at)]


class Teller:
    """A model that says the word of whoever speaks once in each conversation, and gives a secret as its reason."""

    def __init__(self, cast: Cast, evidence: Evidence) -> None:
        self._cast = cast
        self._evidence = evidence
        self._stages = {stage.id: stage for stage in evidence.way}

    async def reply(self, request: ModelRequest) -> ModelReply:
        stage = self._stages[request.stage_id]
        author = str(request.hints[HINT_SPEAKER_NAME]).lower()
        eyes = eyes_of(self._cast, author, stage, _seat_in(request.path, stage.id))
        text = "\n\n".join(message.content for message in request.messages)
        self._evidence.shown.append(Shown(eyes, stage, text, f"prompt {request.path}"))
        own = word(author, stage.id, to=eyes.partner or "")
        known = stage.row.known(eyes, stage.id)
        values = {
            "explanation": secret(author),
            "reasoning": secret(author),
            "action": "C",
            "shouldRespond": own not in text,
            "readyToEndChat": all(said in text for said in known),
        }
        fields = {name: values.get(name, own) for name in request.reply_schema["properties"]}
        return ModelReply(status="ok", parsed=fields, raw=orjson.dumps(fields).decode())

    async def aclose(self) -> None:
        """Nothing is open."""


def _seat_in(path: str, stage_id: str) -> int | None:
    """Whose private conversation a draft is of, by the number of the seat."""
    found = re.search(rf"/{stage_id}/m(\d+)/", path)
    return int(found[1]) if found else None


def eyes_of(cast: Cast, name: str, stage: Stage, seat: int | None = None) -> Eyes:
    """The eyes of an agent that is asked something on this stage."""
    is_alone = stage.kind == "private_chat" and name in cast.mediators
    return Eyes(name, cast, cast.participants[(seat or 1) - 1] if is_alone else None)


class Ana:
    """The person, in front of her page."""

    def __init__(self, client: httpx2.AsyncClient, lab: DrainLab, token: str, cast: Cast) -> None:
        self._client = client
        self._lab = lab
        self._headers = {"Authorization": f"Bearer {token}"}
        self.eyes = Eyes("ana", cast)

    async def get(self, path: str, status: int = 200) -> Json:
        return await self._asked("GET", path, status)

    async def post(self, path: str, body: Json, status: int = 200) -> Json:
        return await self._asked("POST", path, status, json=body)

    async def _asked(self, method: str, path: str, status: int, **request: Any) -> Json:
        # What somebody who has left does not hear was said later.
        self._lab.clock.advance(1.0)
        answer = await self._client.request(method, path, headers=self._headers, **request)
        assert answer.status_code == status, (path, answer.text)
        await self._lab.drain()
        return answer.json()

    async def answer_asks(self, row: Row, stage_id: str) -> None:
        while asks := (await self.get("/v1/me"))["asks"]:
            await self.post(f"/v1/me/asks/{asks[0]['id']}/answer", {"answer": row.answer(asks[0]["key"], stage_id)})

    async def thread(self, stage_id: str) -> str:
        thread_id: str = (await self.get(f"/v1/me/stages/{stage_id}"))["thread"]["id"]
        return thread_id

    async def say(self, thread_id: str, said: str, *, until: Collection[str] = ()) -> None:
        """Say it once, and again until all these words are there: a message has one reply."""
        heard = ""
        for _ in range(4):
            body = {"text": said, "client_message_id": str(uuid4())}
            await self.post(f"/v1/me/threads/{thread_id}/messages", body, 201)
            heard = json.dumps(await self.heard(thread_id))
            if all(words in heard for words in until):
                return
        raise AssertionError(f"not all of {until} was said in {heard}")

    async def heard(self, thread_id: str) -> Json:
        return await self.get(f"/v1/me/threads/{thread_id}/messages")

    async def sees(self, stage: Stage) -> tuple[Json, str]:
        """The page of a stage, and everything that it gives, messages included."""
        page = await self.get(f"/v1/me/stages/{stage.id}")
        heard = await self.heard(page["thread"]["id"]) if page["thread"] else None
        return page, json.dumps([page, heard])


def document(cast: Cast, stages: list[Stage]) -> str:
    everything = [
        {"type": "profile_info"},
        {"type": "persona_context"},
        {"type": "stage_context", "stage": "all"},
        {"type": "task"},
    ]
    closed = [name for name, kind in kinds().items() if kind.default_prompt(kind.example()) is not None]
    agents = [name for name in cast.names if name != "ana"]
    seated = [{"persona": name} for name in cast.participants[1:]]
    seats = [{"open": True}, *seated, *({"open": True} for _ in (*cast.absent, *cast.removed))]
    return yaml.safe_dump(
        {
            "parley": 1,
            "name": "Looking back",
            "seed": 1,
            "stages": [{"id": stage.id, "kind": stage.kind, **stage.row.stage} for stage in stages],
            "personas": [
                {
                    "id": name,
                    "profile": PROFILES[name],
                    "text": secret(name),
                    # Of kinds whose own prompt looks back at nothing.
                    "prompts": {} if name in cast.mediators else dict.fromkeys(closed, everything),
                }
                for name in agents
            ],
            "cohorts": [{"id": "the-room", "seats": seats, "mediators": [*cast.mediators]}],
        }
    )


async def told(database: Database, cast: Cast) -> Evidence:
    """The story, with everything that anybody was shown."""
    evidence = Evidence(cast, way(cast))
    lab = DrainLab(database, models={"mock": Teller(cast, evidence)})
    async with an_api(database, lab) as client:
        created = await client.post(
            "/v1/experiments", content=document(cast, evidence.way), headers={"Content-Type": "application/yaml"}
        )
        assert created.status_code == 201, created.text
        address = f"/v1/experiments/{created.json()['id']}"
        agents = [name for name in cast.names if name != "ana"]

        async def look(addresses: Mapping[str, str], at: Stage, how: str, into: list[Shown]) -> None:
            for name in agents:
                eyes = eyes_of(cast, name, at)
                shown = await client.get(f"{addresses[name]}stage={at.id}")
                is_asked, may_be_through = at.row.is_asked(eyes), at.row.has_last_ask and into is evidence.shown
                expected = {200, 409} if is_asked and may_be_through else {200 if is_asked else 404}
                assert shown.status_code in expected, (how, name, at, shown.text)
                if shown.status_code == 200:
                    said = "\n\n".join(message["content"] for message in shown.json()["messages"])
                    into.append(Shown(eyes, at, said, how))

        for stage in evidence.way:
            by_persona = {name: f"{address}/prompt?persona={name}&" for name in agents}
            await look(by_persona, stage, "preview before the start", evidence.before)
        await client.post(f"{address}/start")
        people: dict[str, Ana] = {}
        for name in ("ana", *cast.absent, *cast.removed):
            joined = (await client.post(f"{address}/join", json={"profile": PROFILES[name]})).json()
            people[name] = Ana(client, lab, joined["token"], cast)
        for name in cast.absent:
            await people[name].post("/v1/me/leave", {})
        for name in cast.removed:
            await people[name].post("/v1/me/stages/arrival/advance", {})
        rows = await lab.rows("SELECT id, lower(profile ->> 'name') AS name FROM members WHERE player = 'agent'")
        by_member = {row.name: f"/v1/members/{row.id}/prompt?" for row in rows}
        ana = people["ana"]
        await lab.drain()
        for place, stage in enumerate(evidence.way):
            for looked_at in evidence.way[: place + 1]:
                evidence.pages[stage.id, looked_at.id] = await ana.sees(looked_at)
            for later in evidence.way[place + 1 :]:
                await ana.get(f"/v1/me/stages/{later.id}", 409)
            await look(by_member, stage, "preview while it is on", evidence.shown)
            if stage.id == "first-group-chat":
                for row in await lab.rows("SELECT id FROM members WHERE profile ->> 'name' = 'Fay'"):
                    await client.post(f"/v1/members/{row.id}/remove", json={"reason": "for the test"})
            await stage.row.act(ana, stage.id)
            await ana.post(f"/v1/me/stages/{stage.id}/advance", {"answer": stage.row.answer("", stage.id)})
        assert (await ana.get("/v1/me"))["status"] == "completed"
        for stage in evidence.way:
            await look(by_member, stage, "preview when all is over", evidence.shown)
    return evidence


@pytest.fixture(scope="module")
def all_evidence(postgres_server: Server, template_database: str) -> Mapping[str, Evidence]:
    """What was shown to each cast."""

    async def play(url: str, cast: Cast) -> Evidence:
        database = connect(url)
        try:
            return await told(database, cast)
        finally:
            await database.close()

    found: dict[str, Evidence] = {}
    for name, cast in CASTS.items():
        database_name = f"parley_looking_back_{uuid4().hex}"
        found[name] = asyncio.run(play(copy_database(postgres_server.url, template_database, database_name), cast))
        drop_database(postgres_server.url, database_name)
    return found


PLAYED: Final = [(cast, kind) for cast in CASTS for kind in dict.fromkeys(stage.kind for stage in way(CASTS[cast]))]
"""Each kind that a cast plays."""
PAIRS: Final = [
    pytest.param(cast, one, other, id=f"{cast}-{one}-from-{other}")
    for cast, one in PLAYED
    for others, other in PLAYED
    if others == cast
]
"""Each kind, looked back at from each, by each cast."""


def test_every_kind_has_a_row() -> None:
    assert set(ROWS) == set(kinds()), "say in ROWS what each kind shows to whom"


@pytest.mark.parametrize(("cast", "kind", "other"), PAIRS)
def test_what_is_looked_back_at_in_prompts(
    all_evidence: Mapping[str, Evidence], cast: str, kind: str, other: str
) -> None:
    evidence, row = all_evidence[cast], ROWS[kind]
    looks = [
        (shown, stage)
        for shown in evidence.shown
        for stage in evidence.earlier(shown.at)
        if (stage.kind, shown.at.kind) == (kind, other)
    ]

    for shown, stage in looks:
        section = shown.section(stage)
        assert shown.text.index(OVER) < shown.text.index(f"[Stage: {stage.id}]") < shown.text.index("# Current stage")
        for sentence in (*row.listed(shown.eyes, stage.id, is_over=True), *row.said(shown.eyes, stage.id)):
            assert sentence in section, f"{shown} does not say of {stage.id}: {sentence}\n\n{section}"
        known = row.known(shown.eyes, stage.id)
        assert words_in(section, stage.id) == known, f"{shown}, of {stage.id}"
        assert words_in(shown.text, stage.id) == known, f"{shown}, of {stage.id}, elsewhere"
        assert not [words for words in row.not_over if words in section], f"{shown}, of {stage.id}\n\n{section}"
    asked = [name for name in evidence.cast.names if ROWS[other].is_asked(Eyes(name, evidence.cast)) and name != "ana"]
    assert {shown.eyes.name for shown, _ in looks} == set(asked)


@pytest.mark.parametrize(("cast", "kind", "other"), PAIRS)
def test_what_a_preview_looks_back_at_before_anything_has_happened(
    all_evidence: Mapping[str, Evidence], cast: str, kind: str, other: str
) -> None:
    evidence, row = all_evidence[cast], ROWS[kind]

    for shown in evidence.before:
        for stage in evidence.earlier(shown.at):
            if (stage.kind, shown.at.kind) == (kind, other):
                section = shown.section(stage)
                for sentence in row.before(shown.eyes):
                    assert sentence in section, f"{shown} does not say of {stage.id}: {sentence}\n\n{section}"
                assert not [words for words in row.not_over if words in section], f"{shown}, of {stage.id}\n\n{section}"
                assert not words_in(shown.text, stage.id)


@pytest.mark.parametrize(("cast", "kind", "other"), PAIRS)
def test_what_is_looked_back_at_on_pages(
    all_evidence: Mapping[str, Evidence], cast: str, kind: str, other: str
) -> None:
    evidence, row = all_evidence[cast], ROWS[kind]
    ana = Eyes("ana", evidence.cast)

    for at in evidence.way:
        for stage in evidence.earlier(at):
            if (stage.kind, at.kind) == (kind, other):
                page, everything = evidence.pages[at.id, stage.id]
                assert (page["state"], page["blocked_by"], page["asks"]) == ("done", [], [])
                row.check_page(page["view"], evidence.cast, stage.id, is_over=True)
                assert words_in(everything, stage.id) == row.known(ana, stage.id)


@pytest.mark.parametrize(("cast", "kind"), sorted(PLAYED))
def test_what_is_shown_while_it_is_on(all_evidence: Mapping[str, Evidence], cast: str, kind: str) -> None:
    evidence, row = all_evidence[cast], ROWS[kind]
    stages = [stage for stage in evidence.way if stage.kind == kind]

    for stage in stages:
        shown_here = [shown for shown in (*evidence.before, *evidence.shown) if shown.at == stage]
        for shown in shown_here:
            section = shown.section(stage)
            assert shown.text.index("# Current stage\n\nYou are here now.") < shown.text.index(f"[Stage: {stage.id}]")
            if shown.how != "preview before the start":
                for sentence in row.listed(shown.eyes, stage.id, is_over=False):
                    assert sentence in section, f"{shown} does not say: {sentence}\n\n{section}"
            assert words_in(shown.text, stage.id) <= row.known(shown.eyes, stage.id), str(shown)
        page, everything = evidence.pages[stage.id, stage.id]
        assert page["state"] == "current"
        row.check_page(page["view"], evidence.cast, stage.id, is_over=False)
        assert words_in(everything, stage.id) <= row.known(Eyes("ana", evidence.cast), stage.id)


@pytest.mark.parametrize(("cast", "kind"), sorted(PLAYED))
def test_a_preview_before_the_start_asks_what_is_asked_first(
    all_evidence: Mapping[str, Evidence], cast: str, kind: str
) -> None:
    evidence = all_evidence[cast]
    previews = [shown for shown in evidence.before if shown.at.kind == kind]

    for preview in previews:
        sent = (one for one in evidence.shown if (one.at, one.eyes) == (preview.at, preview.eyes) and one.was_sent)
        assert next(sent).task == preview.task, str(preview)
    assert bool(previews) == any(ROWS[kind].is_asked(Eyes(name, evidence.cast)) for name in evidence.cast.names)


@pytest.mark.parametrize("cast", CASTS)
def test_nobody_is_shown_a_secret_of_another_or_who_took_no_part(
    all_evidence: Mapping[str, Evidence], cast: str
) -> None:
    evidence = all_evidence[cast]

    for shown in (*evidence.before, *evidence.shown):
        assert secret(shown.eyes.name) in shown.text
        assert not [name for name in evidence.cast.others(shown.eyes.name) if secret(name) in shown.text], str(shown)
        assert not re.search(r"\bEve\b", shown.text), str(shown)
    for at, (_, everything) in evidence.pages.items():
        assert not [name for name in evidence.cast.others("ana") if secret(name) in everything], at
        assert not re.search(r"\bEve\b", everything), at
