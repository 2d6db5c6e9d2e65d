"""The interface of stage kinds stays small: a kind can be written by everyone who has read it once."""

import inspect
import re

import pytest
from pydantic import BaseModel

from parley_lab.kinds import data, effects, form, kind, page_kind, parts, reads, scripted, sentences, talk, view

MODULES = (data, effects, form, kind, page_kind, parts, reads, scripted, sentences, talk, view)
MOST_MEMBERS = 16


def own_members(one: type) -> set[str]:
    """The public members of a class, apart from those of the libraries' classes that it extends."""
    foreign = {name for base in one.__mro__ if not base.__module__.startswith("parley_lab.") for name in dir(base)}
    fields = one.model_fields if issubclass(one, BaseModel) else getattr(one, "__dataclass_fields__", {})
    return {name for name in {*dir(one), *fields} - foreign if not name.startswith("_")}


CLASSES = [
    one
    for module in MODULES
    for name, one in inspect.getmembers(module, inspect.isclass)
    if one.__module__ == module.__name__ and not name.startswith("_")
]


@pytest.mark.parametrize("one", CLASSES, ids=lambda one: one.__name__)
def test_no_class_that_a_kind_implements_or_reads_is_big(one: type) -> None:
    assert len(own_members(one)) <= MOST_MEMBERS


def test_the_classes_are_found() -> None:
    assert {kind.StageKind, parts.Parts, parts.Question, view.Member, view.Thread} <= set(CLASSES)
    assert len(own_members(parts.Parts)) > 10


IMPLEMENTED = (
    kind.StageKind,
    page_kind.PageKind,
    parts.Questions,
    parts.Question,
    parts.Draws,
    parts.Talk,
    parts.Narration,
    parts.Scripts,
    data.Data,
    data.Reporter,
)


@pytest.mark.parametrize("one", IMPLEMENTED, ids=lambda one: one.__name__)
def test_every_method_that_a_kind_implements_says_for_whom_it_is_called(one: type) -> None:
    methods = {name: method for name, method in vars(one).items() if inspect.isfunction(method) and name[0] != "_"}

    silent = [name for name, method in methods.items() if not re.search(r"\b[Cc]alled\b", method.__doc__ or "")]

    assert methods
    assert silent == []
