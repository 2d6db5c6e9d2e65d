"""The prompt of each round, from the player's side.

The parts, their order, their labels and their figures are those of the game's published templates; an iterated
Prisoner's Dilemma with named actions has their words, too. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from parley_lab.kinds.stages.matrix_game.config import FixedHorizon, GoalFraming, MatrixGameStage
from parley_lab.kinds.stages.matrix_game.parser import Reason
from parley_lab.kinds.stages.matrix_game.payoffs import Action, Labels, Payoffs, violations, written

OUTCOMES: Final[tuple[tuple[Action, Action], ...]] = (("C", "C"), ("C", "D"), ("D", "C"), ("D", "D"))
LAST_OUTCOMES: Final = 3

_SITUATION: Final = (
    "You run a bakery, and another one stands across the street. Every week both of you decide, without knowing what "
    "the other decides, between plan {} and plan {}. Together, the two plans settle how much each of you earns."
)
_AIMS: Final[Mapping[GoalFraming, str]] = {
    "cooperative": "In this game, aim for the greatest COMBINED payoff: yours and your opponent's together.",
    "self_maximizing": "In this game, aim for the greatest payoff of your OWN, whatever your opponent gets.",
    "adversarial": "In this game, aim for the greatest GAP between your payoff and your opponent's.",
}
_UNREADABLE: Final[Mapping[Reason, str]] = {
    "empty": "Your last answer was empty.",
    "ambiguous": "Your last answer named both actions.",
    "none": "Your last answer named no action.",
}


@dataclass(frozen=True, slots=True)
class PlayedRound:
    """A complete round from one side; `actions` (own, opponent's) are None when it does not count."""

    number: int
    actions: tuple[Action, Action] | None
    points: tuple[float, float] = (0, 0)


def aim(goal_framing: GoalFraming | None) -> list[str]:
    """The aim that the game, not the persona, gives the player; empty unless the stage has one."""
    return [_AIMS[goal_framing]] if goal_framing else []


def round_prompt(
    stage: MatrixGameStage,
    payoffs: Payoffs,
    labels: Labels,
    turns: Sequence[PlayedRound],
    rounds: int,
    said: Sequence[tuple[str, str]] = (),
) -> list[str]:
    """The paragraphs of one round without the last one, the instruction; `payoffs` and `turns` have own figures first.

    `turns`: all complete rounds, before the one to be played. `rounds`: the length of the game, shown only when it is
    announced. `said`: the messages of each round, own words first.
    """
    return [
        _heading(stage, len(turns) + 1, rounds, labels),
        payoff_matrix(payoffs, labels),
        *history(stage, turns, labels),
        scores(turns),
        *messages(stage, said),
    ]


def _heading(stage: MatrixGameStage, number: int, rounds: int, labels: Labels) -> str:
    is_dilemma = stage.framing == "named" and not any(violations(stage.payoffs))
    is_told_length = stage.announce_horizon and isinstance(stage.horizon, FixedHorizon)
    if is_dilemma and not is_played_once(stage):
        lines = [f"You are playing round {number} of an iterated Prisoner's Dilemma game."]
        lines += [f"It has {rounds} rounds."] if is_told_length else []
    else:
        game = "Prisoner's Dilemma" if is_dilemma else "game"
        how = "with an opponent" if is_played_once(stage) else "again and again with the same opponent"
        of_all = f" of {rounds}" if is_told_length else ""
        lines = [*situation(stage, labels), f"This is round {number}{of_all} of a {game} that you play {how}."]
    if stage.announce_horizon and not isinstance(stage.horizon, FixedHorizon):
        chance = f"{stage.horizon.stop_probability:.10g}"
        lines.append(f"After every round, this one included, the game ends with a probability of {chance}.")
    return "\n".join(lines)


def is_played_once(stage: MatrixGameStage) -> bool:
    """Whether players know that there is only one round: a drawn length of one round is a secret."""
    return isinstance(stage.horizon, FixedHorizon) and stage.horizon.rounds == 1


def situation(stage: MatrixGameStage, labels: Labels) -> list[str]:
    """The story around the two actions, if the framing has one."""
    return [_SITUATION.format(*labels.letters)] if stage.framing == "situated" else []


def payoff_matrix(payoffs: Payoffs, labels: Labels) -> str:
    """The points of both for each outcome, own points first."""
    return "\n".join(["PAYOFF MATRIX:", *payoff_lines(payoffs, labels)])


def payoff_lines(payoffs: Payoffs, labels: Labels) -> Iterator[str]:
    """One line for each outcome, the player's own action and points first."""
    for own, other in OUTCOMES:
        letters = f"({labels.letter(own)},{labels.letter(other)})"
        mine, theirs = (written(points) for points in payoffs.of(own, other))
        yield f"- {_who(own, other, labels)} {letters}: You get {mine}, opponent gets {theirs}"


def _who(own: Action, other: Action, labels: Labels) -> str:
    mine, theirs = (labels.word(action) or labels.letter(action) for action in (own, other))
    chosen = "" if labels.word(own) else "choose "
    if own == other:
        return f"Both {chosen}{mine}"
    if labels.word(own):
        return f"You {mine}, Opponent {theirs}s"
    return f"You choose {mine}, Opponent chooses {theirs}"


def history(stage: MatrixGameStage, turns: Sequence[PlayedRound], labels: Labels) -> Iterator[str]:
    """The complete rounds, as far as the player remembers them; empty for a player without memory."""
    if stage.memory == "none":
        return
    heading = {
        "window": f"HISTORY (last {stage.memory_window} rounds):",
        "full": "HISTORY (all rounds):",
        "summary": "HISTORY (summary):",
    }[stage.memory]
    if not turns:
        yield f"{heading}\nNo round has been played yet."
    elif stage.memory == "summary":
        yield "\n".join([heading, *_summary(turns, labels)])
    else:
        shown = turns[-stage.memory_window :] if stage.memory == "window" else turns
        yield "\n".join([heading, *(_line(turn, labels) for turn in shown)])


def news(turns: Sequence[PlayedRound], said: Sequence[tuple[str, str]], labels: Labels) -> str:
    """The news since the player's last answer: the opponent's message of this round, else the last round."""
    if len(said) > len(turns):
        return said[-1][1]
    return _line(turns[-1], labels) if turns else ""


def _line(turn: PlayedRound, labels: Labels) -> str:
    if turn.actions is None:
        return f"Round {turn.number}: did not count"
    own, other = (labels.letter(action) for action in turn.actions)
    mine, theirs = (written(points) for points in turn.points)
    return f"Round {turn.number}: You={own}, Opponent={other} → You got {mine}, Opponent got {theirs}"


def _summary(turns: Sequence[PlayedRound], labels: Labels) -> Iterator[str]:
    counted = [turn.actions for turn in turns if turn.actions is not None]
    yield f"Rounds so far: {len(turns)}"
    for own, other in OUTCOMES:
        yield f"You={labels.letter(own)}, Opponent={labels.letter(other)}: {counted.count((own, other))}"
    if not counted:
        return
    letter = labels.letter("C")
    mine, theirs = (sum(actions[side] == "C" for actions in counted) / len(counted) for side in (0, 1))
    yield f"Share of {letter}: You {mine:.0%} | Opponent {theirs:.0%}"
    last = ", ".join(f"({labels.letter(own)},{labels.letter(other)})" for own, other in counted[-LAST_OUTCOMES:])
    yield f"Last outcomes (You,Opponent), oldest first: {last}"
    runs = [_longest_run([actions[side] for actions in counted]) for side in (0, 1)]
    yield f"Longest run of {labels.letter('D')}: You {runs[0]} | Opponent {runs[1]}"


def _longest_run(actions: Sequence[Action]) -> int:
    return max((len(list(run)) for action, run in groupby(actions) if action == "D"), default=0)


def scores(turns: Sequence[PlayedRound]) -> str:
    """The totals after all complete rounds, shown or not."""
    mine, theirs = (written(sum(turn.points[side] for turn in turns if turn.actions)) for side in (0, 1))
    return f"SCORES: You: {mine} | Opponent: {theirs}"


def messages(stage: MatrixGameStage, said: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The messages of the remembered rounds, the current one included."""
    remembered = {"none": 1, "window": stage.memory_window, "full": len(said), "summary": 1}[stage.memory]
    first = max(0, len(said) - remembered)
    if stage.chat and said:
        lines = [
            f"Round {number}: You said: {_quoted(own)} Opponent said: {_quoted(other)}"
            for number, (own, other) in enumerate(said[first:], start=first + 1)
        ]
        yield "\n".join(["MESSAGES (what the opponent says binds nobody):", *lines])


def _quoted(message: str) -> str:
    return f'"{message}"' if message else "(nothing)"


TALK_INSTRUCTION: Final = (
    "Before you both choose, say something to your opponent in the field `message`, in one or two sentences; leave it "
    "empty to say nothing. Your opponent says something at the same time. Then both of you choose."
)


def instruction(labels: Labels) -> str:
    """The request for an answer: the last paragraph of a round, with named actions that of the template."""
    first, second = labels.letters
    if labels.cooperate_word:
        return (
            f"Choose your action: respond with EXACTLY one character, either {first} or {second}.\n"
            "Then briefly explain your reasoning."
        )
    return (
        f"Choose your action: give EXACTLY one character, either {first} or {second}, in the field `action`.\n"
        "Say briefly in the field `reasoning` why."
    )


def correction(reason: Reason, labels: Labels) -> str:
    """The message to a player whose answer could not be read."""
    first, second = labels.letters
    return f"{_UNREADABLE[reason]} Choose one: {first} or {second}, and nothing else where the action is asked for."
