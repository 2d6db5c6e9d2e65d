"""A contest in words: for prompts, while it runs and when it is over, and for onlookers. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final
from uuid import UUID

from parley_lab.base.numbers import write_number
from parley_lab.kinds import Member, OwnView
from parley_lab.kinds.names import as_shown
from parley_lab.kinds.parts import Narration
from parley_lab.kinds.stages.beauty_contest.config import BeautyContestStage
from parley_lab.kinds.stages.beauty_contest.contest import MESSAGE, Contest, Round, contest_of
from parley_lab.kinds.view import View

MESSAGE_TASK: Final = (
    "Before everybody guesses, say something to the other players in the field `message`, in one or two sentences; "
    "leave it empty to say nothing. The others say something at the same time. Then all of you guess."
)
_TOOK_NO_PART: Final = "The participants played a guessing game here. You took no part in it and saw nothing of it."
_LARGEST_DENOMINATOR: Final = 20


def written(value: float) -> str:
    """The number with two decimals at most."""
    return f"{round(value, 2):.15g}"


def factor_in_words(factor: float) -> str:
    """`2/3` for 0.666..., `0.7` for 0.7."""
    simple = Fraction(factor).limit_denominator(_LARGEST_DENOMINATOR)
    is_decimal = factor == round(factor, 2)
    return write_number(factor) if is_decimal or float(simple) != factor else str(simple)


def guess_task(stage: BeautyContestStage) -> str:
    return (
        f"Guess a number from {written(stage.lower)} to {written(stage.upper)} in the field `guess`.\n"
        "Say briefly in the field `reasoning` why; nobody else sees it."
    )


def paragraphs(contest: Contest, view: OwnView, *, is_over: bool) -> Iterator[str]:
    """The text about the contest in a player's prompt; empty for others."""
    me, names = view.me.id, _names(view.members)
    if me not in contest.players:
        yield _TOOK_NO_PART
        return
    if contest.rounds or not is_over:
        others = ", ".join(names[one] for one in contest.players if one in names and one != me)
        yield f"{'You played' if is_over else 'You play'} a guessing game with {others or 'nobody'}."
        yield _rules(contest.stage, is_over=is_over)
    yield _standing(contest, is_over=is_over)
    if contest.rounds:
        yield "\n".join(["ROUNDS:", *(_result(one, me, names) for one in contest.rounds)])
        yield f"You have won {written(contest.won(me))} in all."
    if any(contest.said):
        yield "\n".join(["MESSAGES (what others say binds nobody):", *_messages(contest.said, me, names)])


def news(contest: Contest, view: OwnView) -> str:
    """The news since the player's last answer: the messages of this round, else the last round."""
    names, me = _names(view.members), view.me.id
    if contest.wants != MESSAGE and contest.said:
        return _messages(contest.said, me, names)[-1] if contest.said[-1] else "Nobody said anything."
    return "\n".join(_result(one, me, names) for one in contest.rounds[-1:]) or "The first round."


def _rules(stage: BeautyContestStage, *, is_over: bool) -> str:
    bounds = f"a number from {written(stage.lower)} to {written(stage.upper)}"
    target = f"{factor_in_words(stage.factor)} times the mean of all guesses"
    prize = written(stage.prize)
    if is_over:
        return f"In each round everybody guessed {bounds} at the same time. Who was closest to {target} won {prize}."
    said = " Before that everybody says something that all players read." if stage.chat else ""
    return (
        f"In each round everybody guesses {bounds}, all at the same time.{said} Whose guess is closest to {target} "
        f"wins a prize of {prize}; those who are equally close share it."
    )


def _standing(contest: Contest, *, is_over: bool) -> str:
    if not is_over:
        return f"This is round {contest.next_round} of {contest.stage.rounds}."
    early = " It ended early, because too few players were left." if contest.status == "abandoned" else ""
    if not contest.rounds:
        return f"No round of the guessing game here was played. It is over.{early}"
    rounds = "One round was" if len(contest.rounds) == 1 else f"{len(contest.rounds)} rounds were"
    return f"{rounds} played. It is over.{early}"


def _result(one: Round, me: UUID, names: Mapping[UUID, str]) -> str:
    own = one.guesses.get(me)
    yours = "you gave no guess" if own is None else f"you guessed {written(own)}"
    if not one.counts:
        return f"Round {one.number}: did not count, because fewer than two guesses came; {yours}."
    share = f"; your prize is {written(one.prize(me))}" if me in one.winners else ""
    return f"Round {one.number}: {_figures(one)}; {yours}; closest: {_closest(one, {**names, me: 'you'})}{share}."


def _figures(one: Round) -> str:
    assert one.mean is not None
    assert one.target is not None
    return f"mean {written(one.mean)}, target {written(one.target)}"


def _closest(one: Round, names: Mapping[UUID, str]) -> str:
    return ", ".join(f"{names.get(who, '?')} with {written(one.guesses[who])}" for who in one.winners)


def _messages(said: Sequence[Mapping[UUID, str]], me: UUID, names: Mapping[UUID, str]) -> list[str]:
    called = {**names, me: "You"}
    quoted = (" ".join(f'{called.get(who, "?")}: "{words}"' for who, words in one.items()) for one in said)
    return [f"Round {number}: {words}" for number, words in enumerate(quoted, start=1) if words]


def _names(members: Sequence[Member]) -> dict[UUID, str]:
    return {one.id: as_shown(one.name) for one in members}


class ContestNarration(Narration):
    def __init__(self, stage: BeautyContestStage) -> None:
        self._stage = stage

    def steps(self, view: View) -> Sequence[str]:
        """The messages before each guess, and the results of the guesses, in the order in which they became known."""
        contest, names = contest_of(self._stage, view), _names(view.members)
        lines: list[str] = []
        for number in range(1, contest.next_round + 1):
            for who, words in contest.said[number - 1].items() if number <= len(contest.said) else ():
                lines.append(f'round {number}: {names.get(who, "?")} says "{words}"')
            lines += [_told(one, names) for one in contest.rounds[number - 1 : number]]
        return lines

    def outcome(self, view: View) -> str | None:
        contest, names = contest_of(self._stage, view), _names(view.members)
        if not contest.is_over:
            return None
        won = ", ".join(f"{names.get(one, '?')} {written(contest.won(one))}" for one in contest.players)
        rounds = "1 round" if len(contest.rounds) == 1 else f"{len(contest.rounds)} rounds"
        why = ", and then too few players were left" if contest.status == "abandoned" else ""
        return f"{won} after {rounds}{why}"


def _told(one: Round, names: Mapping[UUID, str]) -> str:
    came_to = f"{_figures(one)}, closest {_closest(one, names)}" if one.counts else "does not count"
    return f"round {one.number}: {came_to}"
