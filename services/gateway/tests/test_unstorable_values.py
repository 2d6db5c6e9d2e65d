"""Postgres holds no NUL, no endless number and none of any length: requests refuse them, wherever OpenAPI has one."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, nan
from typing import Any, Final
from uuid import UUID

import pytest

from parley_lab.gateway.testing import FILE, Api

pytestmark = pytest.mark.postgres

HUGE: Final = 10**20
_UNKNOWN: Final = str(UUID(int=1))

Schema = dict[str, Any]


@dataclass(frozen=True)
class Operation:
    """A method and a path of the API with its parameters and the schema of its JSON."""

    method: str
    path: str
    parameters: list[Schema]
    body: Schema | None

    def address(self, name: str = "", value: str = "") -> str:
        """A path that fits the schema, with this value for the parameter of this name."""
        path, query = self.path, ""
        for one in self.parameters:
            if one["in"] == "path":
                filled = value if one["name"] == name else _fill_in(one["schema"])
                path = path.replace(f"{{{one['name']}}}", filled)
            elif one["in"] == "query" and one["name"] == name:
                query = f"?{name}={value}"
        return path + query


def _fill_in(schema: Schema) -> str:
    return _UNKNOWN if schema.get("format") == "uuid" else str(schema.get("enum", ["a"])[0])


def operations(document: Schema) -> Iterator[Operation]:
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            content = one.get("requestBody", {}).get("content", {})
            body = content.get("application/json", {}).get("schema") if len(content) == 1 else None
            yield Operation(method.upper(), path, one.get("parameters", []), body)


def is_text(schema: Schema) -> bool:
    """Whether a text of any kind fits, and not only an id, a time or one of some words."""
    if not {"type", "anyOf", "$ref", "enum", "const", "oneOf", "allOf"} & schema.keys():
        return True
    return schema.get("type") == "string" and not {"format", "enum", "const"} & schema.keys()


def is_number(schema: Schema) -> bool:
    return schema.get("type") == "integer"


def is_float(schema: Schema) -> bool:
    return schema.get("type") == "number"


def bodies(
    document: Schema, schema: Schema, is_wanted: Callable[[Schema], bool], value: Any
) -> Iterator[tuple[str, Any]]:
    """Bodies with this value at each wanted place of the schema, with the path of the place."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if is_wanted(schema):
        yield "", value.rjust(schema.get("minLength", 0), "a") if isinstance(value, str) else value
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from bodies(document, part, is_wanted, value)
    for name, part in schema.get("properties", {}).items():
        yield from ((f".{name}{path}", {name: inner}) for path, inner in bodies(document, part, is_wanted, value))
    if "items" in schema:
        yield from ((f"[]{path}", [inner]) for path, inner in bodies(document, schema["items"], is_wanted, value))
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        if isinstance(value, str):
            yield ".*", {value: None}
        yield from ((f".{{}}{path}", {"a": inner}) for path, inner in bodies(document, values, is_wanted, value))


@pytest.mark.parametrize(("is_wanted", "value"), [(is_text, "a%00"), (is_number, str(HUGE))], ids=["nul", "huge"])
async def test_every_parameter_refuses_it(api: Api, is_wanted: Callable[[Schema], bool], value: str) -> None:
    token = await api.join(await api.running())
    taken = []
    count = 0
    for one in operations(api.app.openapi()):
        for parameter in one.parameters:
            schema = parameter["schema"]
            if parameter["in"] == "header" or not is_wanted(schema.get("items", schema)):
                continue
            count += 1
            address = one.address(parameter["name"], value)
            answer = await api.participant(_key(api, one, token), one.method, address, json={})
            places = [problem["where"] for problem in answer.json().get("problems", ())]
            if answer.status_code != 422 or not any(place.startswith(parameter["name"]) for place in places):
                taken.append((one.method, address, answer.status_code))

    assert taken == []
    assert count > 20


@pytest.mark.parametrize(
    ("is_wanted", "usual", "value", "least"),
    [
        (is_text, "a", "a\x00", 40),
        (is_text, "a", "a\ud800", 40),
        (is_number, 1, HUGE, 8),
        (is_float, 1.0, nan, 3),
        (is_float, 1.0, inf, 3),
    ],
    ids=["nul", "surrogate", "huge", "nan", "infinity"],
)
async def test_every_field_of_a_body_refuses_it(
    api: Api, is_wanted: Callable[[Schema], bool], usual: Any, value: Any, least: int
) -> None:
    token = await api.join(await api.running())
    document = api.app.openapi()
    taken = []
    count = 0
    for one in operations(document):
        if one.body is None:
            continue
        key = _key(api, one, token)
        sent = zip(
            bodies(document, one.body, is_wanted, usual), bodies(document, one.body, is_wanted, value), strict=True
        )
        for (place, plain), (_, body) in sent:
            count += 1
            _, fine = await _problems(api, key, one, plain)
            status, found = await _problems(api, key, one, body)
            if status != 422 or not found - fine:
                taken.append((one.method, one.path, place, status))

    assert taken == []
    assert count >= least


def _key(api: Api, one: Operation, token: str) -> str:
    return token if f"{one.path}/".startswith("/v1/me/") else api.key


async def _problems(api: Api, key: str, one: Operation, body: Any) -> tuple[int, set[str]]:
    answer = await api.participant(
        key, one.method, one.address(), content=json.dumps(body), headers={"Content-Type": "application/json"}
    )
    return answer.status_code, {
        str(problem) for problem in (answer.json() if answer.content else {}).get("problems", ())
    }


@pytest.mark.parametrize(
    "after", ["YQA=.00000000-0000-0000-0000-000000000001", "_w==.00000000-0000-0000-0000-000000000001"]
)
async def test_a_cursor_of_a_name_that_cannot_be_stored_is_refused(api: Api, after: str) -> None:
    refused = await api.experimenter("GET", "/v1/experiments", params={"sort": "name", "after": after})

    assert refused.status_code == 422, refused.text
    assert [problem["where"] for problem in refused.json()["problems"]] == ["after"]


async def test_the_name_of_a_removed_file_is_one_that_can_be_stored(api: Api) -> None:
    experiment_id = (await api.experimenter("POST", "/v1/experiments", json=FILE)).json()["id"]

    refused = await api.experimenter("PUT", f"/v1/experiments/{experiment_id}/file?without=%00", json=FILE)

    assert refused.status_code == 422, refused.text


async def test_how_an_answer_came_about_has_keys_and_questions_that_can_be_stored(api: Api) -> None:
    token = await api.join(await api.running(record="process"))

    answers = [
        await api.participant(token, "PUT", "/v1/me/stages/welcome/process", json=body)
        for body in ({"key": "a\x00", "questions": {}}, {"key": "", "questions": {"a\x00": {}}})
    ]

    assert [one.status_code for one in answers] == [422, 422], [one.text for one in answers]
