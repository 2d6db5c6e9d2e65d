"""The rules of an iterated game of two."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel

from shared.contracts.experiment import StageConfig
from shared.contracts.models import HINT_SUGGESTED, Hint
from shared.contracts.prompt_items import Character, PromptItems, StageContext, Task
from shared.errors import InvalidInput, Problem
from shared.stage import (
    PAGE,
    Ask,
    Block,
    Column,
    Json,
    LabView,
    Member,
    OwnView,
    Reporter,
    StageKind,
    Unanswered,
    View,
    heading,
)
from shared.stages.matrix_game import display, play, prompts, rounds, script, telling
from shared.stages.matrix_game.config import FixedHorizon, MatrixGameStage, length
from shared.stages.matrix_game.game import (
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
from shared.stages.matrix_game.parser import parse
from shared.stages.matrix_game.payoffs import violations
from shared.stages.matrix_game.replies import MessageReply, MoveReply, checked_message, checked_move, move_reply
from shared.stages.matrix_game.reporting import GamesReporter
from shared.stages.matrix_game.rounds import ROUNDS
from shared.stages.matrix_game.script import in_conversations

MOST_UNUSABLE_REPLIES: Final = 3
_SEED_BITS: Final = 53
"""What survives every JSON reader."""


class MatrixGame(StageKind[MatrixGameStage]):
    config_model = MatrixGameStage
    has_shared_asks = True
    reads_texts = True
    tells_itself = True
    players = 2
    table = ROUNDS

    def problems(self, stage: MatrixGameStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        found = [] if stage.exploratory else list(violations(stage.payoffs))
        problems = [Problem("payoffs", problem.found, problem.expected) for problem in found]
        if stage.counterbalance and stage.framing == "named":
            expected = "`neutral` or `situated`: the letters of named actions are no matter of chance"
            problems.append(Problem("framing", "'named' with `counterbalance`", expected))
        return problems

    def script_problems(self, stage: MatrixGameStage, given: Mapping[str, Json] | None) -> list[Problem]:
        if given is None:
            return [
                Problem("", "no script for this game", "a `policy` or a `persona`, under the stage's id or its kind")
            ]
        return script.problems(stage, given)

    def draw(
        self, stage: MatrixGameStage, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random
    ) -> dict[str, Json]:
        """The length, which letter is which, a seed for each player's chance, and the seats in the order of arrival.

        Each has a stream of its own, so that none depends on what is drawn for another.
        """
        facts = dict(drawn)
        if "luck_a" not in facts:
            streams = [rng.getrandbits(_SEED_BITS) for _ in range(4)]
            facts.setdefault("rounds", length(stage.horizon, Random(streams[0])))
            facts["swapped"] = stage.counterbalance and Random(streams[1]).random() < 0.5
            facts |= {"luck_a": streams[2], "luck_b": streams[3]}
        waiting = iter(
            str(one.id) for one in members if one.kind == "participant" and str(one.id) not in facts.values()
        )
        for seat in SEATS:
            if seat not in facts and (member_id := next(waiting, None)) is not None:
                facts[seat] = member_id
        return facts

    def matched(self, stage: MatrixGameStage, rng: Random) -> dict[str, Json]:
        """The length: a replicate of a pair is as long under every level of a factor, so that they can be compared."""
        return {"rounds": length(stage.horizon, Random(rng.getrandbits(_SEED_BITS)))}

    def public_state(self, stage: MatrixGameStage, view: LabView) -> dict[str, Json]:
        return tally(stage, view)

    def public_view(self, stage: MatrixGameStage, view: OwnView) -> dict[str, Json]:
        return {**heading(stage), **display.public(game_of(stage, view), view)}

    def describe(
        self, stage: MatrixGameStage, view: OwnView, *, with_answers: bool, ask: Ask | None = None
    ) -> list[Block]:
        game = game_of(stage, view)
        if ask is None:
            return [Block("\n\n".join(telling.paragraphs(game, view.me.id)))]
        side = game.side_of(view.me.id)
        turns = [] if side is None else game.turns(side)
        said = [] if side is None else game.messages(side)
        paragraphs = prompts.round_prompt(stage, game.payoffs(side or 0), game.labels, turns, game.length, said)
        return [Block("\n\n".join(paragraphs))]

    def to_read(self, stage: MatrixGameStage, view: OwnView, ask: Ask | None = None) -> str:
        """The rules before the first answer; then what has happened since the last one."""
        game = game_of(stage, view)
        side = game.side_of(view.me.id)
        if side is None or not view.own:
            return super().to_read(stage, view, ask)
        return prompts.news(game.turns(side), game.messages(side), game.labels)

    def to_write(self, stage: MatrixGameStage, ask: Ask, answer: Json) -> str:
        """A message; a move is a click, and nobody asks people for their reasons."""
        return str(answer.get("message", "")) if isinstance(answer, Mapping) else ""

    def task(self, stage: MatrixGameStage, ask: Ask, view: OwnView) -> str:
        if is_message(ask.key):
            return "\n".join([*prompts.aim(stage.goal_framing), prompts.TALK_INSTRUCTION])
        labels = game_of(stage, view).labels
        return "\n".join([*prompts.aim(stage.goal_framing), prompts.instruction(labels)])

    def default_prompt(self, stage: MatrixGameStage) -> PromptItems:
        """Nothing but what the published templates show: a name of the stage could tell what is studied."""
        return (Character(), StageContext(heading=False), Task(heading=False))

    def check_answer(self, stage: MatrixGameStage, ask: Ask, answer: Json, view: OwnView) -> Json:
        """A move as it is stored: the letter that was chosen, and whether it is to cooperate.

        The page itself takes no answer: it is what the game comes to.
        """
        game = game_of(stage, view)
        if ask.key == PAGE:
            return self._checked_page(game, answer, view)
        return checked_message(stage, answer) if is_message(ask.key) else checked_move(game.labels, answer)

    def _checked_page(self, game: Game, answer: Json, view: OwnView) -> Json:
        summary = display.summary(game, view.me.id) or {}
        if answer and answer != summary:
            raise InvalidInput(
                "A game takes no answer.", [Problem("", "an answer", "nothing: moves are answers to their asks")]
            )
        return summary

    def blocked_by(self, stage: MatrixGameStage, view: OwnView) -> list[str]:
        game = game_of(stage, view)
        is_seated = game.side_of(view.me.id) is not None
        is_full = all(seat in view.draws for seat in SEATS)
        if PAGE in view.own or game.status != "playing" or (is_full and not is_seated):
            return []
        return ["The game goes on."]

    def next_asks(self, stage: MatrixGameStage, view: OwnView) -> list[Ask]:
        """The next move of a player until it is made; before it, with chat, what it says to the other one."""
        game, me = game_of(stage, view), view.me
        is_asked = me.player != "script" and me.present and game.side_of(me.id) is not None
        if game.status != "playing" or not game.length or not is_asked:
            return []
        purpose = MESSAGE if game.is_talking else MOVE
        key = message_key(game.next_round) if game.is_talking else move_key(game.next_round)
        return [] if key in view.own else [Ask(me.id, key, purpose)]

    def play_out(
        self, stage: MatrixGameStage, view: LabView, rng_of: Callable[[str], Random]
    ) -> dict[tuple[UUID, str], Json]:
        """All rounds of two scripted players; of one, the move of the present round."""
        game = game_of(stage, view)
        if game.status != "playing" or not game.length:
            return {}
        return dict(play.scripted_moves(game, view))

    def mock_hints(self, stage: MatrixGameStage, ask: Ask, view: OwnView) -> dict[str, Hint]:
        """With the mock, a persona that has a script plays by it, and talks as it plays."""
        game = game_of(stage, view)
        side = game.side_of(view.me.id)
        given = script.script_of(stage, view.me)
        if side is None or given is None or ask.key == PAGE:
            return {}
        rule = given.rule(game.payoffs(side))
        action = rule(game.counted(side), game.counted(1 - side), game.luck(side, round_of(ask.key)))
        letter = game.labels.letter(action)
        if not is_message(ask.key):
            why = f"The mock plays {given.persona or given.policy} for this player."
            return {f"{HINT_SUGGESTED}action": letter, f"{HINT_SUGGESTED}reasoning": why}
        said = script.before_a_move(given.persona, letter) if given.persona else None
        return {} if said is None else {f"{HINT_SUGGESTED}message": said}

    def manner(self, script: Mapping[str, Json]) -> tuple[str, ...]:
        return in_conversations(script.get("persona"))

    def reply_model(self, stage: MatrixGameStage, ask: Ask, view: OwnView) -> type[BaseModel] | None:
        if ask.key == PAGE:
            return None
        return MessageReply if is_message(ask.key) else move_reply(game_of(stage, view).labels)

    def reply_from_text(self, stage: MatrixGameStage, ask: Ask, view: OwnView, text: str) -> dict[str, Any]:
        """The move that a reply without fields names, read down the ladder of the parser."""
        if is_message(ask.key):
            return {"message": text.replace("\x00", "")}
        labels = game_of(stage, view).labels
        reading = parse(text, labels)
        if reading.action is None:
            assert reading.reason is not None
            raise InvalidInput(prompts.correction(reading.reason, labels))
        return {"action": labels.letter(reading.action), "reasoning": text.replace("\x00", "")}

    def most_replies(self, stage: MatrixGameStage) -> int | None:
        """A message and a move in each round; a drawn number of rounds is known once it is drawn."""
        rounds = stage.horizon.rounds if isinstance(stage.horizon, FixedHorizon) else None
        return None if rounds is None else rounds * (2 if stage.chat else 1)

    def most_unusable_replies(self, stage: MatrixGameStage) -> int:
        """Three attempts: the first and two corrections."""
        return MOST_UNUSABLE_REPLIES

    def answer_from_reply(self, stage: MatrixGameStage, ask: Ask, reply: BaseModel) -> Json:
        if isinstance(reply, MessageReply):
            return {"message": reply.message}
        if not isinstance(reply, MoveReply):
            raise TypeError(f"a reply in a game is a MoveReply, not {type(reply).__name__}")
        return {"action": reply.action, "reasoning": reply.reasoning}

    def on_unanswered(self, stage: MatrixGameStage, ask: Ask, reason: str) -> Unanswered:
        """What the stage says about actions that cannot be read; the member stays in any case."""
        return "wait" if ask.key == PAGE else "default"

    def default_answer(self, stage: MatrixGameStage, ask: Ask, view: OwnView, last_reply: str) -> Json:
        if is_message(ask.key):
            return {"message": "", "delivered": "", "flag": "unanswered", "last_reply": last_reply}
        game = game_of(stage, view)
        side = game.side_of(view.me.id)
        assert side is not None
        number = round_of(ask.key)
        move = move_for_unreadable(stage.on_invalid, game.counted(side), game.luck(side, number))
        return {
            "action": None if move.action is None else game.labels.letter(move.action),
            "cooperates": None if move.action is None else move.action == "C",
            "flag": move.flag,
            "last_reply": last_reply,
        }

    def page_answer(self, stage: MatrixGameStage, view: OwnView) -> Json | None:
        return display.summary(game_of(stage, view), view.me.id)

    def shown_answer(self, answer: Json) -> Json:
        return display.told(answer)

    def columns(self, stage: MatrixGameStage) -> list[Column]:
        return list(display.SUMMARY_COLUMNS)

    def table_rows(self, stage: MatrixGameStage, view: LabView) -> list[dict[str, Json]]:
        return list(rounds.rows(game_of(stage, view), view))

    def reporter(self, stage_ids: Sequence[str]) -> Reporter:
        return GamesReporter(stage_ids)

    def steps(self, stage: MatrixGameStage, view: View) -> Sequence[str]:
        return [*telling.steps(game_of(stage, view), view)]

    def outcome(self, stage: MatrixGameStage, view: View) -> str | None:
        return telling.outcome(game_of(stage, view), view)

    def cells(self, stage: MatrixGameStage, answer: Json) -> dict[str, Json]:
        given = answer if isinstance(answer, Mapping) else {}
        names = {column.name for column in display.SUMMARY_COLUMNS}
        return {name: value for name, value in given.items() if name in names and value is not None}

    def example(self) -> MatrixGameStage:
        return MatrixGameStage(id="game", name="Ten rounds", horizon=FixedHorizon(rounds=10))


KIND = MatrixGame()
