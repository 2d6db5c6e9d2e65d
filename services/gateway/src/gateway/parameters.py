"""Unknown query parameters are refused: a misspelt one must not be taken for one that was left out."""

from difflib import get_close_matches

from fastapi import Depends, Request, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute

from shared.errors import InvalidInput, Problem


# A coroutine, because FastAPI runs plain functions in threads.
async def _refuse_unknown(request: Request) -> None:
    """Raises: InvalidInput: naming every query parameter that the operation does not have."""
    if not request.query_params:
        return
    known = _known(request.scope["route"])
    unknown = [name for name in dict.fromkeys(request.query_params) if name not in known]
    if unknown:
        raise InvalidInput("The request has unknown parameters.", [_problem(name, known) for name in unknown])


def _problem(name: str, known: tuple[str, ...]) -> Problem:
    near = get_close_matches(name, known, n=1)
    return Problem(
        name[:80],
        "an unknown query parameter",
        f"one of {', '.join(known)}" if known else "none",
        hint=f"Did you mean {near[0]}?" if near else "",
    )


def _known(route: APIRoute) -> tuple[str, ...]:
    fields = get_flat_params(route.dependant)
    return tuple(dict.fromkeys(field.alias for field in fields if isinstance(field.field_info, params.Query)))


REFUSE_UNKNOWN = Depends(_refuse_unknown)
