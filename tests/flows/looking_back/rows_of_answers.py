"""The rows of the kinds that ask each member alone."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from tests.flows.looking_back.cast import PROFILES, Cast, Json, Reader, word
from tests.flows.looking_back.row import Row

if TYPE_CHECKING:
    from tests.flows.looking_back.players import Ana


class SurveyRow(Row):
    stage: ClassVar[Mapping[str, Json]] = {"questions": [{"id": "why", "kind": "text", "title": "Why?"}]}
    not_over = (" yet",)
    has_last_ask = True

    def is_asked(self, reader: Reader) -> bool:
        return not reader.is_mediator

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        return ["Your answers:" if is_over and not reader.is_mediator else "Questions:\n- Why?"]

    def before(self, reader: Reader) -> list[str]:
        return ["Questions:\n- Why?" if reader.is_mediator else "Your answers: none."]

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        return [] if reader.is_mediator else [f"Your answers:\n- Why? {word(reader.name, stage_id)}"]

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return set() if reader.is_mediator else {word(reader.name, stage_id)}

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert [question["title"] for question in view["questions"]] == ["Why?"]
        assert view["answers"] == ({"why": word("ana", stage_id)} if is_over else {})

    def answer(self, key: str, stage_id: str) -> Json:
        return {"why": word("ana", stage_id)}


class SurveyPerParticipantRow(Row):
    stage: ClassVar[Mapping[str, Json]] = {"questions": [{"id": "why", "kind": "text", "title": "Why?"}]}
    not_over = (" yet", "whom the questions are about")
    has_last_ask = True
    asks_about_members = True

    def __init__(self) -> None:
        self._asked: dict[str, list[str]] = {}

    def is_asked(self, reader: Reader) -> bool:
        return not reader.is_mediator

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        if reader.is_mediator:
            return ["The participants answered questions about each other here, each for themselves."]
        return ["Your answers about "] if is_over else ["The people whom the questions are about:", "- Why?"]

    def before(self, reader: Reader) -> list[str]:
        return self.listed(reader, "", is_over=True)

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        others = [name for name in reader.cast.participants if name != reader.name and not reader.is_mediator]
        own = word(reader.name, stage_id)
        return [f"Your answers about {PROFILES[name]['name']}:\n- Why? {own}" for name in others]

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return set() if reader.is_mediator else {word(reader.name, stage_id)}

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        others = {PROFILES[name]["name"] for name in cast.participants if name != "ana"}
        assert {person["name"] for person in view["people"]} == others
        given = {f"{person['tag']}_why": word("ana", stage_id) for person in view["people"]}
        assert view["answers"] == (given if is_over else {})

    async def act(self, ana: "Ana", stage_id: str) -> None:
        page = await ana.get(f"/v1/me/stages/{stage_id}")
        self._asked[stage_id] = list(page["forms"][0]["form"]["properties"])

    def answer(self, key: str, stage_id: str) -> Json:
        return dict.fromkeys(self._asked[stage_id], word("ana", stage_id))


class ComprehensionRow(Row):
    stage: ClassVar[Mapping[str, Json]] = {
        "most_attempts": 1,
        "questions": [{"id": "why", "kind": "text", "title": "Why?", "correct": "the-right-one"}],
    }
    not_over = (" yet", "the-right-one", "first attempt")
    has_last_ask = True

    def is_asked(self, reader: Reader) -> bool:
        return not reader.is_mediator

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        return ["Questions on what was to be read:\n- Why?"]

    def before(self, reader: Reader) -> list[str]:
        return ["- Why?", *([] if reader.is_mediator else ["You answered none of them."])]

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        return [] if reader.is_mediator else [f"- Why? {word(reader.name, stage_id)} (not right)"]

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return set() if reader.is_mediator else {word(reader.name, stage_id)}

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert (view["attempts"], view["passed"]) == ((1, False) if is_over else (0, None))
        assert view["answers"] == ({"why": word("ana", stage_id)} if is_over else {})
        assert "the-right-one" not in str(view)

    def answer(self, key: str, stage_id: str) -> Json:
        return {"why": word("ana", stage_id)} if key else None


class RankingRow(Row):
    stage: ClassVar[Mapping[str, Json]] = {
        "rank": "items",
        "items": [{"id": "a", "text": "Alpha"}, {"id": "b", "text": "Beta"}],
    }
    not_over = (" yet", "winner", "elected")
    has_last_ask = True

    def is_asked(self, reader: Reader) -> bool:
        return not reader.is_mediator

    def answer(self, key: str, stage_id: str) -> Json:
        return {"ranking": ["b", "a"]}

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        if reader.is_mediator:
            return ["The participants gave an order here, each for themselves. You took no part in it."]
        return ["Bring these into an order, the best first.\n- a: Alpha\n- b: Beta"]

    def before(self, reader: Reader) -> list[str]:
        return [] if reader.is_mediator else ["Your order: none."]

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        return [] if reader.is_mediator else ["Your order:\n1. Alpha\n2. Beta"]

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return set()

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert [one["text"] for one in view["candidates"]] == ["Alpha", "Beta"]
        assert view["ranking"] == (["b", "a"] if is_over else [])


class AssetAllocationRow(Row):
    stage: ClassVar[Mapping[str, Json]] = {"assets": [{"id": "a", "name": "Alpha"}, {"id": "b", "name": "Beta"}]}
    not_over = (" yet",)
    has_last_ask = True

    def is_asked(self, reader: Reader) -> bool:
        return not reader.is_mediator

    def answer(self, key: str, stage_id: str) -> Json:
        return {"share": 35}

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        return ["How do you divide your money?\n- Alpha\n- Beta"]

    def before(self, reader: Reader) -> list[str]:
        return [] if reader.is_mediator else ["You gave nothing."]

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        return [] if reader.is_mediator else ["You gave 60 percent to Alpha, 40 percent to Beta."]

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return set()

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert [one["name"] for one in view["assets"]] == ["Alpha", "Beta"]
        assert [one["share"] for one in view["assets"]] == ([35, 65] if is_over else [None, None])
