"""Everything that is not a success, in one shape: problem details (RFC 9457)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Scope

from parley_lab.base.errors import (
    ChangedMeanwhile,
    Conflict,
    HalfDone,
    InvalidInput,
    NotSignedIn,
    ParleyError,
    Problem,
    TooSoon,
    Unavailable,
)
from parley_lab.base.logs import correlation
from parley_lab.base.meant_names import missing_field, unknown_field
from parley_lab.gateway.limiting import address_of
from parley_lab.gateway.resources.base import ProblemDetails, ProblemItem
from parley_lab.members.held_cohorts import holds
from parley_lab.members.standings import hash_token

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
_LONGEST_FOUND = 80

_CODES = {
    400: "bad_request",
    401: "not_signed_in",
    403: "not_allowed",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
}


def answer(
    status: int,
    code: str,
    detail: str,
    *,
    can_retry: bool = False,
    reason: str | None = None,
    params: Mapping[str, object] | None = None,
    problems: Sequence[Problem] = (),
    headers: dict[str, str] | None = None,
) -> Response:
    """The response that says so."""
    body = ProblemDetails(
        type=f"urn:parley:problem:{code}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        code=code,
        can_retry=can_retry,
        correlation_id=correlation.get(),
        reason=reason,
        params=dict(params or {}),
        problems=[ProblemItem.model_validate(one, from_attributes=True) for one in problems],
    )
    return Response(body.model_dump_json(), status, headers, MEDIA_TYPE)


HELD: Final = "The lab cannot go on with this group just now. It tries again by itself; so may you."
HELD_AGAIN_SECONDS: Final = 10
UNEXPECTED: Final = "Something went wrong on our side. The correlation id finds it in the log."


def unexpected() -> Response:
    """The response to our own errors; the log has them under the correlation id."""
    return answer(500, "unexpected", UNEXPECTED)


async def failed(scope: Scope) -> Response:
    """The response to an error that no one foresaw. Where the rules of a participant's stage fail, and hold the cohort,
    the request may be made again."""
    kind, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
    context = getattr(getattr(scope.get("app"), "state", None), "context", None)
    if not scope["path"].startswith("/v1/me") or kind.lower() != "bearer" or context is None:
        return unexpected()
    try:
        async with context.database.read() as session:
            is_held = await holds(session, hash_token(token))
    except ParleyError:
        return unexpected()
    again = {"Retry-After": str(HELD_AGAIN_SECONDS)}
    return answer(503, "unavailable", HELD, can_retry=True, headers=again) if is_held else unexpected()


def too_large(max_bytes: int) -> Response:
    return answer(413, "too_large", too_large_text(max_bytes))


def too_large_text(max_bytes: int) -> str:
    return f"The body of this request may have at most {max_bytes} bytes."


def install(app: FastAPI) -> None:
    """Have every error answered in this shape."""
    app.add_exception_handler(ParleyError, _parley_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)


async def _parley_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ParleyError)
    if isinstance(error, NotSignedIn):
        error = await _counted(request, error)
    if error.status >= 500 and not isinstance(error, Unavailable):
        log.error("http.failed", exc_info=error)
        if not isinstance(error, HalfDone):
            return unexpected()
    headers = {}
    if isinstance(error, NotSignedIn):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, Unavailable):
        headers["Retry-After"] = "1"
    if isinstance(error, TooSoon):
        headers["Retry-After"] = str(error.wait_seconds)
    return answer(
        error.status,
        error.code,
        error.message,
        can_retry=error.can_retry,
        reason=error.reason if isinstance(error, Conflict) else None,
        params=_params(error),
        problems=error.problems if isinstance(error, InvalidInput) else (),
        headers=headers,
    )


def _params(error: ParleyError) -> Mapping[str, object]:
    if isinstance(error, TooSoon):
        return {"seconds": error.wait_seconds}
    return error.params if isinstance(error, Conflict | ChangedMeanwhile) else {}


async def _counted(request: Request, error: NotSignedIn) -> ParleyError:
    """What a wrong key or token is answered: after too many from one address, not even that it is wrong."""
    try:
        await request.app.state.context.limits.of_address(address_of(request))
    except ParleyError as too_many:
        return too_many
    return error


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code, "error")
    detail = error.detail if error.status_code != 404 else "There is nothing at this address."
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_allowed(request))
    return answer(error.status_code, code, detail, headers=headers)


def _allowed(request: Request) -> list[str]:
    """Every method of this address; the framework names those of the first route only."""
    leading = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in leading for method in route.methods})


async def _validation_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = [_as_problem(one) for one in error.errors()]
    return answer(422, InvalidInput.code, "The request is not as expected.", problems=problems)


def _as_problem(error: dict[str, Any]) -> Problem:
    if error["type"] == "json_invalid":
        place, reason = error["loc"][-1], error.get("ctx", {}).get("error", "")
        return Problem(f"body, character {place}", f"something that is not JSON ({reason})", "valid JSON")
    source, *path = error["loc"]
    where = path_text(path) or str(source)
    if error["type"] == "missing":
        return replace(missing_field(where, "a value"), expected="a value")
    if error["type"] == "extra_forbidden":
        return replace(unknown_field(where, ()), expected="only known fields", hint="Leave it out.")
    found = error.get("input")
    return Problem(where, "nothing" if found is None else _shortened(found), _expected(error["msg"]))


def path_text(path: Sequence[int | str]) -> str:
    """`a.b[0]` for `("a", "b", 0)`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def _shortened(value: object) -> str:
    shown = repr(value) if isinstance(value, str | int | float | bool) else f"a value of type {type(value).__name__}"
    # What a client sent broken may not come back as it came: it could not be encoded.
    shown = shown.encode("utf-8", "replace").decode()
    return shown if len(shown) <= _LONGEST_FOUND else f"{shown[:_LONGEST_FOUND]}..."


def _expected(message: str) -> str:
    message = message.removeprefix("Value error, ")
    message = message.removeprefix("Input should be ").removeprefix("Value should ").removesuffix(" is expected")
    return message[:1].lower() + message[1:]
