"""Who may use which route: each route beside all who may call it, with each scope. A route without a rule fails."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

import httpx2
import pytest
from fastapi.routing import APIRoute

from parley_lab.gateway.testing import FILE, Api
from parley_lab.store import keys, sign_ins

pytestmark = pytest.mark.postgres

RULES: Final[Mapping[str, str]] = {
    "POST /v1/alerts/{alert_id}/resolve": "its write",
    "PATCH /v1/cohorts/{cohort_id}": "its write",
    "POST /v1/cohorts/{cohort_id}/end": "its write",
    "POST /v1/cohorts/{cohort_id}/lock": "its write",
    "POST /v1/cohorts/{cohort_id}/members": "its write",
    "POST /v1/cohorts/{cohort_id}/pause": "its write",
    "POST /v1/cohorts/{cohort_id}/resume": "its write",
    "POST /v1/cohorts/{cohort_id}/seats": "its write",
    "GET /v1/cohorts/{cohort_id}/threads": "its read",
    "POST /v1/cohorts/{cohort_id}/unlock": "its write",
    "GET /v1/deeds": "own read",
    "GET /v1/drafts/{draft_id}": "its read",
    "GET /v1/drafts/{draft_id}/prompt": "its read",
    "GET /v1/experiment-schema": "open",
    "GET /v1/experiments": "own read",
    "POST /v1/experiments": "own write",
    "POST /v1/experiments/check": "own read",
    "POST /v1/experiments/edit": "own read",
    "POST /v1/experiments/import": "own write",
    "POST /v1/experiments/import/validate": "own read",
    "POST /v1/experiments/see": "own read",
    "POST /v1/experiments/validate": "own read",
    "DELETE /v1/experiments/{experiment_id}": "its write",
    "GET /v1/experiments/{experiment_id}": "its read",
    "PATCH /v1/experiments/{experiment_id}": "its write",
    "GET /v1/experiments/{experiment_id}/activity": "its read",
    "GET /v1/experiments/{experiment_id}/alerts": "its read",
    "GET /v1/experiments/{experiment_id}/board": "its read",
    "GET /v1/experiments/{experiment_id}/calls": "its read",
    "GET /v1/experiments/{experiment_id}/charts": "its read",
    "GET /v1/experiments/{experiment_id}/charts/{chart_id}": "its read",
    "GET /v1/experiments/{experiment_id}/cohorts": "its read",
    "POST /v1/experiments/{experiment_id}/cohorts": "its write",
    "POST /v1/experiments/{experiment_id}/end": "its write",
    "GET /v1/experiments/{experiment_id}/export": "its read",
    "GET /v1/experiments/{experiment_id}/file": "its read",
    "PUT /v1/experiments/{experiment_id}/file": "its write",
    "POST /v1/experiments/{experiment_id}/fork": "its write",
    "GET /v1/experiments/{experiment_id}/guests": "its read",
    "PUT /v1/experiments/{experiment_id}/guests": "its write",
    "DELETE /v1/experiments/{experiment_id}/guests": "its write",
    "POST /v1/experiments/{experiment_id}/join": "its write",
    "PUT /v1/experiments/{experiment_id}/max-calls": "its write",
    "GET /v1/experiments/{experiment_id}/measures": "its read",
    "GET /v1/experiments/{experiment_id}/limits": "its read",
    "GET /v1/experiments/{experiment_id}/members": "its read",
    "POST /v1/experiments/{experiment_id}/members/{act}": "its write",
    "POST /v1/experiments/{experiment_id}/pause": "its write",
    "GET /v1/experiments/{experiment_id}/prompt": "its read",
    "POST /v1/experiments/{experiment_id}/prompt": "its read",
    "POST /v1/experiments/{experiment_id}/resume": "its write",
    "POST /v1/experiments/{experiment_id}/retry-failed": "its write",
    "GET /v1/experiments/{experiment_id}/see": "its read",
    "GET /v1/experiments/{experiment_id}/source": "its read",
    "GET /v1/experiments/{experiment_id}/source/zip": "its read",
    "POST /v1/experiments/{experiment_id}/start": "its write",
    "GET /v1/experiments/{experiment_id}/stream": "its read",
    "GET /v1/experiments/{experiment_id}/tables": "its read",
    "GET /v1/experiments/{experiment_id}/tables/{name}": "its read",
    "GET /v1/experiments/{experiment_id}/threads": "its read",
    "POST /v1/experiments/{experiment_id}/try": "its write",
    "POST /v1/files": "own write",
    "GET /v1/files/{name}": "open",
    "GET /v1/join/{code}": "open",
    "POST /v1/join/{code}": "open",
    "GET /v1/keys": "own read",
    "POST /v1/keys": "own write",
    "DELETE /v1/keys/{key_id}": "key write",
    "GET /v1/me": "reader",
    "GET /v1/me/appearance": "reader",
    "GET /v1/me/asks/{ask_id}/answer": "participant",
    "POST /v1/me/asks/{ask_id}/answer": "participant",
    "PUT /v1/me/asks/{ask_id}/answer": "participant",
    "POST /v1/me/check": "participant",
    "POST /v1/me/confirm": "participant",
    "POST /v1/me/help": "participant",
    "POST /v1/me/leave": "participant",
    "DELETE /v1/me/messages/{message_id}/reactions/{reaction}": "participant",
    "PUT /v1/me/messages/{message_id}/reactions/{reaction}": "participant",
    "POST /v1/me/notices/{notice_id}/read": "participant",
    "POST /v1/me/return": "participant",
    "GET /v1/me/stages/{stage_id}": "reader",
    "POST /v1/me/stages/{stage_id}/advance": "participant",
    "GET /v1/me/stages/{stage_id}/answer": "participant",
    "PUT /v1/me/stages/{stage_id}/answer": "participant",
    "PUT /v1/me/stages/{stage_id}/process": "participant",
    "GET /v1/me/stream": "reader",
    "POST /v1/me/threads/{thread_id}/call-off": "participant",
    "POST /v1/me/threads/{thread_id}/go-on": "participant",
    "GET /v1/me/threads/{thread_id}/messages": "reader",
    "POST /v1/me/threads/{thread_id}/messages": "participant",
    "POST /v1/me/threads/{thread_id}/typing": "participant",
    "POST /v1/me/transfer": "participant",
    "GET /v1/members/{member_id}": "its read",
    "POST /v1/members/{member_id}/advance": "its write",
    "GET /v1/members/{member_id}/answers": "its read",
    "POST /v1/members/{member_id}/check": "its write",
    "GET /v1/members/{member_id}/drafts": "its read",
    "GET /v1/members/{member_id}/events": "its read",
    "POST /v1/members/{member_id}/message": "its write",
    "POST /v1/members/{member_id}/pause": "its write",
    "GET /v1/members/{member_id}/prompt": "its read",
    "POST /v1/members/{member_id}/remove": "its write",
    "POST /v1/members/{member_id}/resume": "its write",
    "POST /v1/members/{member_id}/transfer": "its write",
    "POST /v1/members/{member_id}/view": "its read",
    "GET /v1/persona-library": "own read",
    "POST /v1/persona-library": "own write",
    "POST /v1/persona-library/arena": "own write",
    "GET /v1/personas": "own read",
    "DELETE /v1/personas/{persona_id}": "own write",
    "GET /v1/personas/{persona_id}": "own read",
    "PUT /v1/personas/{persona_id}": "own write",
    "GET /v1/personas/{persona_id}/agent": "own read",
    "PUT /v1/personas/{persona_id}/agent": "own write",
    "DELETE /v1/personas/{persona_id}/chat": "own write",
    "GET /v1/personas/{persona_id}/chat": "own read",
    "POST /v1/personas/{persona_id}/chat": "own write",
    "GET /v1/providers": "own read",
    "GET /v1/sign-ins": "own read",
    "POST /v1/sign-ins": "open",
    "DELETE /v1/sign-ins/current": "own read",
    "DELETE /v1/sign-ins/{sign_in_id}": "its read",
    "GET /v1/stream": "own read",
    "POST /v1/stream-tickets": "any",
    "GET /v1/templates": "own read",
    "GET /v1/templates/{template_id}": "own read",
    "GET /v1/threads/{thread_id}/drafts": "its read",
    "GET /v1/threads/{thread_id}/messages": "its read",
    "POST /v1/threads/{thread_id}/messages": "its write",
    "GET /v1/whoami": "own read",
}
"""`open`: everyone. `participant`: the participant alone, and `reader`: also an experimenter who looks on. `its`: the
owner of the experiment, conversation and so on; it is not there for others, operators included. `key`: the owner, and
an operator. `own`: every experimenter, each for themselves. `any`: all who have a token or a key. Then the scope."""

TALK: Final[dict[str, Any]] = {
    "personas": [{"id": "guide", "text": "A guide"}],
    "stages": [{"id": "talk", "kind": "group_chat"}, {"id": "after", "kind": "info", "lines": ["Bye"]}],
    "cohorts": [{"seats": [{"open": True, "count": 2}], "mediators": ["guide"]}],
}
ELSEWHERE: Final = ("GET /v1/stream", "POST /v1/sign-ins")
"""Whose success other tests have: a stream that cannot be asked to end, and signing in, which no sign-in does."""
LAST: Final = ("/end", "/leave", "/remove", "DELETE ", "DELETE /v1/experiments", "DELETE /v1/sign-ins/current")
"""What is done last, in this order, since less is there after it."""


@dataclass
class World:
    """An experiment of Ellen with two people who talk, and everyone who may ask for it."""

    ids: dict[str, str]
    tokens: dict[str, str] = field(default_factory=dict)


async def world(api: Api) -> World:
    experiment_id, other = await api.running(**TALK), await api.running(**TALK)
    ada, _ = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Bo")
    mallory, _ = await api.join(other, "Mallory"), await api.join(other, "Zoe")
    thread_id = await api.thread(ada)
    said = {"text": "Hello", "client_message_id": "1"}
    message = await api.participant(ada, "POST", f"/v1/me/threads/{thread_id}/messages", json=said)
    await api.participant(ada, "POST", "/v1/me/help", json={"text": "Help"})
    me = (await api.participant(ada, "GET", "/v1/me")).json()
    await api.experimenter("POST", f"/v1/members/{me['member_id']}/message", json={"text": "Hello"})
    found = World(
        {
            "experiment_id": experiment_id,
            "cohort_id": me["cohort_id"],
            "member_id": me["member_id"],
            "thread_id": thread_id,
            "message_id": message.json()["id"],
            "notice_id": (await api.participant(ada, "GET", "/v1/me")).json()["notices"][0]["id"],
            "draft_id": await first(api, f"threads/{thread_id}/drafts", "drafts"),
            "alert_id": await first(api, f"experiments/{experiment_id}/alerts", "alerts"),
            "ask_id": str(uuid4()),
            "stage_id": "talk",
            "chart_id": "flow",
            "template_id": "deliberation",
            "persona_id": "guide",
            "reaction": "heart",
            "act": "pause",
            "code": "nothing",
            "name": "participants",
        }
    )
    view = await api.experimenter("POST", f"/v1/members/{me['member_id']}/view")
    await api.client.post("/v1/sign-ins", headers=bearer(api.key))
    found.ids["sign_in_id"] = await first(api, "sign-ins", "sign_ins")
    found.tokens = {"participant": ada, "other participant": mallory, "looking on": view.json()["token"]}
    async with api.database.transaction() as session:
        for name, owner, scopes in (
            ("owner reads", "Ellen", ("read",)),
            ("owner writes", "Ellen", ("write",)),
            ("stranger", "Stranger", keys.ALL_SCOPES),
            ("admin", "operator", keys.OPERATORS_SCOPES),
        ):
            found.tokens[name] = await keys.create_key(session, owner, api.clock.now(), scopes=scopes)
        ellen = await keys.sign_in(session, api.key, api.clock.now(), scope="read")
        found.tokens["owner"], _ = await sign_ins.begin(session, ellen, api.clock.now(), sign_ins.Lifetime())
    listed = (await api.experimenter("GET", "/v1/keys")).json()["keys"]
    found.ids["key_id"] = next(one["id"] for one in listed if found.tokens["owner reads"].startswith(one["prefix"]))
    return found


async def first(api: Api, path: str, section: str) -> str:
    found: str = (await api.experimenter("GET", f"/v1/{path}")).json()[section][0]["id"]
    return found


def bearer(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def routes(api: Api) -> Iterator[str]:
    for route in api.app.routes:
        if isinstance(route, APIRoute) and route.path.startswith("/v1/"):
            for method in route.methods or ():
                yield f"{method} {route.path.replace(':uuid}', '}').replace(':path}', '}')}"


def body_of(name: str, ids: Mapping[str, str]) -> Any:
    """A body that the route takes; None: it needs none."""
    bodies: dict[str, Any] = {
        "/cohorts/{cohort_id}": {"name": "morning"},
        "/cohorts/{cohort_id}/end": {"reason": "over"},
        "/cohorts/{cohort_id}/members": {"persona": "guide", "kind": "mediator"},
        "/experiments/{experiment_id}": {"name": "Another"},
        "/experiments/{experiment_id}/guests": {"guests": []},
        "/experiments/{experiment_id}/max-calls": {"calls": 5},
        "/experiments/{experiment_id}/members/{act}": {"member_ids": [ids["member_id"]]},
        "/me/asks/{ask_id}/answer": {"answer": 1},
        "/me/help": {"text": "Help"},
        "/me/leave": {},
        "/me/stages/{stage_id}/answer": {"answer": 1},
        "/me/stages/{stage_id}/advance": {},
        "/me/stages/{stage_id}/process": {"key": "", "questions": {}},
        "/me/threads/{thread_id}/go-on": {"topic": "one"},
        "/me/threads/{thread_id}/messages": {"text": "Hi", "client_message_id": "2"},
        "/me/threads/{thread_id}/typing": {"is_typing": True},
        "/me/transfer": {"accept": False},
        "/members/{member_id}/advance": {"reason": "it hangs"},
        "/members/{member_id}/message": {"text": "Hello"},
        "/members/{member_id}/remove": {"reason": "asked to"},
        "/members/{member_id}/transfer": {"cohort_id": ids["cohort_id"]},
        "/threads/{thread_id}/messages": {"text": "Go on", "client_message_id": "3"},
        "/personas/{persona_id}": {},
        "/personas/{persona_id}/chat": {"text": "Hello", "client_message_id": "4"},
        "/experiments": FILE,
        "/experiments/check": FILE,
        "/experiments/edit": {"text": "a: 1", "changes": []},
        "/experiments/see": FILE,
        "/experiments/validate": FILE,
        "/experiments/{experiment_id}/file": FILE,
        "/experiments/{experiment_id}/prompt": {"persona": "guide", "stage": "talk"},
    }
    return bodies.get(
        name.partition(" ")[2].removeprefix("/v1"), {} if name.startswith(("POST", "PUT", "PATCH")) else None
    )


async def call(api: Api, name: str, there: World, caller: str | None) -> httpx2.Response:
    method, _, path = name.partition(" ")
    query = "?wait=false" if path.endswith("}/stream") or path == "/v1/me/stream" else ""
    if method == "GET" and path.endswith("/prompt") and "experiment_id" in path:
        query = "?persona=guide&stage=talk"
    body = body_of(name, there.ids)
    headers = bearer(None if caller is None else there.tokens[caller])
    content = {} if body is None else {"json": body}
    return await api.client.request(method, path.format(**there.ids) + query, headers=headers, **content)


def expected(rule: str, caller: str | None) -> set[int] | None:
    """The statuses of a refusal; None: it is not refused for who asks."""
    kind, _, scope = rule.partition(" ")
    is_participants = caller in ("participant", "other participant", "looking on")
    if kind == "open":
        return None
    if caller is None:
        return {401}
    if kind == "any":
        return None
    if kind in ("participant", "reader"):
        if not is_participants:
            return {401}
        return {403} if caller == "looking on" and kind == "participant" else None
    if is_participants:
        return {401}
    if kind in ("its", "key") and (caller == "stranger" or (caller == "admin" and kind == "its")):
        return {404}
    if (caller, scope) in (("owner reads", "write"), ("owner writes", "read")):
        return {403}
    return None


def test_each_route_has_a_rule_and_each_rule_a_route(api: Api) -> None:
    assert sorted(routes(api)) == sorted(RULES)


async def test_every_route_is_refused_to_all_but_those_who_may_use_it(api: Api) -> None:
    there = await world(api)
    callers = (None, *sorted(there.tokens.keys() - {"owner", "participant"}))
    wrong = []
    for name, rule in RULES.items():
        for caller in callers:
            refusal = expected(rule, caller)
            if refusal is None:
                continue
            found = await call(api, name, there, caller)
            if found.status_code not in refusal:
                wrong.append(f"{name} by {caller}: {found.status_code}, not {refusal}: {found.text[:200]}")

    assert not wrong, "\n".join(wrong)


async def test_no_participant_reaches_what_is_of_another_experiment(api: Api) -> None:
    there = await world(api)
    of_others = [
        name for name in RULES if "/me/" in name and any(one in name for one in ("{thread", "{ask", "{message"))
    ]

    found = {name: (await call(api, name, there, "other participant")).status_code for name in of_others}

    assert set(found.values()) <= {404, 409}, found
    assert len(of_others) > 5


async def test_every_route_lets_its_owner_in(api: Api) -> None:
    there = await world(api)
    names = [name for name in RULES if name not in ELSEWHERE]
    wrong = []
    for name in sorted(names, key=lambda one: [last in one for last in LAST][::-1]):
        kind = RULES[name].partition(" ")[0]
        caller = "participant" if kind in ("participant", "reader") else "owner"
        found = await call(api, name, there, caller)
        if found.status_code in (401, 403) or (found.status_code >= 500 and found.status_code != 503):
            wrong.append(f"{name} by {caller}: {found.status_code} {found.text[:200]}")
        if name.startswith("GET") and kind == "its" and found.status_code not in (200, 503):
            wrong.append(f"{name} by {caller}: {found.status_code} {found.text[:200]}")

    assert not wrong, "\n".join(wrong)
