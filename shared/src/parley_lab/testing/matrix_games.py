"""Matrix games of two for tests: after which moves and words, as the lab and as a player sees them."""

from random import Random
from typing import Any
from uuid import UUID

from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import Ask, Json, LabView, Member, OwnView, Question
from parley_lab.kinds.stages.matrix_game.config import MatrixGameStage
from parley_lab.kinds.stages.matrix_game.game import message_key, move_key
from parley_lab.kinds.stages.matrix_game.rules import KIND, GameDraws, GameQuestions
from parley_lab.testing.views import as_seen_by, lab, own
from parley_lab.views.builder import stated, with_moves

ANA, BEN = UUID(int=1), UUID(int=2)


def member(member_id: UUID, player: Any = "agent", **fields: Any) -> Member:
    return Member(member_id, f"c1/m{member_id.int}", "participant", player, Profile(name=f"P{member_id.int}"), **fields)


MEMBERS = (member(ANA), member(BEN))


def stage(**fields: Any) -> MatrixGameStage:
    return MatrixGameStage.model_validate({"id": "game", "horizon": {"type": "fixed", "rounds": 3}, **fields})


def draws(of: MatrixGameStage, seed: int = 1) -> dict[str, Json]:
    return GameDraws(of).draw(MEMBERS, {}, Random(seed))


def view(of: MatrixGameStage, own: str = "", other: str = "", **fields: Any) -> LabView:
    """The lab's view after these moves of Ana and Ben, the state included."""
    moves = {
        (owner, move_key(number)): {"action": action, "cooperates": action == "C"}
        for owner, actions in ((ANA, own), (BEN, other))
        for number, action in enumerate(actions, start=1)
    }
    members = fields.pop("members", MEMBERS)
    return stated(of, lab(*members, given=moves, **{"draws": draws(of), **fields}))


def seen_by(seen: LabView, reader: UUID = ANA) -> OwnView:
    return as_seen_by(reader, seen)


def asks(of: MatrixGameStage, seen: LabView) -> list[Ask]:
    """What both are asked now."""
    return [ask for one in (ANA, BEN) for ask in GameQuestions(of).due(seen_by(seen, one))]


def page(of: MatrixGameStage, seen: OwnView) -> dict[str, Json]:
    """The page as JSON."""
    return KIND.page(of, seen).model_dump(mode="json")


def question(of: MatrixGameStage, ask: Ask, seen: OwnView) -> Question:
    found = GameQuestions(of).question(seen, ask)
    assert found is not None
    return found


def talking(of: MatrixGameStage, messages: dict[UUID, list[str]], ours: str = "", theirs: str = "") -> LabView:
    """The view of a game with chat after these messages and moves."""
    said = {
        (owner, message_key(number)): question(of, Ask(owner, message_key(number), "message"), own(MEMBERS[0])).check(
            {"message": text}
        )
        for owner, texts in messages.items()
        for number, text in enumerate(texts, start=1)
    }
    return stated(of, with_moves(view(of, ours, theirs), said))
