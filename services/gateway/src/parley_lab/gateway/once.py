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
        body = await self.request.body() if content is None else content

        async def once(session: Session) -> ResourceT:
            return await self._find_or_do(session, shape, work, self._name_request(self.key, body), sign_in)

        return await self.context.database.transact(once)

    async def do_part(
        self, session: Session, shape: type[ResourceT], work: Callable[[Session], Awaitable[ResourceT]], part: str
    ) -> ResourceT:
        """The result of `work`, or the one from before, of a request that takes several transactions.

        `part` names the one of `session`, whose caller has signed in.

        Raises:
            Conflict: another request was made under the same key.
        """
        if self.key is None:
            return await work(session)
        asked = self._name_request(f"{self.key}\n{part}", await self.request.body())
        return await self._find_or_do(session, shape, work, asked, None)

    def _name_request(self, name: str | None, body: bytes) -> Repeatable:
        url, bearer = self.request.url, self.request.headers.get("authorization", "")
        where = f"{name}\n{self.request.method} {url.path}"
        return Repeatable(f"{bearer}\n{self.key}", where, url.query.encode() + b"\n" + body)

    async def _find_or_do(
        self,
        session: Session,
        shape: type[ResourceT],
        work: Callable[[Session], Awaitable[ResourceT]],
        asked: Repeatable,
        sign_in: Callable[[Session], Awaitable[object]] | None,
    ) -> ResourceT:
        kept = await kept_answers.find_or_claim(session, asked, self.context.clock.now())
        if kept is not None:
            if sign_in is not None:
                await sign_in(session)
            return shape.model_validate_json(kept)
        result = await work(session)
        await kept_answers.keep(session, asked, result.model_dump_json().encode())
        return result


def by_key(context: Context, key: str) -> Callable[[Session], Awaitable[object]]:
    """Signs in an experimenter who may change things."""
    return lambda session: keys.require_scope(session, key, context.clock.now(), "write")


def by_token(token: str) -> Callable[[Session], Awaitable[object]]:
    """Signs in a participant."""
    return lambda session: standings.sign_in(session, token, lock=False)


async def _once(request: Request, context: InContext, idempotency_key: IdempotencyKey = None) -> Once:
    return Once(request, context, idempotency_key)


InOnce = Annotated[Once, Depends(_once)]
