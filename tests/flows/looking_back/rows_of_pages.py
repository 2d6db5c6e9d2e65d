"""The rows of the kinds that show something, or ask for no more than a name or a yes."""

from collections.abc import Mapping
from typing import ClassVar

from tests.flows.looking_back.cast import PROFILES, Cast, Json, Reader, in_words
from tests.flows.looking_back.row import Row


class InfoRow(Row):
    stage: ClassVar[Mapping[str, Json]] = {"lines": ["Read this."]}

    def is_asked(self, reader: Reader) -> bool:
        return False

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        return ["Read this."]

    def before(self, reader: Reader) -> list[str]:
        return ["Read this."]

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        return []

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return set()

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert view["lines"] == ["Read this."]


class TermsOfServiceRow(Row):
    stage: ClassVar[Mapping[str, Json]] = {"lines": ["Be kind."], "box": "I will."}

    def is_asked(self, reader: Reader) -> bool:
        return False

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        return ["Be kind.", "I will."]

    def before(self, reader: Reader) -> list[str]:
        return ["Be kind.", "I will."]

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        return [] if reader.is_mediator else ["You accepted: I will."]

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return set()

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert (view["lines"], view["box"], view["accepted"]) == (["Be kind."], "I will.", True if is_over else None)

    def answer(self, key: str, stage_id: str) -> Json:
        return {"accepted": True}


class ProfileRow(Row):
    """All members keep their names."""

    has_last_ask = True

    def is_asked(self, reader: Reader) -> bool:
        return not reader.is_mediator

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        if reader.is_mediator:
            return ["Here participants chose the names by which they are known from then on."]
        known = in_words(reader.name)
        return [f"From here on the others know you as: {known}." if is_over else f"the others know you as: {known}."]

    def before(self, reader: Reader) -> list[str]:
        return [] if reader.is_mediator else ["The others know you as: "]

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        return []

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return set()

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert (view["set"], view["name"], view["pronouns"]) == ("free", "Ana", "she/her")

    def answer(self, key: str, stage_id: str) -> Json:
        return PROFILES["ana"]


class RoleRow(Row):
    stage: ClassVar[Mapping[str, Json]] = {"roles": [{"id": "peer", "name": "Peer", "lines": ["You are a peer."]}]}
    not_over = (" yet", "is being drawn")

    def is_asked(self, reader: Reader) -> bool:
        return False

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        if reader.is_mediator:
            return ["Every participant was given a role here. You have none."]
        return ["Your role: Peer.\n\nYou are a peer."]

    def before(self, reader: Reader) -> list[str]:
        return self.listed(reader, "", is_over=True)

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        return []

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return set()

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert view["role"] == {"id": "peer", "name": "Peer", "lines": ["You are a peer."]}


class RevealRow(Row):
    stage: ClassVar[Mapping[str, Json]] = {
        "items": [
            {"stage": "first-ranking", "audience": "all", "columns": ["a"]},
            {"stage": "first-ranking", "show": "result"},
        ]
    }
    not_over = (" yet",)

    def is_asked(self, reader: Reader) -> bool:
        return False

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        if reader.is_mediator:
            return ["Participants were shown here what became of earlier stages. You were not."]
        others = [name for name in reader.cast.participants if name not in ("ana", reader.name)]
        lines = [f"{PROFILES[name]['name']}:\n- Place of: Alpha: 1" for name in others]
        return ["first-ranking:\nYou:\n- Place of: Alpha: 1", "Ana:\n- Place of: Alpha: 2", "- Elected: ", *lines]

    def before(self, reader: Reader) -> list[str]:
        return [] if reader.is_mediator else ["first-ranking:\nNothing is known of it."]

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        return []

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return set()

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        shown = [(one["name"], [line["value"] for line in one["lines"]]) for one in view["items"][0]["answers"]]
        others = [(PROFILES[name]["name"], ["1"]) for name in cast.participants if name != "ana"]
        assert shown == [(None, ["2"]), *others]
        assert [line["label"] for line in view["items"][1]["result"]] == ["Elected"]


class PayoutRow(Row):
    stage: ClassVar[Mapping[str, Json]] = {"items": [{"id": "come", "name": "Coming", "stage": "arrival", "base": 2.5}]}
    not_over = (" yet",)

    def is_asked(self, reader: Reader) -> bool:
        return False

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        if reader.is_mediator:
            return ["Participants were told here what they are paid."]
        return ["You are paid USD 2.50.\n- Coming: 2.50 (2.50 for completing it)."]

    def before(self, reader: Reader) -> list[str]:
        return [] if reader.is_mediator else ["You are paid USD 2.50.\n- Coming: 2.50"]

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        return []

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return set()

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert (view["amount"], [one["name"] for one in view["items"]]) == ("2.50", ["Coming"])


class StockInfoRow(Row):
    stage: ClassVar[Mapping[str, Json]] = {
        "stocks": [{"id": "a", "name": "Alpha", "prices": "date,close\n2022-01-03,100\n2022-12-30,90\n"}]
    }
    not_over = (" yet",)

    def is_asked(self, reader: Reader) -> bool:
        return False

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        return ["Alpha\n- Price: 100 USD on 2022-01-03, 90 USD on 2022-12-30\n- 2022: -10.0 %"]

    def before(self, reader: Reader) -> list[str]:
        return self.listed(reader, "", is_over=True)

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        return []

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return set()

    def answer(self, key: str, stage_id: str) -> Json:
        return {"viewed": True} if key else None

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        (stock,) = view["stocks"]
        assert (stock["name"], [one["change"] for one in stock["years"]]) == ("Alpha", [-0.1])
        assert stock["is_viewed"] is is_over
