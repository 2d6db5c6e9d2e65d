"""Creating requests that may be repeated under an Idempotency-Key."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request

from parley_lab.answers import kept_answers
from parley_lab.answers.kept_answers import Repeatable
from parley_lab.gateway.context import Context, InContext
from parley_lab.gateway.resources.base import Resource
from parley_lab.members import standings
from parley_lab.store import keys
from parley_lab.store.session import Session

ResourceT = TypeVar("ResourceT", bound=Resource)

IDEMPOTENCY_HEADER = "Idempotency-Key"
IdempotencyKey = Annotated[
    str | None,
    Header(
        description="Random, chosen by the client. The same request under the same key within a day is done once, and "
        "gets the first answer again.",
        min_length=16,
        max_length=200,
    ),
]


@dataclass(frozen=True, slots=True)
class Once:
    """The request that is answered now, and the key under which it may be repeated."""

    request: Request
    context: Context
    key: str | None

    async def transact(
        self,
        shape: type[ResourceT],
        work: Callable[[Session], Awaitable[ResourceT]],
        *,
        sign_in: Callable[[Session], Awaitable[object]],
        content: bytes | None = None,
    ) -> ResourceT:
        """The result of `work` as of `Database.transact`, or the one from before. `content` stands for the body.

        `work` signs in who asks; `sign_in` does it for those who get the answer from before.

        Raises:
            Conflict: another request was made under the same key.
        """
        if self.key is None:
            return await self.context.database.transact(work)
        url, bearer = self.request.url, self.request.headers.get("authorization", "")
        body = await self.request.body() if content is None else content
        where = f"{self.key}\n{self.request.method} {url.path}"
        asked = Repeatable(f"{bearer}\n{self.key}", where, url.query.encode() + b"\n" + body)

        async def once(session: Session) -> ResourceT:
            kept = await kept_answers.find_or_claim(session, asked, self.context.clock.now())
            if kept is not None:
                await sign_in(session)
                return shape.model_validate_json(kept)
            result = await work(session)
            await kept_answers.keep(session, asked, result.model_dump_json().encode())
            return result

        return await self.context.database.transact(once)


def by_key(context: Context, key: str) -> Callable[[Session], Awaitable[object]]:
    """Signs in an experimenter who may change things."""
    return lambda session: keys.require_scope(session, key, context.clock.now(), "write")


def by_token(token: str) -> Callable[[Session], Awaitable[object]]:
    """Signs in a participant."""
    return lambda session: standings.sign_in(session, token, lock=False)


async def _once(request: Request, context: InContext, idempotency_key: IdempotencyKey = None) -> Once:
    return Once(request, context, idempotency_key)


InOnce = Annotated[Once, Depends(_once)]
