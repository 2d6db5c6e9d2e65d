"""The text of an experiment's file, its check, and templates."""

import re
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import Field, StrictInt

from parley_lab.base.errors import Problem
from parley_lab.design.parsing import MAX_BYTES
from parley_lab.gateway.resources.base import ProblemItem, Request, Resource, StorableJson, StorableText

_LINE: Final = re.compile(r"line (\d+)(?:, column (\d+))?")


class LocatedProblem(ProblemItem):
    """One thing that is wrong with a file, and the line where it is."""

    line: int | None = Field(default=None, examples=[14])
    column: int | None = Field(default=None, examples=[5])
    """Null: somewhere in the line."""
    end_line: int | None = Field(default=None, examples=[14])


def located(problem: Problem) -> LocatedProblem:
    """The problem with its line, where the place says one."""
    # A line of a table is in another file.
    found = _LINE.match(problem.at) or _LINE.match(problem.where)
    line = None if found is None else int(found[1])
    column = None if found is None or found[2] is None else int(found[2])
    return LocatedProblem(**asdict(problem), line=line, column=column, end_line=line)


class SourceFile(Resource):
    name: str = Field(examples=["people.csv"])
    """As the text gives it."""
    size: int = Field(examples=[1024])
    """In bytes."""


class SourceResource(Resource):
    text: str = Field(examples=["# A pilot\nparley: 1\n"])
    media_type: str = Field(examples=["application/yaml"])
    version: int = Field(examples=[3])
    """Grows with each save; 0 where no text was stored, which shows the document as YAML."""
    saved_at: datetime | None
    saved_by: str | None
    problems: list[LocatedProblem]
    """While there are any, the experiment cannot start."""
    files: list[SourceFile] = Field(default=[])
    """The tables and pictures that are stored beside the text."""


class EstimateResource(Resource):
    """At most so many replies of models, and calls when each takes all its attempts."""

    replies: int
    calls: int
    open_ended: list[str]
    """Stages without a fixed number of replies, which are not counted."""


class FileCheck(Resource):
    is_valid: bool
    detail: str | None = Field(examples=["experiment.yaml is not a valid experiment: 1 problem."])
    """Null for a valid file."""
    problems: list[LocatedProblem]
    name: str | None = None
    document_hash: str | None = None
    model_mode: str | None = None
    stages: list[str] = Field(default=[], examples=[["page"]])
    treatments: list[str] = Field(default=[], examples=[["control"]])
    cohorts: int = 0
    members: int = 0
    """Seats and mediators of all cohorts."""
    real_models: list[str] = Field(default=[], examples=[["OPENAI_API_KEY is not set."]])
    """What is missing to run it with real models; empty: nothing."""
    estimate: EstimateResource | None = None
    warnings: list[str] = Field(default=[], examples=[[]])
    """Parts that are valid and likely not meant, in the words of `parley validate`."""


class ChangeOfText(Request):
    path: list[StorableText | Annotated[StrictInt, Field(ge=0, le=2**31 - 1)]] = Field(
        min_length=1, max_length=20, examples=[["stages", 0, "payoffs", "CC"]]
    )
    """Keys, and numbers of list entries from 0. Keys that are not there are made."""
    value: StorableJson = Field(examples=[[4, 4]])
    """Null: it is taken out."""


class EditText(Request):
    text: StorableText = Field(max_length=MAX_BYTES, examples=["parley: 1\nname: Buses  # by night\n"])
    changes: list[ChangeOfText] = Field(max_length=200)
    """One after another; none: the text is read only."""


class EditedText(Resource):
    text: str = Field(examples=["parley: 1\nname: Buses  # by night\n"])
    document: Any
    """Its values as they are written, without defaults."""


class TemplateResource(Resource):
    """An experiment that comes with the lab."""

    id: str = Field(examples=["deliberation"])
    title: str = Field(examples=["Deliberation"])
    about: str = Field(examples=["Two groups of agents talk about a plan."])
    media_type: str = Field(examples=["application/yaml"])


class TemplateList(Resource):
    templates: list[TemplateResource]
