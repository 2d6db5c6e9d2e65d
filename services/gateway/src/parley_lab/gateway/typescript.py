"""The types of the API for TypeScript, made from its OpenAPI schema: `python -m parley_lab.gateway.typescript >
api.d.ts`."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from parley_lab.base.clock import SystemClock
from parley_lab.bus.in_process import InProcessBus
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.store.databases import connect

_SIMPLE: Final = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*")
Schema = Mapping[str, Any]


def declarations(api: Schema) -> str:
    """A type for each shape, and `Operations`: what each request takes and gives, by its method and path."""
    shapes = [f"export type {name} = {_type(shape)};" for name, shape in sorted(api["components"]["schemas"].items())]
    operations = [
        f"  {json.dumps(f'{method.upper()} {path}')}: {_operation(operation)};"
        for path, methods in sorted(api["paths"].items())
        for method, operation in methods.items()
    ]
    head = "// Made by `python -m parley_lab.gateway.typescript` from the OpenAPI schema of the lab; a test compares."
    return "\n".join([head, *shapes, "export interface Operations {", *operations, "}", ""])


def _operation(operation: Schema) -> str:
    parameters = [*_parameters(operation, "path"), *_parameters(operation, "query")]
    wanted = operation.get("requestBody", {})
    body = wanted.get("content", {}).get("application/json", {}).get("schema")
    if body is not None:
        parameters.append(f"{'body' if wanted.get('required') else 'body?'}: {_type(body)}")
    return "{ " + "; ".join([*parameters, f"answer: {_answer(operation)}"]) + " }"


def _parameters(operation: Schema, kind: str) -> Iterator[str]:
    found = [one for one in operation.get("parameters", ()) if one["in"] == kind]
    required = [one["name"] for one in found if one.get("required")]
    if found:
        yield f"{kind if required else f'{kind}?'}: {_fields({one['name']: one['schema'] for one in found}, required)}"


def _answer(operation: Schema) -> str:
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            content = response.get("content", {}).get("application/json")
            return "void" if content is None else _type(content.get("schema", {}))
    return "void"


def _type(schema: Schema | bool) -> str:
    if not isinstance(schema, Mapping):
        return "unknown"
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return "(" + " | ".join(json.dumps(value) for value in schema["enum"]) + ")"
    for several, sign in (("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")):
        if several in schema:
            return "(" + sign.join(dict.fromkeys(_type(one) for one in schema[several])) + ")"
    kind = schema.get("type")
    if isinstance(kind, list):
        return "(" + " | ".join(_type({**schema, "type": one}) for one in kind) + ")"
    return "".join(_of_kind(kind, schema))


def _of_kind(kind: str | None, schema: Schema) -> Iterator[str]:
    if kind == "array":
        several = schema.get("prefixItems")
        items = schema.get("items", True)
        yield f"[{', '.join(map(_type, several))}]" if several else f"{_type(items)}[]"
    elif kind == "object" and "properties" in schema:
        yield _fields(schema["properties"], schema.get("required", ()))
    elif kind == "object":
        yield f"{{ [name: string]: {_type(schema.get('additionalProperties', True))} }}"
    else:
        yield _SIMPLE.get(kind or "", "unknown")


def _fields(properties: Mapping[str, Schema], required: Any) -> str:
    named = ((name if _NAME.fullmatch(name) else json.dumps(name), name, one) for name, one in properties.items())
    listed = (f"{shown}{'' if name in required else '?'}: {_type(one)}" for shown, name, one in named)
    return "{ " + "; ".join(listed) + " }"


def schema_of_the_api() -> dict[str, Any]:
    """The OpenAPI schema of a gateway; its database is never asked for anything."""
    database = connect("postgresql://nowhere.invalid/none")
    return create_app(database, InProcessBus(), SystemClock(), GatewaySettings(), environ={}).openapi()


if __name__ == "__main__":
    print(declarations(schema_of_the_api()), end="")
