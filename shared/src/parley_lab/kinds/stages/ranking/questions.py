"""The question of a ranking: an order without repetitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from pydantic import AfterValidator, BaseModel, create_model
from pydantic import Field as Bounds

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.replies import Reply, order
from parley_lab.kinds import (
    PAGE,
    Ask,
    Field,
    Form,
    Json,
    Label,
    OwnView,
    Question,
    Questions,
    Substitute,
    UnusableReply,
    form,
)
from parley_lab.kinds.parts import WithoutAnswer
from parley_lab.kinds.questions.own_order import ORDER, without_order
from parley_lab.kinds.stages.ranking.candidates import RANKING, Candidate, candidates_of, places_of
from parley_lab.kinds.stages.ranking.config import USUAL_QUESTION, RankingStage


class RankingQuestions(Questions):
    def __init__(self, stage: RankingStage) -> None:
        self._stage = stage

    def due(self, view: OwnView) -> list[Ask]:
        me = view.me
        is_asked = me.kind == "participant" and me.player == "agent" and me.present and PAGE not in view.own
        return [Ask(me.id, PAGE, "page")] if is_asked and candidates_of(self._stage, view) else []

    def question(self, view: OwnView, ask: Ask) -> Question | None:
        found = tuple(candidates_of(self._stage, view))
        return Ordering(self._stage, found) if ask.key == PAGE and found else None

    def shown(self, answer: Json) -> Json:
        """Without the order, which the page has."""
        return without_order(answer)

    def most_replies(self) -> int:
        return 1


class RankingReply(Reply):
    ranking: list[str]


# Making the shape takes longer than all the rest of a prompt, and all who vote are asked for the same.
@lru_cache(maxsize=1024)
def _reply_model(texts: tuple[tuple[str, str], ...], count: int) -> type[RankingReply]:
    """`texts`: the code of each candidate and what it says."""
    bounds = Bounds(min_length=count, max_length=count, json_schema_extra={"uniqueItems": True})
    codes = order(dict(texts), bounds, AfterValidator(_without_repeats))
    described = Bounds(description="The codes in your order, the best first; each at most once.")
    return create_model("RankingReply", __base__=RankingReply, ranking=(codes, described))


def _without_repeats(codes: list[str]) -> list[str]:
    if len(set(codes)) != len(codes):
        raise ValueError("each may have one place")
    return codes


@dataclass(frozen=True, slots=True)
class Ordering(Question):
    """An order of these candidates."""

    counts_unsent: ClassVar[bool] = True

    stage: RankingStage
    candidates: tuple[Candidate, ...]

    @property
    def _places(self) -> int:
        return places_of(self.stage, len(self.candidates))

    def form(self) -> Form:
        options = [{"const": one.id, "title": one.text} for one in self.candidates]
        schema = {
            "type": "array",
            **form.titled(self._title),
            "items": {"type": "string", "oneOf": options},
            "uniqueItems": True,
            "minItems": self._places,
            "maxItems": self._places,
            "x-widget": "ranking",
        }
        return Form((Field(RANKING, schema),))

    @property
    def _title(self) -> str:
        question = self.stage.question
        return Label(question, "bring_into_order") if question == USUAL_QUESTION else question

    def task(self) -> str:
        count = "all of them" if self._places == len(self.candidates) else f"{self._places} of them"
        return f"{self.stage.question} Give a place to {count}, by their codes."

    def reply_model(self) -> type[BaseModel]:
        return _reply_model(tuple((one.code, one.text) for one in self.candidates), self._places)

    def answer_from_reply(self, reply: BaseModel) -> Json:
        if not isinstance(reply, RankingReply):
            raise TypeError(f"a ranking is a RankingReply, not a {type(reply).__name__}")
        ids = {one.code: one.id for one in self.candidates}
        return {RANKING: [ids[code] for code in reply.ranking]}

    def check(self, answer: Json) -> Json:
        answer = without_order(answer)
        given = answer.get(RANKING) if isinstance(answer, Mapping) else None
        unknown = [str(key) for key in answer if key != RANKING] if isinstance(answer, Mapping) else []
        if unknown:
            raise InvalidInput("This is no ranking.", [Problem(key, "an answer", "nothing") for key in unknown])
        known = {one.id for one in self.candidates}
        is_order = isinstance(given, list | tuple) and all(isinstance(one, str) and one in known for one in given)
        if not is_order or given is None or len(set(given)) != len(given) or len(given) != self._places:
            expected = f"a list of {self._places} different ids of those who can be ranked, the best first"
            raise InvalidInput("This is no ranking.", [Problem(RANKING, _found(given), expected)])
        order = {ORDER: [one.id for one in self.candidates]} if self.stage.shuffle_items else {}
        return {RANKING: list(given), **order}

    def without_answer(self, replies: Sequence[UnusableReply]) -> WithoutAnswer:
        """No vote; an agent without any reply leaves, with the reason."""
        return Substitute({RANKING: []}) if replies and self.stage.on_invalid == "missing" else "drop"


def _found(given: Json) -> str:
    return "no order" if given is None else repr(given)[:80]
