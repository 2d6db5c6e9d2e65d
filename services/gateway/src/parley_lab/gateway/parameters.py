"""Unknown query parameters are refused: a misspelt one must not be taken for one that was left out."""

from difflib import get_close_matches
from typing import Final

from fastapi import Request, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from parley_lab.base.errors import InvalidInput, Problem

NO_NUL: Final = r"^[^\x00]*$"
"""The pattern of texts that Postgres is asked for: it refuses NUL."""


class Route(APIRoute):
    """A route of the API, which refuses query parameters that its operation does not have."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises: InvalidInput: naming every unknown parameter."""
        if scope["query_string"] and scope["method"] in (self.methods or ()):
            self._refuse_unknown(Request(scope))
        await super().handle(scope, receive, send)

    def _refuse_unknown(self, request: Request) -> None:
        known = _known(self)
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
