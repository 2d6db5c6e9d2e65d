"""When a stage opens and a cohort is over."""

from uuid import uuid4

import pytest

from parley_lab.contracts.experiment import Progress, StageConfig
from parley_lab.design import Resolved
from parley_lab.kinds import Parts
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.reads import Read
from parley_lab.kinds.stages import kinds, read_stage
from parley_lab.members.cohort_state import CohortState
from parley_lab.orchestrator import rules
from parley_lab.orchestrator.rules import is_over, may_open, more_are_to_come


def a_stage(kind: str = "info", **progress: object) -> StageConfig:
    fields = {"lines": ["Hello."]} if kind == "info" else {}
    return read_stage({"id": "s2", "kind": kind, "progress": progress, **fields})


def a_member(
    position: int, *, status: str = "in_progress", player: str = "person", kind: str = "participant"
) -> Attendee:
    return Attendee(
        id=uuid4(),
        path="c1/m",
        kind=kind,
        player=player,
        status=status,
        stage_ids=("s1", "s2", "s3"),
        position=position,
        profile={},
        provider=None,
    )


def a_cohort(*members: Attendee, pace: str = "live", stages: tuple[StageConfig, ...] = ()) -> CohortState:
    return CohortState(
        given={},
        id=uuid4(),
        path="c1",
        name="c1",
        experiment_id=uuid4(),
        seed=0,
        pace=pace,
        language=None,
        status="running",
        design=Resolved(treatment_id=None, stages=stages, personas={}, variables={}),
        members=members,
        draws={},
        states={},
        threads=(),
        as_of=0,
    )


@pytest.mark.parametrize(("positions", "opens"), [((1, 0), False), ((1, 1), True), ((2, 1), True), ((0, 0), False)])
def test_a_stage_that_waits_for_all_opens_when_everybody_has_arrived(positions: tuple[int, ...], opens: bool) -> None:
    cohort = a_cohort(*(a_member(position) for position in positions))

    assert may_open(a_stage(wait_for_all=True), cohort) is opens


@pytest.mark.parametrize("status", ["paused", "removed", "left", "failed"])
def test_no_one_waits_for_those_who_are_out_or_paused(status: str) -> None:
    cohort = a_cohort(a_member(1), a_member(0, status=status))

    assert may_open(a_stage(wait_for_all=True), cohort)


def test_an_open_seat_is_waited_for() -> None:
    cohort = a_cohort(a_member(1), a_member(0, status="expected"))

    assert not may_open(a_stage(wait_for_all=True), cohort)


@pytest.mark.parametrize(
    ("others", "opens"),
    [
        ([(1, "in_progress")], True),
        ([(0, "in_progress")], False),
        ([(0, "expected")], False),
        ([(0, "paused"), (0, "left"), (0, "removed"), (0, "failed"), (3, "completed")], True),
    ],
)
def test_a_stage_that_reads_everybody_opens_when_the_read_stage_is_over(
    monkeypatch: pytest.MonkeyPatch, others: list[tuple[int, str]], opens: bool
) -> None:
    reading = Parts(reads=(Read("s1", everybody=True),))
    monkeypatch.setattr(rules, "parts_of", lambda stage: reading)
    cohort = a_cohort(a_member(1), *(a_member(position, status=status) for position, status in others))

    assert may_open(a_stage(), cohort) is opens
    assert may_open(a_stage(min_participants=4), cohort) is False


@pytest.mark.parametrize(("arrived", "opens"), [(2, False), (3, True)])
def test_a_minimum_of_participants_must_have_arrived(arrived: int, opens: bool) -> None:
    members = [a_member(1) for _ in range(arrived)] + [a_member(0) for _ in range(4 - arrived)]

    assert may_open(a_stage(min_participants=3), a_cohort(*members)) is opens


@pytest.mark.parametrize(
    ("others", "in_vain"),
    [
        ([(0, "left")], True),
        ([(0, "expected")], False),
        ([(0, "paused")], False),
        ([(1, "in_progress")], False),
        ([(2, "left"), (0, "removed")], True),
        ([(3, "completed"), (0, "left")], False),
    ],
)
def test_agents_wait_in_vain_once_no_person_can_come(others: list[tuple[int, str]], in_vain: bool) -> None:
    agent = a_member(1, player="agent")
    cohort = a_cohort(agent, *(a_member(position, status=status) for position, status in others))

    assert rules.waits_in_vain(a_stage(min_participants=2), cohort) is in_vain
    assert not rules.waits_in_vain(a_stage(min_participants=1), cohort)


def test_a_stage_that_waits_for_no_one_is_open_from_the_start() -> None:
    assert may_open(a_stage(), a_cohort(a_member(0)))


@pytest.mark.parametrize("kind", [name for name, kind in kinds().items() if kind.parts(kind.example()).has_thread])
def test_in_pace_fast_a_stage_with_a_thread_waits_for_every_agent(kind: str) -> None:
    example = kinds()[kind].example()
    chat = example.model_copy(update={"id": "s2", "progress": Progress(wait_for_all=False)})
    late = (a_member(1, player="agent"), a_member(0, player="agent"))

    assert not may_open(chat, a_cohort(*late, pace="fast"))
    assert may_open(chat, a_cohort(*late, pace="live"))


def test_in_pace_fast_what_follows_answers_for_the_cohort_waits_for_every_agent() -> None:
    questions = [{"id": "why", "kind": "text", "title": "Why?"}]
    told = read_stage({"id": "s1", "kind": "survey", "audience": "cohort", "questions": questions})
    late = (a_member(1, player="agent"), a_member(0, player="agent"))
    stages = (told, a_stage())

    assert not may_open(a_stage(), a_cohort(*late, pace="fast", stages=stages))
    assert may_open(a_stage(), a_cohort(*late, pace="live", stages=stages))
    assert may_open(a_stage(), a_cohort(*late, pace="fast", stages=stages[::-1]))


def test_a_cohort_is_over_when_every_participant_has_come_to_an_end() -> None:
    mediator = a_member(0, kind="mediator")
    ended = [a_member(3, status=status) for status in ("completed", "left", "removed", "failed")]

    assert is_over(a_cohort(mediator, *ended))
    assert not is_over(a_cohort(*ended, a_member(0, status="expected")))


@pytest.mark.parametrize(
    ("position", "status", "expected"),
    [
        (0, "in_progress", True),
        (1, "in_progress", False),
        (2, "in_progress", False),
        (1, "expected", True),
        (1, "paused", True),
        (0, "left", False),
        (3, "completed", False),
    ],
)
def test_someone_is_to_come_who_is_not_here_and_may_still_be(position: int, status: str, expected: bool) -> None:
    cohort = a_cohort(a_member(1), a_member(position, status=status), a_member(0, kind="mediator"))

    assert more_are_to_come(cohort, "s2") is expected
