"""Keeps what this process has learned about servers of models: their lacks, and how much of a prompt they read."""

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

import structlog

from parley_lab.agent_worker.attempts import Attempt
from parley_lab.agent_worker.models.lacking import (
    IGNORED,
    IN_WORDS,
    REFUSALS,
    form_in,
    ignored_in,
    lack_in,
    reads_too_little,
)
from parley_lab.agent_worker.models.request_body import request_body
from parley_lab.agent_worker.told import Told
from parley_lab.base.clock import Clock
from parley_lab.base.errors import Unavailable
from parley_lab.contracts.key_rules import gate_names
from parley_lab.contracts.models import Lack
from parley_lab.contracts.prompts import tokens_of
from parley_lab.contracts.providers import CREWAI_PROVIDER, MOCK_PROVIDER, account_of
from parley_lab.drafts.drafts import Lease
from parley_lab.drafts.lacks import learn_lack, read_lacks
from parley_lab.members.alerts import raise_alert
from parley_lab.store.session import Database

log = structlog.get_logger(__name__)

SERVER_LACKS: Final = "server_lacks"
PROMPT_CUT: Final = "prompt_cut"
SEVERAL: Final = 3
"""So many drafts whose replies ignore a form show that the server ignores it."""


class Abilities:
    """The abilities of the servers of models.

    The rows in the database hold what they lack; this process reads them once, and again every second.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._lacks: Mapping[str, frozenset[Lack]] | None = None
        self._told = Told()
        self._ignored: dict[tuple[str, Lack | None], set[UUID]] = {}

    async def look(self) -> None:
        """Read what all processes have learned."""
        async with self._database.read() as session:
            self._lacks = await read_lacks(session, self._clock.now())

    async def with_lacks(self, lease: Lease) -> Lease:
        """The lease, with what the server of its model is known to lack among the settings."""
        if not _is_direct(lease):
            return lease
        if self._lacks is None:
            await self.look()
        model = lease.agent.model
        known = (self._lacks or {}).get(_name(lease), frozenset()) - set(model.lacks)
        return _lacking(lease, known) if known else lease

    async def learn(self, lease: Lease, attempt: Attempt) -> bool:
        """Whether the server refused the call for something that it lacks; then it is not sent again."""
        if not _is_direct(lease) or attempt.reply.status not in REFUSALS:
            return False
        lack = lack_in(_body(attempt), attempt.reply)
        # `extra_body` may send it all the same.
        if lack is None or lack in attempt.request.settings.lacks:
            return False
        await self._remember(lease, lack, f"{IN_WORDS[lack]} ({_beforehand(lack)}). It said: {attempt.reply.error}")
        return True

    async def learn_ignored(self, lease: Lease, attempt: Attempt) -> Lease | None:
        """The lease without the form that its call asked for, where the reply ignores it; None where it does not.

        Any model writes plain words once. Calls for other drafts do without the form, too, once the replies to several
        drafts have ignored it and none between has kept to it.
        """
        if not _is_direct(lease):
            return None
        name, body = _name(lease), _body(attempt)
        if attempt.reply.status == "ok":
            self._ignored.pop((name, form_in(body)), None)
            return None
        lack = ignored_in(body, attempt.reply)
        if lack is None or lack in attempt.request.settings.lacks:
            return None
        ignoring = self._ignored.setdefault((name, lack), set())
        ignoring.add(lease.draft_id)
        if len(ignoring) >= SEVERAL:
            await self._remember(lease, lack, f"{IGNORED[lack]} ({_beforehand(lack)}).")
        return _lacking(lease, {lack})

    async def _remember(self, lease: Lease, lack: Lack, words: str) -> None:
        name, known = _name(lease), self._lacks or {}
        async with self._database.transaction() as session:
            await learn_lack(session, name, lack, self._clock.now())
        self._lacks = {**known, name: known.get(name, frozenset()) | {lack}}
        log.info("server.lacks", name=name, lack=lack)
        await self._tell(lease, SERVER_LACKS, lack, f"{name} {words}")

    async def notice(self, lease: Lease, attempt: Attempt) -> None:
        """Raise an alert, once, if a server has read much less than it was sent."""
        if not _is_direct(lease):
            return
        reply, sent = attempt.reply, tokens_of(attempt.request.messages)
        if reads_too_little(reply, sent):
            text = f"{_name(lease)} read {reply.tokens_in:,} of about {sent:,} tokens: raise the context of the server."
            await self._tell(lease, PROMPT_CUT, "read", text)

    async def _tell(self, lease: Lease, alert_type: str, what: str, text: str) -> None:
        """Raise an alert once in each experiment; while Postgres is away, the next call of this kind does."""
        path = f"server:{_name(lease)}/{what}"
        if (lease.experiment_id, path) in self._told:
            return
        try:
            async with self._database.transaction() as session:
                await raise_alert(
                    session,
                    experiment_id=lease.experiment_id,
                    path=path,
                    alert_type=alert_type,
                    text=text,
                    now=self._clock.now(),
                )
        except Unavailable:
            return
        self._told.add(lease.experiment_id, path)


def _is_direct(lease: Lease) -> bool:
    """Whether the model is called by OpenAI's chat completions."""
    return lease.provider not in (MOCK_PROVIDER, CREWAI_PROVIDER)


def _lacking(lease: Lease, lacks: Set[Lack]) -> Lease:
    """The lease, with these lacks among the settings of its model, too."""
    model = lease.agent.model
    model = model.model_copy(update={"lacks": tuple(sorted({*model.lacks, *lacks}))})
    return replace(lease, agent=lease.agent.model_copy(update={"model": model}))


def _name(lease: Lease) -> str:
    model = lease.agent.model
    return gate_names(account_of(lease.provider, model.model), model.model, model.base_url)[1]


def _beforehand(lack: Lack) -> str:
    return f"`lacks: [{lack}]` of its model says so beforehand"


def _body(attempt: Attempt) -> Mapping[str, Any]:
    """The body of the call, as far as it tells what was asked."""
    return request_body(attempt.reply.endpoint, attempt.request)
