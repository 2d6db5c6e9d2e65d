"""Checks the times of a stage: how long members stay, and what those answer who give no answer in time. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from uuid import UUID

from parley_lab.base import variables as texts
from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.meant_names import unknown_field
from parley_lab.contracts.experiment import Profile, StageConfig
from parley_lab.kinds import PAGE, Ask, OwnView, Parts, Question
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.parts import plays_together
from parley_lab.kinds.stages import parts_of
from parley_lab.views.builder import Facts, People, own_view

_ANYBODY: Final = UUID(int=0)


def problems(stage: StageConfig) -> Iterator[Problem]:
    """What is wrong with `stay`; `where` is relative to the stage."""
    stay, parts = stage.stay, parts_of(stage)
    if stay.at_most_seconds is not None and (parts.has_thread or plays_together(parts)):
        why = (
            "its conversation has limits of its own"
            if parts.has_thread
            else "they wait for each other; `when_gone` says what happens when one is gone"
        )
        expected = f"nothing: members meet on a stage of the kind {stage.kind}, and {why}"
        yield Problem("stay.at_most_seconds", str(stay.at_most_seconds), expected)
    if stay.at_least_seconds and stay.at_most_seconds and stay.at_least_seconds >= stay.at_most_seconds:
        yield Problem("stay.at_least_seconds", str(stay.at_least_seconds), "less than at_most_seconds")
    if stay.default is not None and (stay.then != "go_on" or parts.questions is None or _asks_anew(stage, parts)):
        yield Problem("stay.default", "a default", "`then: go_on`, on a stage that asks for an answer")
    elif stay.default is not None:
        yield from _default(stage, parts)


def _asks_anew(stage: StageConfig, parts: Parts) -> bool:
    """Whether the page is no answer by itself: one thing after another is asked, also of people."""
    asked = parts.questions is not None and parts.questions.question(_of_anybody(stage), Ask(_ANYBODY, PAGE, ""))
    return parts.state is not None and not asked


def _default(stage: StageConfig, parts: Parts) -> Iterator[Problem]:
    """A default that is no answer. What depends on who is there, or on earlier answers, is left to the run."""
    given = stage.stay.default or {}
    asking = Ask(_ANYBODY, PAGE, "")
    asked = None if parts.questions is None else parts.questions.question(_of_anybody(stage), asking)
    fields = () if asked is None or asked.form().is_bare else asked.form().fields
    if asked is None or not fields:
        return
    known = [one.name for one in fields]
    unknown = [name for name in given if name not in known]
    for name in unknown:
        yield unknown_field(f"stay.default.{name}", known)
    is_open = any(one.show_if is not None for one in fields) or bool(parts.reads) or any(texts.places(given))
    if not unknown and not is_open and parts.draws is None:
        yield from _unfit(asked, given)


def _of_anybody(stage: StageConfig) -> OwnView:
    """The stage as a person sees it who is alone there."""
    profile = Profile().model_dump()
    person = Attendee(_ANYBODY, "c1/m1", "participant", "person", "in_progress", (stage.id,), 0, profile)
    return own_view(Facts(people=People((person,))), stage, _ANYBODY)


def _unfit(asked: Question, given: object) -> Iterator[Problem]:
    try:
        asked.check(given)
    except InvalidInput as error:
        for one in error.problems:
            yield replace(one, where=f"stay.default.{one.where}".rstrip("."))
