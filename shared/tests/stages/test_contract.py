"""What every kind of stage promises, checked for each kind there is. A new kind gets this suite by being there."""

import copy
import json
from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID, uuid5

import pytest

from shared.contracts.experiment import Profile, StageConfig
from shared.schema_filler import fill
from shared.stage import MEDIATE, PAGE, TALK, Ask, LabView, Member, Message, OwnView, Speaker, StageKind, Thread
from shared.stages import kind_of, kinds, read_stage
from shared.testing.views import lab

SPACE = UUID(int=7)
PRIVATE_FIELDS = {"correct"}
TYPES = {"text": str, "integer": int, "number": int | float, "boolean": bool}


def member(number: int, **changes: Any) -> Member:
    fields: dict[str, Any] = {
        "id": uuid5(SPACE, f"m{number}"),
        "path": f"c1/m{number}",
        "kind": "participant",
        "player": "agent",
        "profile": Profile(name=f"Person {number}"),
    }
    return Member(**{**fields, **changes})


MEMBERS = (member(1), member(2), member(3, player="person"), member(4, kind="mediator"))
ABSENT = tuple(replace(one, present=False) for one in MEMBERS)


def thread(**changes: Any) -> Thread:
    fields: dict[str, Any] = {"message_count": 1, "speakers": tuple(Speaker(one) for one in MEMBERS), **changes}
    return Thread(path="c1/talk", pace="live", trigger_key="start", last_author_id=None, agent_run=0, **fields)


def view(me: Member = MEMBERS[0], **changes: Any) -> OwnView:
    message = Message(1, MEMBERS[0].id, "Person 1", "Good evening", 1000)
    return OwnView(**{"me": me, "members": MEMBERS, "thread": thread(), "messages": (message,), **changes})


@pytest.fixture(params=sorted(kinds()))
def kind(request: pytest.FixtureRequest) -> StageKind[Any]:
    return kinds()[request.param]


@pytest.fixture
def stage(kind: StageKind[Any]) -> StageConfig:
    example: StageConfig = kind.example()
    return example


def asks(kind: StageKind[Any], stage: StageConfig) -> list[Ask]:
    """What the first member can be asked: to talk, or for the page, and whatever the kind names at first."""
    reader = MEMBERS[0].id
    purposes = [TALK, MEDIATE] if kind.thread == "conversation" else ["page"]
    named = kind.next_asks(stage, stated(kind, stage, view()))
    return [*(Ask(reader, PAGE, purpose) for purpose in purposes), *named]


def stated(kind: StageKind[Any], stage: StageConfig, seen: OwnView) -> OwnView:
    """The view with what the kind makes of everybody's answers, which are none."""
    return replace(seen, state=everything(kind, stage).state)


def everything(kind: StageKind[Any], stage: StageConfig, **given: Any) -> LabView:
    seen = lab(*MEMBERS, **given)
    return replace(seen, state=kind.public_state(stage, seen))


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*(keys(part) for part in value.values()))
    return set().union(*(keys(part) for part in value)) if isinstance(value, list) else set()


def an_answer(kind: StageKind[Any], stage: StageConfig, seed: int) -> Any:
    return an_answer_to(kind, stage, asks(kind, stage)[0], seed)


def an_answer_to(kind: StageKind[Any], stage: StageConfig, ask: Ask, seed: int) -> Any:
    seen = stated(kind, stage, view())
    model = kind.reply_model(stage, ask, seen)
    if model is None:
        return {}
    reply = model.model_validate(fill(model.model_json_schema(), Random(seed)))
    return kind.check_answer(stage, ask, kind.answer_from_reply(stage, ask, reply), seen)


def test_example_is_complete_and_survives_json(kind: StageKind[Any], stage: StageConfig) -> None:
    again = read_stage(json.loads(stage.model_dump_json()))

    assert again == stage
    assert kind_of(again) is kind
    assert kind.problems(stage, []) == []


def test_pages_and_prompts_keep_private_fields_private(kind: StageKind[Any], stage: StageConfig) -> None:
    answered = view(own={PAGE: an_answer(kind, stage, 1)})

    for seen in (view(), answered, view(thread=None, messages=()), view(MEMBERS[3])):
        page = kind.public_view(stage, seen)
        assert json.loads(json.dumps(page)) == page
        assert not keys(page) & PRIVATE_FIELDS
        for with_answers in (True, False):
            for ask in (None, *asks(kind, stage)):
                blocks = kind.describe(stage, stated(kind, stage, seen), with_answers=with_answers, ask=ask)
                assert all(isinstance(block.text, str) for block in blocks)


def test_every_ask_has_a_task(kind: StageKind[Any], stage: StageConfig) -> None:
    assert all(kind.task(stage, ask, stated(kind, stage, view())) for ask in asks(kind, stage))


@pytest.mark.parametrize("seed", range(30))
def test_replies_that_fit_the_schema_are_answers(kind: StageKind[Any], stage: StageConfig, seed: int) -> None:
    for ask in asks(kind, stage):
        answer = an_answer_to(kind, stage, ask, seed)

        assert json.loads(json.dumps(answer)) == answer
        assert kind.check_answer(stage, ask, answer, stated(kind, stage, view())) == answer


def test_reply_schemas_are_strict_objects(kind: StageKind[Any], stage: StageConfig) -> None:
    for ask in asks(kind, stage):
        model = kind.reply_model(stage, ask, stated(kind, stage, view()))
        if model is not None:
            schema = model.model_json_schema()
            assert schema["additionalProperties"] is False
            assert schema["required"] == list(schema["properties"])
            assert "default" not in keys(schema)


def test_asking_again_changes_nothing(kind: StageKind[Any], stage: StageConfig) -> None:
    for me in MEMBERS:
        seen = stated(kind, stage, view(me))
        wanted = kind.next_asks(stage, seen)

        assert kind.next_asks(stage, seen) == wanted
        assert len({ask.key for ask in wanted}) == len(wanted)
        assert {ask.member_id for ask in wanted} <= {me.id}
        assert not wanted or kind.has_shared_asks or me.player == "agent"


def test_nobody_who_is_not_there_is_asked(kind: StageKind[Any], stage: StageConfig) -> None:
    assert not [ask for me in ABSENT for ask in kind.next_asks(stage, stated(kind, stage, view(me, members=ABSENT)))]


def test_nobody_who_has_answered_is_asked_or_blocked(kind: StageKind[Any], stage: StageConfig) -> None:
    given = {(one.id, PAGE): an_answer(kind, stage, 1) for one in MEMBERS}
    state = everything(kind, stage, given=given).state
    for me in MEMBERS:
        over = view(me, own={PAGE: given[me.id, PAGE]}, state=state, thread=thread(speakers=(), ended=True))

        assert kind.next_asks(stage, over) == []
        assert me.kind == "mediator" or kind.blocked_by(stage, over) == []


def test_cells_are_in_the_columns_and_of_their_type(kind: StageKind[Any], stage: StageConfig) -> None:
    columns = {column.name: column for column in kind.columns(stage)}

    cells = kind.cells(stage, an_answer(kind, stage, 3))

    assert len(columns) == len(kind.columns(stage))
    assert set(cells) <= set(columns)
    assert all(isinstance(cell, TYPES[columns[name].type]) for name, cell in cells.items())
    assert kind.cells(stage, {}) == {}


def test_a_later_draw_only_extends(kind: StageKind[Any], stage: StageConfig) -> None:
    first = kind.draw(stage, MEMBERS[:2], {}, Random(1))
    before = copy.deepcopy(first)

    later = kind.draw(stage, MEMBERS, first, Random(2))

    assert first == before
    assert {name: later[name] for name in first} == first


def test_a_failed_ask_has_a_defined_end(kind: StageKind[Any], stage: StageConfig) -> None:
    for ask in asks(kind, stage):
        decision = kind.on_unanswered(stage, ask, "failed")
        assert decision in {"wait", "pass", "default", "drop"}
        if decision == "default":
            answer = kind.default_answer(stage, ask, stated(kind, stage, view()), "")
            assert json.loads(json.dumps(answer)) == answer


def test_the_state_is_json_and_the_same_each_time(kind: StageKind[Any], stage: StageConfig) -> None:
    seen = everything(kind, stage, given={(one.id, PAGE): an_answer(kind, stage, 1) for one in MEMBERS})

    assert json.loads(json.dumps(seen.state)) == seen.state == kind.public_state(stage, seen)
    assert kind.has_shared_asks or not seen.state


def test_only_a_conversation_has_turns(kind: StageKind[Any], stage: StageConfig) -> None:
    if kind.thread == "conversation":
        assert kind.next_wave(stage, thread(), Random(1)) == kind.next_wave(stage, thread(), Random(1))
    else:
        with pytest.raises(NotImplementedError):
            kind.next_wave(stage, thread(), Random(1))


def test_only_a_kind_whose_thread_is_minutes_names_them_and_nobody_posts_there(
    kind: StageKind[Any], stage: StageConfig
) -> None:
    seen = everything(kind, stage)

    if kind.thread == "minutes":
        minutes = kind.minutes(stage, seen)
        assert kind.has_shared_asks
        assert minutes == kind.minutes(stage, seen)
        assert len({line.key for line in minutes.lines}) == len(minutes.lines)
        assert all(kind.may_not_speak(stage, thread(), one.id) for one in MEMBERS)
        assert not kind.may_call_off(stage, thread(), MEMBERS[0].id)
        assert not kind.has_replies_and_reactions(stage)
        assert kind.time_limit_seconds(stage) is None
    else:
        with pytest.raises(NotImplementedError):
            kind.minutes(stage, seen)
