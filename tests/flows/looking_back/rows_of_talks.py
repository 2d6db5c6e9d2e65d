"""The rows of the kinds in which members talk."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from tests.flows.looking_back.cast import (
    LATER,
    PROFILES,
    ROLES,
    Cast,
    Json,
    Reader,
    in_a_sentence,
    secret,
    shown_name,
    with_pronouns,
    word,
)
from tests.flows.looking_back.row import Row

if TYPE_CHECKING:
    from tests.flows.looking_back.players import Ana


class TalkRow(Row):
    """What the two kinds of conversations have in common."""

    not_over = (" yet", "What is talked about now")

    def is_asked(self, reader: Reader) -> bool:
        return True

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        names = [person["profile"]["name"] for person in view["people"]]
        assert sorted(names) == sorted(PROFILES[name]["name"] for name in self.people_of(Reader("ana", cast), stage_id))
        assert [person["profile"]["name"] for person in view["people"] if person["is_you"]] == ["Ana"]

    @abstractmethod
    def people_of(self, reader: Reader, stage_id: str) -> list[str]:
        """Who is in the conversation."""

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        return [
            f"from {shown_name(author, reader)}] {said}"
            for said in self.known(reader, stage_id)
            for author in [said[1:].split("-to-")[0].split("@")[0]]
        ]


def _listed(name: str, reader: Reader) -> str:
    return f"- {with_pronouns(name)}{' (you)' * (name == reader.name)}"


class GroupChatRow(TalkRow):
    stage: ClassVar[Mapping[str, Json]] = {"topics": [{"id": "one", "name": "The one topic"}]}

    def people_of(self, reader: Reader, stage_id: str) -> list[str]:
        return [*reader.cast.came_to(stage_id), *reader.cast.mediators]

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        people = [
            "People in this conversation (name, pronouns):",
            *(_listed(name, reader) for name in reader.cast.as_shown(reader.cast.came_to(stage_id))),
            "Mediators, who talk without taking part:",
            *(_listed(name, reader) for name in reader.cast.as_shown(reader.cast.mediators)),
        ]
        about = "What was talked about, one after another:\n\n" if is_over else "What is talked about now: "
        return ["\n".join(people), f"{about}The one topic"]

    def before(self, reader: Reader) -> list[str]:
        agents = (name for name in reader.cast.names if name != "ana")
        listed = (f"- {with_pronouns(name)}{' (you)' * (name == reader.name)}" for name in agents)
        return [*listed, "Nobody said anything."]

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        """A member who has left the room hears nothing more; mediators stay."""
        stays = reader.is_mediator or reader.name == "ana"
        later = [word("ana", stage_id, LATER)] if stays else []
        return {*(word(name, stage_id) for name in reader.cast.names), *later}

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        super().check_page(view, cast, stage_id, is_over=is_over)
        assert view["topic"] == "one"

    async def act(self, ana: "Ana", stage_id: str) -> None:
        thread, said = await ana.thread(stage_id), word("ana", stage_id)
        everything = {word(name, stage_id) for name in ana.reader.cast.names}
        await ana.say(thread, said, until=everything)
        # Now the others are asked once more, and leave.
        await ana.say(thread, said)
        await ana.say(thread, word("ana", stage_id, LATER))


class PrivateChatRow(TalkRow):
    def people_of(self, reader: Reader, stage_id: str) -> list[str]:
        return [reader.name, *reader.cast.mediators]

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        if reader.room is None:
            return ["Every participant talked alone with the mediators here. What was said stays between them"]
        if reader.is_mediator:
            (other,) = (name for name in reader.cast.mediators if name != reader.name)
            whom = f"the participant {in_a_sentence(reader.room)} and the mediator {in_a_sentence(other)}"
        else:
            mediators = reader.cast.as_shown(reader.cast.mediators)
            whom = f"the mediators {' and '.join(map(in_a_sentence, mediators))}"
        return [f"This {'was' if is_over else 'is'} a private conversation with {whom}; nobody else reads it."]

    def before(self, reader: Reader) -> list[str]:
        return [] if reader.room is None else ["Nobody said anything."]

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        if reader.room is None:
            return set()
        return {word(reader.room, stage_id), *(word(name, stage_id, to=reader.room) for name in reader.cast.mediators)}

    async def act(self, ana: "Ana", stage_id: str) -> None:
        await ana.say(await ana.thread(stage_id), word("ana", stage_id), until=self.known(ana.reader, stage_id))


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

    def is_asked(self, reader: Reader) -> bool:
        return reader.name in ROLES

    def answer(self, key: str, stage_id: str) -> Json:
        return {"response": word("ana", stage_id), "reasoning": secret("ana")} if key else None

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        role = ROLES.get(reader.name)
        if role is None:
            return ["Everybody is told this.", "You have no role here, and hear nothing of what is said."]
        told = f"Your role here is {role}, and so the others call you. Only {role} is told."
        return ["Everybody is told this.", told]

    def before(self, reader: Reader) -> list[str]:
        return []

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        if reader.name not in ROLES:
            return []
        asked = [f"[from Facilitator, to {role}] {role}?\n" for role in ROLES.values()]
        return [*asked, *(f"\n[from {role}] {word(name, stage_id)}" for name, role in ROLES.items())]

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return {word(name, stage_id) for name in ROLES} if reader.name in ROLES else set()

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert (view["context"], view["role"]) == ("Everybody is told this.", "First")
        assert (view["role_description"], view["over"]) == ("Only First is told.", is_over)
        replies = {line["role"]: line["text"] for line in view["transcript"] if not line["read_out"]}
        assert replies == ({role: word(name, stage_id) for name, role in ROLES.items()} if is_over else {})
