"""What a stage comes to when the mock answers for all who are there. Pure; nothing of it is stored."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final
from uuid import UUID

from parley_lab.base import seeds
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kind_checks.answering import made_answer
from parley_lab.kind_checks.promises import Unkept
from parley_lab.kinds import PAGE, Ask, Done, Json, Question, Substitute
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.effects import SetProfile
from parley_lab.kinds.stages import kind_of, parts_of
from parley_lab.kinds.view import Message, Speaker, Thread
from parley_lab.views.builder import Facts, People, lab_view, own_view, resulted
from parley_lab.views.playing import play_on

_MOST_ANSWERS: Final = 2000
_SAID: Final = "I am {name}. This line is made up."


def stage_over(facts: Facts, stage: StageConfig, reader: UUID, *, seed: int) -> Facts:
    """The facts once all have answered what the stage asks, and have gone on from it.

    In a conversation each whom the reader meets there has said one line.
    """
    known = replace(facts, people=_as_agents(facts.people))
    for _ in range(_MOST_ANSWERS):
        known = _played(known, stage, seed)
        answer = next(_answers(known, stage, seed), None)
        if answer is None:
            break
        ask, value = answer
        known = _with_answer(known, stage, ask.member_id, ask.key, value)
    profiles: dict[UUID, dict[str, str]] = {}
    for row in known.people.rows:
        completion = kind_of(stage).completion(stage, own_view(known, stage, row.id, thread=_ended(known, stage)))
        if row.kind == "participant" and isinstance(completion, Done):
            if completion.page is not None and PAGE not in known.own(stage.id, row.id):
                known = _with_answer(known, stage, row.id, PAGE, completion.page)
            for effect in completion.effects:
                if isinstance(effect, SetProfile):
                    profiles[row.id] = effect.profile.model_dump()
    rows = tuple(replace(row, profile=profiles.get(row.id, row.profile)) for row in facts.people.rows)
    return replace(
        known,
        people=People(rows),
        results={**known.results, stage.id: resulted(stage, lab_view(known, stage)) or {}},
        messages={**known.messages, stage.id: _said(facts, stage, reader)},
        over=(*known.over, stage.id) if isinstance(known.over, tuple) else (stage.id,),
    )


def _as_agents(people: People) -> People:
    """All people as agents: the mock answers for them, too."""
    return People(tuple(replace(one, player="agent") if one.player == "person" else one for one in people.rows))


def _played(facts: Facts, stage: StageConfig, seed: int) -> Facts:
    return play_on(facts, stage, partial(_rng_of, seed, stage)).facts(facts, stage)


def _rng_of(seed: int, stage: StageConfig, path: str) -> Random:
    return seeds.rng(seed, f"{stage.id}/{path}")


def _answers(facts: Facts, stage: StageConfig, seed: int) -> Iterator[tuple[Ask, Json]]:
    """What is due now, each with an answer to it."""
    questions = parts_of(stage).questions
    if questions is None:
        return
    for row in facts.people.rows:
        if row.player == "script":
            continue
        view = own_view(facts, stage, row.id)
        for ask in questions.due(view):
            question = questions.question(view, ask)
            if question is not None:
                yield from _answer(question, ask, seeds.rng(seed, f"{row.path}/{stage.id}/{ask.key}"))


def _answer(question: Question, ask: Ask, rng: Random) -> Iterator[tuple[Ask, Json]]:
    try:
        yield ask, made_answer(question, rng, key=ask.key, is_person=False)
    except Unkept:
        # A question that no made-up reply fits: what counts where a model fails.
        instead = question.without_answer(())
        if isinstance(instead, Substitute):
            yield ask, instead.value


def _with_answer(facts: Facts, stage: StageConfig, member_id: UUID, key: str, value: Json) -> Facts:
    given: Mapping[UUID, Mapping[str, Json]] = facts.answers.get(stage.id, {})
    return facts.with_answers(stage.id, {**given, member_id: {**given.get(member_id, {}), key: value}})


def _ended(facts: Facts, stage: StageConfig) -> Thread | None:
    if parts_of(stage).talk is None:
        return None
    speakers = tuple(Speaker(one) for one in facts.people.on(stage.id))
    return Thread(
        pace="live", trigger_key="start", message_count=len(speakers), agent_run=0, speakers=speakers, ended=True
    )


def _said(facts: Facts, stage: StageConfig, reader: UUID) -> tuple[Message, ...]:
    """A line of each whom the reader meets in a conversation."""
    if parts_of(stage).talk is None:
        return ()
    met = own_view(facts, stage, reader).members
    rows = [facts.people.row(one.id) for one in met]
    return tuple(_line(number, row) for number, row in enumerate(rows, 1))


def _line(number: int, row: Attendee) -> Message:
    name = row.profile.get("name", "")
    return Message(number, row.id, name, _SAID.format(name=name), number * 1000)
