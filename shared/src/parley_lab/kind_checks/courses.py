"""Checks that hold whatever members do, in any order: leave, return, come late or fail."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from parley_lab.kind_checks.play import At, Play
from parley_lab.kind_checks.promises import Unkept, expect, shortened
from parley_lab.kind_checks.trial import Trial
from parley_lab.kinds import Ask, Done, Member

_MOMENTS: Final = 6
"""A member leaves after fewer acts than this."""


def same_data_in_every_order(trial: Trial) -> None:
    """The data do not depend on who acts first."""
    straight = data_of(trial.play(goes_on=True).run(None))
    mixed = data_of(trial.play(goes_on=True).run(trial.rng()))
    for name, value in straight.items():
        expect(
            mixed[name] == value,
            f"the same {name} as when who is named first acts: {_unlike(value, mixed[name])}",
            _unlike(mixed[name], value),
        )


def no_member_is_stuck(trial: Trial) -> None:
    """No member is stuck: all who are there go on in the end, although others left, returned, came late or failed."""
    rng = trial.rng()
    play = trial.play(
        goes_on=True,
        people=lambda number, count: rng.random() < 0.5,
        come=lambda number: number == 1 or rng.random() < 0.6,
    )
    play.check_after_each_act(everything_can_be_shown).run(rng, accidents=rng.choice((0.0, 0.1, 0.3)))
    expect(not play.stuck(), "everybody who is there to be asked something or to be done", play.stuck())


def everything_can_be_shown(play: Play) -> None:
    for view in play.views():
        play.kind.page(play.stage, view)
        play.kind.prompt(play.stage, view)


def who_leaves_holds_up_no_other(trial: Trial) -> None:
    """A member who leaves for good, at any of the first moments, holds up no other."""
    for number in range(len(trial.play().participants)):
        for moment in range(_MOMENTS):
            play = trial.play(goes_on=True)
            leaver = play.participants[number]
            if not play.run(None, most=moment).is_here(leaver.id):
                break
            play.leave(leaver.id)
            play.run(None)
            expect(not play.stuck(), "everybody who is there to be asked something or to be done", play.stuck())


def late_prompts_are_those_made_at_once(trial: Trial) -> None:
    """A prompt that is made late, as of the opening of its question, equals the one made at once."""
    at_once: dict[At, tuple[Ask, Mapping[str, Any]]] = {}

    def compare(play: Play, ask: Ask) -> None:
        shown, now = at_once[ask.member_id, ask.key][1], prompt_of(play, ask, play.opened[ask.member_id, ask.key])
        changed = [name for name in shown if shown[name] != now[name]]
        before, after = [shown[name] for name in changed], [now[name] for name in changed]
        what = f"the {_words(changed)} of {_of(play, ask)}"
        expect(not changed, f"{what} to be as at its opening: {_unlike(before, after)}", _unlike(after, before))

    def watch(play: Play) -> None:
        for ask in play.asks():
            at_once.setdefault((ask.member_id, ask.key), (ask, prompt_of(play, ask)))
            compare(play, ask)

    play = trial.play().run(trial.rng(), watch=watch)
    for ask, _ in at_once.values():
        compare(play, ask)


def open_questions_keep_others_answers_out(trial: Trial) -> None:
    """While a question is open, no other member's answer changes what its owner's page and prompt show.

    After a change of the state this is a note, not a failure: the kind has decided to show it.
    """
    seen: dict[At, tuple[Mapping[str, Any], Any]] = {}

    def watch(play: Play) -> None:
        open_now: set[At] = set()
        for ask in play.asks():
            at = ask.member_id, ask.key
            if play.facts.people.row(ask.member_id).kind == "mediator":
                continue
            open_now.add(at)
            own = play.own(ask.member_id)
            shown = {"page": play.kind.page(play.stage, own).model_dump(mode="json"), **prompt_of(play, ask)}
            before, state = seen.setdefault(at, (shown, (own.state, own.own)))
            changed = [name for name in shown if before[name] != shown[name]]
            if not changed or state[1] != own.own:
                continue
            what = f"the {_words(changed)} of {_of(play, ask)}"
            if state[0] == own.state:
                raise Unkept(f"{what} to stay as it was: {_unlike(before, shown)}", _unlike(shown, before))
            trial.notes.append(f"{what} changes with the answers of others, because the state tells them.")
        for at in set(seen) - open_now:
            del seen[at]

    trial.play().run(trial.rng(), watch=watch)


def states_do_not_depend_on_who_was_first(trial: Trial) -> None:
    """The state is the same whenever it is made and however answers are listed, and does not depend on itself."""
    play = trial.play()
    make = play.parts.state
    if make is None:
        return

    def watch(play: Play) -> None:
        view = play.lab()
        turned = {owner: dict(reversed([*given.items()])) for owner, given in reversed([*view.answers.items()])}
        assert make is not None
        again = make(replace(view, state={}, answers=turned))
        expect(again == view.state, f"the state to be {shortened(view.state)}", again)

    watch(play.run(trial.rng(), watch=watch))


def who_is_there_changes_nothing(trial: Trial) -> None:
    """Neither the state nor what is due of a member depends on who is there: who has gone may come back."""
    play = trial.play()
    make, questions = play.parts.state, play.parts.questions
    if make is None:
        return

    def watch(play: Play) -> None:
        assert make is not None
        view = play.lab()
        for here in (True, False):
            state = make(replace(view, members=tuple(_when(one, here) for one in view.members)))
            expect(state == view.state, f"the state to be {shortened(view.state)} whoever is there", state)
            for own in play.views() if questions is not None else ():
                assert questions is not None
                due = questions.due(replace(own, me=_when(own.me, here)))
                wanted = questions.due(own)
                expect(due == wanted, f"{wanted} to be due whether or not {own.me.path} is there", due)

    watch(play.run(trial.rng(), accidents=0.2, watch=watch))


def _when(one: Member, here: bool) -> Member:
    return replace(one, present=here, awaited=not here)


def no_return_turns_anything_back(trial: Trial) -> None:
    """A leave and return undoes nothing: a member who could go on still can, and what was told stays told."""
    rng = trial.rng()
    done: set[UUID] = set()
    told: list[str] = []
    written: set[str] = set()

    def check(play: Play) -> None:
        if play.parts.state is None:
            return
        for view in play.views():
            if view.me.kind == "mediator":
                continue
            completion = play.completion(view)
            expect(
                view.me.id not in done or isinstance(completion, Done),
                f"{view.me.path} to be Done for good once that is so",
                completion,
            )
            if isinstance(completion, Done):
                done.add(view.me.id)
        lines, keys = lines_of(play)
        expect(lines[: len(told)] == told, f"what is told to begin with {shortened(told)}", lines)
        expect(keys >= written, f"the minutes to keep {shortened(written - keys)}", keys)
        told[:] = lines
        written.update(keys)

    play = trial.play()
    play.check_after_each_act(check).run(rng, accidents=0.4)


def lines_of(play: Play) -> tuple[list[str], set[str]]:
    """What is told to those who look on, and the keys of the lines of the minutes."""
    view, parts = play.lab(), play.parts
    steps = [] if parts.narration is None else [*parts.narration.steps(view)]
    return steps, set() if parts.minutes is None else {line.key for line in parts.minutes(view).lines}


def prompt_of(play: Play, ask: Ask, as_of: int | None = None) -> Mapping[str, Any]:
    """What a model is shown of the stage, and what it is asked."""
    view, question = play.own(ask.member_id, as_of), play.question(ask, as_of)
    if question is None:
        raise Unkept(f"`question` to know {ask.key!r} for as long as the stage is there", None)
    return {
        "text": play.kind.texts(play.stage, view),
        "prompt": [block.text for block in play.kind.prompt(play.stage, view, ask)],
        "task": question.task(),
        "shape of the reply": question.reply_model().model_json_schema(),
        "form": question.form().json_schema(),
    }


def data_of(play: Play) -> dict[str, Any]:
    """All data of the stage."""
    view, parts = play.lab(), play.parts
    answers = {
        f"{play.facts.people.row(owner).path} {key or 'page'}": value
        for owner, entries in view.answers.items()
        for key, value in entries.items()
    }
    return {
        "answers": answers,
        "draws": view.draws,
        "state": view.state,
        "rows": parts.data.table and parts.data.table.rows(view),
        "minutes": parts.minutes and parts.minutes(view),
        "steps": parts.narration and [*parts.narration.steps(view)],
        "outcome": parts.narration and parts.narration.outcome(view),
    }


def _of(play: Play, ask: Ask) -> str:
    return f"question {ask.key or 'of the page'!r} of {play.facts.people.row(ask.member_id).path.removeprefix('c1/')}"


def _words(names: list[str]) -> str:
    return " and ".join(names)


def _unlike(one: Any, other: Any) -> str:
    """The difference between the two, at the deepest place where they differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        parts = [key for key in one if key not in other or one[key] != other[key]]
        return ", ".join(f"{_key(key)}: {_unlike(one[key], other.get(key))}" for key in parts[:3]) or "nothing"
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return ", ".join(_unlike(mine, its) for mine, its in zip(one, other, strict=True) if mine != its)
    return shortened(one)


def _key(key: object) -> str:
    return str(key) if not isinstance(key, UUID) else "a member"
