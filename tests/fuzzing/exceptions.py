"""What schemathesis finds and is right nevertheless, each with its reason; docs/api.md tells users the same."""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from schemathesis import Case, Response
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.openapi.checks import IgnoredAuth, RejectedPositiveData


@dataclass(frozen=True, slots=True)
class Excepted:
    """Requests that OpenAPI allows and that are refused all the same (422)."""

    reason: str
    operations: str = ".*"
    """The method and the path, as a regular expression."""
    says: str = ".*"
    """The detail of the refusal or what one of its problems expected, as a regular expression."""

    def fits(self, operation: str, said: list[str]) -> bool:
        return bool(re.fullmatch(self.operations, operation)) and any(re.fullmatch(self.says, one) for one in said)


EXCEPTIONS: Final = (
    Excepted(
        "OpenAPI says that a file is a text or an object; what may be in it is in the schema of experiment files, in "
        "the pages on workbooks and personas, or in its first bytes.",
        operations=r"POST /v1/experiments(/validate|/edit|/see|/import|/import/validate)?"
        r"|PUT /v1/experiments/\{experiment_id\}/file"
        r"|POST /v1/files|POST /v1/persona-library|PUT /v1/personas/\{persona_id\}(/agent)?",
    ),
    Excepted(
        "What an answer may be is known from the stage that it is for: the member's page has its form.",
        operations=r"POST /v1/me/stages/\{stage_id\}/advance|(POST|PUT) /v1/me/asks/\{ask_id\}/answer"
        r"|PUT /v1/me/stages/\{stage_id\}/answer",
    ),
    Excepted(
        "A cursor is one that was given, or `start`.",
        says=r"This cursor cannot be used\.|The list cannot be read on from there\.",
    ),
    Excepted(
        "A key ends in the future; no schema knows what time it is.",
        operations="POST /v1/keys",
        says=r"The key would have expired already\.",
    ),
    Excepted(
        "A time at the ends of the calendar is one of the years 1 to 9999 in UTC, too; no schema says so.",
        says="a time in the years 1 to 9999 of UTC",
    ),
    Excepted(
        "A message answers another one of its conversation; no schema knows which ones there are.",
        operations=r"POST /v1/me/threads/\{thread_id\}/messages",
        says=r"The message answers one that is not there\.",
    ),
    Excepted(
        "An agent that is added is one of the experiment, or a persona that fits its file; a participant begins on a "
        "stage of its cohort, a mediator on none; no schema knows which ones there are.",
        operations=r"POST /v1/cohorts/\{cohort_id\}/members",
        says=r"There is no such agent\.|The persona does not fit the experiment\.|The group has no such stage\."
        r"|A mediator goes through no stages\.",
    ),
    Excepted(
        "A persona whose prompt is shown is one of the experiment, or one that fits its file.",
        operations=r"POST /v1/experiments/\{experiment_id\}/prompt",
        says=r"The persona does not fit the experiment\.",
    ),
    Excepted(
        "A parameter of a link's address is one that the file of the experiment names.",
        operations=r"POST /v1/join/\{code\}|POST /v1/experiments/\{experiment_id\}/join",
        says=r"The study does not keep all of these parameters\.",
    ),
    Excepted(
        "A guest has an id with a character that is seen, and no placeholder of one.",
        operations=r"PUT /v1/experiments/\{experiment_id\}/guests",
        says=r"The guest list has entries that are no ids\.",
    ),
    Excepted(
        "A conversation goes on to a topic of its stage; no schema knows which ones there are.",
        operations=r"POST /v1/me/threads/\{thread_id\}/go-on",
        says=r"The conversation has no such topic\.",
    ),
    Excepted(
        "Groups are added to arms that the file has groups of; no schema knows which ones there are.",
        operations=r"POST /v1/experiments/\{experiment_id\}/cohorts",
        says=r"No group of the file is like that\.|So many groups cannot be added\.",
    ),
    Excepted(
        "Rows of a table are chosen by its columns; no schema knows which ones a table has.",
        operations=r"GET /v1/experiments/\{experiment_id\}/tables/\{name\}",
        says=r"The rows cannot be chosen\.",
    ),
    Excepted(
        "What an act on members needs depends on the act: members, a reason, or what is said.",
        operations=r"POST /v1/experiments/\{experiment_id\}/members/\{act\}",
        says="the ids of members|why|what is said",
    ),
    Excepted(
        "A sign-in comes with a key in the header or with a code in the body, not with both.",
        operations="POST /v1/sign-ins",
        says=r"Sign in with a code or with an API key\.",
    ),
    Excepted(
        "Text without a visible character, and what Postgres cannot hold, are refused with their place.",
        says=r"text (that is more than white space|without NUL and without broken characters)"
        r"|(text that can be stored|an integer from .+|a finite number, .+?)( is expected at .+)?",
    ),
)


_CHECK: Final = "/v1/experiments/check"
"""Says what is wrong with whatever it gets, nothing included."""


def _has_ticket(case: Case[Any]) -> bool:
    """Whether the address of a stream has a ticket, which browsers send in place of the header."""
    return case.operation.path.endswith("/stream") and "ticket" in (case.query or {})


def is_excepted(failure: Failure, case: Case[Any], response: Response) -> bool:
    """Whether an exception speaks of this finding."""
    if isinstance(failure, AcceptedNegativeData | IgnoredAuth) and _has_ticket(case):
        return True
    if isinstance(failure, AcceptedNegativeData) and response.status_code == 413:
        # A body that is too large is refused before it is read.
        return True
    if isinstance(failure, AcceptedNegativeData):
        # A body of YAML is a text to the gateway, as OpenAPI says: schemathesis means an object and sends a text.
        return case.media_type == "application/yaml" or case.operation.path == _CHECK
    if not isinstance(failure, RejectedPositiveData) or response.status_code != 422:
        return False
    operation = f"{case.method.upper()} {case.operation.path}"
    refusal = json.loads(response.content)
    said = [refusal["detail"], *(problem["expected"] for problem in refusal["problems"])]
    return any(one.fits(operation, said) for one in EXCEPTIONS)
