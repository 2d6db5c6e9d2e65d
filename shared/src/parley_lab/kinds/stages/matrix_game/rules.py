"""The rules of an iterated game of two."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Final
from uuid import UUID

from pydantic import BaseModel

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.languages import NameLanguage
from parley_lab.contracts.models import HINT_SUGGESTED, Hint
from parley_lab.contracts.prompt_items import Character, PromptItems, StageContext, Task
from parley_lab.kinds import (
    PAGE,
    Ask,
    Block,
    Blocked,
    Column,
    Completion,
    Data,
    Done,
    Draws,
    Field,
    Form,
    Json,
    Label,
    LabView,
    Member,
    OwnView,
    Parts,
    Question,
    Questions,
    Reason,
    StageKind,
    Substitute,
    Table,
    UnusableReply,
    form,
)
from parley_lab.kinds.parts import Narration, Scripts
from parley_lab.kinds.stages.matrix_game import display, play, prompts, rounds, script, telling
from parley_lab.kinds.stages.matrix_game.config import FixedHorizon, MatrixGameStage, length
from parley_lab.kinds.stages.matrix_game.game import (
    EXCLUDED,
    LEFT,
    MESSAGE,
    MOVE,
    SEATS,
    Game,
    game_of,
    is_message,
    message_key,
    move_for_unreadable,
    move_key,
    round_of,
    tally,
)
from parley_lab.kinds.stages.matrix_game.parser import parse
from parley_lab.kinds.stages.matrix_game.payoffs import violations
from parley_lab.kinds.stages.matrix_game.replies import (
    MessageReply,
    MoveReply,
    checked_message,
    checked_move,
    move_reply,
)
from parley_lab.kinds.stages.matrix_game.reporting import GamesReporter
from parley_lab.kinds.stages.matrix_game.script import in_conversations
from parley_lab.kinds.view import View

MOST_UNUSABLE_REPLIES: Final = 3
"""The first attempt and two corrections."""
_SEED_BITS: Final = 53
"""Every JSON reader represents integers of this size exactly."""
_PROMPT: Final[PromptItems] = (Character(), StageContext(heading=False), Task(heading=False))
"""Only what the published templates show: the name of the stage could tell what is studied."""


class MatrixGame(StageKind[MatrixGameStage]):
    config_model = MatrixGameStage

    def problems(self, stage: MatrixGameStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        found = [] if stage.exploratory else list(violations(stage.payoffs))
        problems = [replace(problem, where="payoffs") for problem in found]
        if stage.counterbalance and stage.framing == "named":
            expected = "`neutral` or `situated`: the letters of named actions are no matter of chance"
            problems.append(Problem("framing", "'named' with `counterbalance`", expected))
        return problems

    def page(self, stage: MatrixGameStage, view: OwnView) -> display.GamePage:
        return display.page_of(game_of(stage, view), view)

    def prompt(self, stage: MatrixGameStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        game = game_of(stage, view)
        if ask is None:
            return [Block("\n\n".join(telling.paragraphs(game, view.me.id)))]
        side = game.side_of(view.me.id)
        turns = [] if side is None else game.turns(side)
        said = [] if side is None else game.messages(side)
        paragraphs = prompts.round_prompt(stage, game.payoffs(side or 0), game.labels, turns, game.length, said)
        return [Block("\n\n".join(paragraphs))]

    def completion(self, stage: MatrixGameStage, view: OwnView) -> Completion:
        """Players go on when the game is over, with its result; a member without a seat in a full game need not
        wait."""
        game = game_of(stage, view)
        summary = display.summary(game, view.me.id)
        is_seated = game.side_of(view.me.id) is not None
        is_full = all(seat in view.draws for seat in SEATS)
        if game.status != "playing" or (is_full and not is_seated):
            return Done(summary)
        return Blocked((Reason("The game goes on.", "goes_on"),))

    def parts(self, stage: MatrixGameStage) -> Parts:
        return Parts(
            questions=GameQuestions(stage),
            draws=GameDraws(stage),
            state=lambda view: tally(stage, view),
            narration=GameNarration(stage),
            data=GameData(stage),
            scripts=GameScripts(stage),
            players=(2, 2),
            prompt=_PROMPT,
        )

    def example(self) -> MatrixGameStage:
        return MatrixGameStage(id="game", name="Ten rounds", horizon=FixedHorizon(rounds=10))

    def manner(self, script: Mapping[str, Json]) -> tuple[str, ...]:
        return in_conversations(script.get("persona"))


class GameDraws(Draws):
    """The length, the meaning of the letters, a seed for each player, and the seats in the order of arrival.

    Each has a separate random stream, so that none depends on another's draws.
    """

    def __init__(self, stage: MatrixGameStage) -> None:
        self._stage = stage

    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        facts = dict(drawn)
        if "luck_a" not in facts:
            streams = [rng.getrandbits(_SEED_BITS) for _ in range(4)]
            facts.setdefault("rounds", length(self._stage.horizon, Random(streams[0])))
            facts["swapped"] = self._stage.counterbalance and Random(streams[1]).random() < 0.5
            facts |= {"luck_a": streams[2], "luck_b": streams[3]}
        waiting = iter(
            str(one.id) for one in members if one.kind == "participant" and str(one.id) not in facts.values()
        )
        for seat in SEATS:
            if seat not in facts and (member_id := next(waiting, None)) is not None:
                facts[seat] = member_id
        return facts

    def beginning(self, rng: Random, language: NameLanguage) -> dict[str, Json]:
        """The length: a replicate of a pair is equally long under every level of a factor, for comparison."""
        return {"rounds": length(self._stage.horizon, Random(rng.getrandbits(_SEED_BITS)))}


class GameQuestions(Questions):
    """A move of both players in each round, and with chat a message of each before it."""

    most_unusable_replies = MOST_UNUSABLE_REPLIES

    def __init__(self, stage: MatrixGameStage) -> None:
        self._stage = stage

    def due(self, view: OwnView) -> list[Ask]:
        game, me = game_of(self._stage, view), view.me
        if game.status != "playing" or not game.length or game.side_of(me.id) is None:
            return []
        purpose = MESSAGE if game.is_talking else MOVE
        key = message_key(game.next_round) if game.is_talking else move_key(game.next_round)
        return [] if key in view.own else [Ask(me.id, key, purpose)]

    def question(self, view: OwnView, ask: Ask) -> Question | None:
        if ask.key == PAGE:
            return None
        game = game_of(self._stage, view)
        return _Message(game, view, ask) if is_message(ask.key) else _Move(game, view, ask)

    def most_replies(self) -> int | None:
        """A message and a move in each round; None before the number of rounds is drawn."""
        horizon = self._stage.horizon
        rounds = horizon.rounds if isinstance(horizon, FixedHorizon) else None
        return None if rounds is None else rounds * (2 if self._stage.chat else 1)

    def shown(self, answer: Json) -> Json:
        return display.told(answer)


class _OfARound(Question):
    def __init__(self, game: Game, view: OwnView, ask: Ask) -> None:
        self._game = game
        self._side = game.side_of(view.me.id)
        self._round = round_of(ask.key)
        self._has_answered = bool(view.own)
        self._me = view.me

    def news(self) -> str | None:
        """The rules before the first answer; later the news since the last answer."""
        if self._side is None or not self._has_answered:
            return None
        game = self._game
        return prompts.news(game.turns(self._side), game.messages(self._side), game.labels)

    def _luck(self) -> float:
        assert self._side is not None
        return self._game.luck(self._side, self._round)

    def _scripted(self) -> tuple[script.Script, str] | None:
        """The script of a persona, for the mock, and the letter that it chooses; None without one."""
        game, side = self._game, self._side
        found = None if side is None else script.script_of(game.stage, self._me)
        if found is None or side is None:
            return None
        rule = found.rule(game.payoffs(side))
        return found, game.labels.letter(rule(game.counted(side), game.counted(1 - side), self._luck()))


class _Move(_OfARound):
    def form(self) -> Form:
        return Form(
            (Field("action", form.choice(Label("Your action", "action"), display.actions_in_words(self._game))),)
        )

    def task(self) -> str:
        return "\n".join([*prompts.aim(self._game.stage.goal_framing), prompts.instruction(self._game.labels)])

    def reply_model(self) -> type[BaseModel]:
        return move_reply(self._game.labels)

    def answer_from_reply(self, reply: BaseModel) -> Json:
        if not isinstance(reply, MoveReply):
            raise TypeError(f"a move is a MoveReply, not a {type(reply).__name__}")
        return {"action": reply.action, "reasoning": reply.reasoning}

    def check(self, answer: Json) -> Json:
        return checked_move(self._game.labels, answer)

    def without_answer(self, replies: Sequence[UnusableReply]) -> Substitute:
        """By the stage's rule about unreadable actions; the member stays in any case."""
        game = self._game
        own = "" if self._side is None else game.counted(self._side)
        move = move_for_unreadable(game.stage.on_invalid, own, self._luck())
        return Substitute(
            {
                "action": None if move.action is None else game.labels.letter(move.action),
                "cooperates": None if move.action is None else move.action == "C",
                "flag": move.flag,
                "last_reply": replies[-1].raw if replies else "",
            }
        )

    def paused(self) -> Substitute:
        """The round does not count, and the game goes on."""
        return Substitute({"action": None, "cooperates": None, "flag": EXCLUDED, "last_reply": ""})

    def passed(self) -> Substitute:
        """The game ends without a result."""
        return Substitute({"action": None, "cooperates": None, "flag": LEFT, "last_reply": ""})

    def read_text(self, text: str) -> Mapping[str, Json]:
        """The move in a reply without fields, by the steps of the parser."""
        labels = self._game.labels
        reading = parse(text, labels)
        if reading.action is None:
            assert reading.reason is not None
            raise InvalidInput(prompts.correction(reading.reason, labels))
        return {"action": labels.letter(reading.action), "reasoning": text.replace("\x00", "")}

    def hints(self) -> Mapping[str, Hint]:
        scripted = self._scripted()
        if scripted is None:
            return {}
        by, letter = scripted
        why = f"The mock plays {by.persona or by.policy} for this player."
        return {f"{HINT_SUGGESTED}action": letter, f"{HINT_SUGGESTED}reasoning": why}


class _Message(_OfARound):
    def form(self) -> Form:
        return Form((Field("message", form.text(Label("Your message to the other player", "message_to_player"))),))

    def task(self) -> str:
        return "\n".join([*prompts.aim(self._game.stage.goal_framing), prompts.TALK_INSTRUCTION])

    def reply_model(self) -> type[BaseModel]:
        return MessageReply

    def answer_from_reply(self, reply: BaseModel) -> Json:
        if not isinstance(reply, MessageReply):
            raise TypeError(f"a message is a MessageReply, not a {type(reply).__name__}")
        return {"message": reply.message}

    def check(self, answer: Json) -> Json:
        return checked_message(self._game.stage, answer)

    def without_answer(self, replies: Sequence[UnusableReply]) -> Substitute:
        last_reply = replies[-1].raw if replies else ""
        return Substitute({"message": "", "delivered": "", "flag": "unanswered", "last_reply": last_reply})

    def passed(self) -> Substitute:
        return Substitute({"message": "", "delivered": "", "flag": LEFT, "last_reply": ""})

    def read_text(self, text: str) -> Mapping[str, Json]:
        return {"message": text.replace("\x00", "")}

    def written(self, answer: Json) -> str:
        """A message is typed; a move is a click, and people are not asked for reasons."""
        return str(answer.get("message", "")) if isinstance(answer, Mapping) else ""

    def hints(self) -> Mapping[str, Hint]:
        """The mock's phrases match the persona's play."""
        scripted = self._scripted()
        if scripted is None or not scripted[0].persona:
            return {}
        said = script.before_a_move(scripted[0].persona, scripted[1])
        return {} if said is None else {f"{HINT_SUGGESTED}message": said}


class GameNarration(Narration):
    def __init__(self, stage: MatrixGameStage) -> None:
        self._stage = stage

    def steps(self, view: View) -> Sequence[str]:
        return [*telling.steps(game_of(self._stage, view), view)]

    def outcome(self, view: View) -> str | None:
        return telling.outcome(game_of(self._stage, view), view)


class GameData(Data):
    def __init__(self, stage: MatrixGameStage) -> None:
        self._stage = stage
        self.table = Table(
            "rounds",
            rounds.COLUMNS,
            lambda view: [*rounds.rows(game_of(stage, view), view)],
            GamesReporter,
            owners=rounds.OWNERS,
        )

    def columns(self) -> list[Column]:
        return list(display.SUMMARY_COLUMNS)

    counted_by_round = ("points",)

    def by_round(self, column: str, view: View, member_id: UUID) -> dict[int, float]:
        game = game_of(self._stage, view)
        side = game.side_of(member_id)
        turns = [] if side is None else game.turns(side)
        return {turn.number: turn.points[0] for turn in turns if turn.actions is not None}


class GameScripts(Scripts):
    def __init__(self, stage: MatrixGameStage) -> None:
        self._stage = stage

    def problems(self, given: Mapping[str, Json] | None) -> list[Problem]:
        if given is None:
            expected = "a `policy` or a `persona`, under the stage's id or its kind"
            return [Problem("", "no script for this game", expected)]
        return script.problems(self._stage, given)

    def play(self, view: LabView, rng_of: Callable[[str], Random]) -> dict[tuple[UUID, str], Json]:
        """All rounds of two scripted players; with one of them, the move of the current round."""
        game = game_of(self._stage, view)
        if game.status != "playing" or not game.length:
            return {}
        return dict(play.scripted_moves(game, view))


KIND = MatrixGame()
