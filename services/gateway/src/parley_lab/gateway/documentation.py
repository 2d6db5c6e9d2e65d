"""The API's own documentation: OpenAPI with one error shape, and a page that shows it without any other host."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import HTMLResponse

from parley_lab.gateway.parameters import Route
from parley_lab.gateway.problems import MEDIA_TYPE
from parley_lab.gateway.resources.base import ProblemDetails
from parley_lab.gateway.resources.board import BoardEvent, BoardHint
from parley_lab.gateway.resources.events import HOME_EVENT, STREAM_EVENT, ExperimenterEvent

router = APIRouter(include_in_schema=False, route_class=Route)

_REFERENCE = "#/components/schemas/{model}"
_METHODS = ("get", "post", "put", "patch", "delete")

DESCRIPTION = """Behavioural experiments with people and LLM agents.

Experimenters send an API key, participants the token that joining has given, both as `Authorization: Bearer ...`.
Everything that is not a success is problem details (`application/problem+json`), with all problems at once. A header
`X-Correlation-ID` comes with every answer; the one that a client sends is kept.
"""


def install(app: FastAPI) -> None:
    """Describe errors as they are."""
    original = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _with_problems(original())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend the schema


def _with_problems(schema: dict[str, Any]) -> dict[str, Any]:
    schemas = schema.setdefault("components", {}).setdefault("schemas", {})
    own_schemas = {
        "ProblemDetails": ProblemDetails.model_json_schema(ref_template=_REFERENCE),
        "ExperimenterEvent": ExperimenterEvent.model_json_schema(ref_template=_REFERENCE),
        "BoardEvent": BoardEvent.model_json_schema(ref_template=_REFERENCE),
        "BoardHint": BoardHint.model_json_schema(ref_template=_REFERENCE),
        "HomeEvent": HOME_EVENT.json_schema(ref_template=_REFERENCE),
        "StreamEvent": STREAM_EVENT.json_schema(ref_template=_REFERENCE),
    }
    for name, own in own_schemas.items():
        schemas.update(own.pop("$defs", {}))
        schemas[name] = own
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    problem = {"$ref": "#/components/schemas/ProblemDetails"}
    for name, path in schema["paths"].items():
        for method in _METHODS:
            if method in path:
                operation = path[method]
                operation["responses"].pop("422", None)
                for parameter in operation.get("parameters", ()):
                    parameter["schema"] = _as_text_can_be(parameter["schema"])
                for status in _refusals(operation, method, name):
                    operation["responses"][str(status)] = {
                        "description": HTTPStatus(status).phrase,
                        "content": {MEDIA_TYPE: {"schema": problem}},
                    }
    return schema


def _as_text_can_be(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a parameter without null, which no address and no header can hold: it is left out instead."""
    others = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if len(others) != 1:
        return schema
    return {**others[0], **{name: value for name, value in schema.items() if name != "anyOf"}}


def _refusals(operation: Mapping[str, Any], method: str, path: str) -> Iterator[int]:
    """With which statuses the operation may refuse, besides 405 and 500, which any address may."""
    is_versioned = path.startswith("/v1")
    has_body = "requestBody" in operation
    has_parameters = bool(operation.get("parameters"))
    if operation.get("security"):
        yield from (401, 403)
    names_one = path.endswith("/current") or any(one["in"] == "path" for one in operation.get("parameters", ()))
    if is_versioned and names_one:
        yield 404
    if is_versioned and (method != "get" or has_parameters):
        yield 409
    if has_body:
        yield from (400, 413, 415)
    if has_body or has_parameters:
        yield 422
    if is_versioned and (method == "post" or operation.get("security")):
        yield 429
    if is_versioned or operation.get("operationId", "").startswith("readyz"):
        yield 503


@router.get("/docs", response_class=HTMLResponse)
async def _page() -> str:
    return _HTML


_HTML = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Parley API</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
details { border: 1px solid #8886; border-radius: 6px; margin: .4rem 0; padding: .3rem .8rem; }
summary { cursor: pointer; }
code, pre { font: 14px/1.4 ui-monospace, monospace; }
pre { overflow: auto; background: #8881; padding: .6rem; border-radius: 4px; }
.method { display: inline-block; min-width: 4rem; font-weight: bold; text-transform: uppercase; }
</style>
</head>
<body>
<h1>Parley API</h1>
<p id="description" style="white-space: pre-line"></p>
<p>For programs: <a href="openapi.json">openapi.json</a></p>
<main id="operations">Loading ...</main>
<h2>Shapes</h2>
<div id="shapes"></div>
<script>
const add = (parent, tag, text, className) => {
  const element = parent.appendChild(document.createElement(tag));
  if (text) element.textContent = text;
  if (className) element.className = className;
  return element;
};
const json = (parent, title, value) => {
  add(parent, "h4", title);
  add(parent, "pre", JSON.stringify(value, null, 2));
};
fetch("openapi.json").then(response => response.json()).then(api => {
  document.getElementById("description").textContent = api.info.description || "";
  const main = document.getElementById("operations");
  main.textContent = "";
  const tags = {};
  for (const [path, methods] of Object.entries(api.paths))
    for (const [method, operation] of Object.entries(methods))
      (tags[(operation.tags || ["other"])[0]] ||= []).push({ path, method, operation });
  for (const [tag, list] of Object.entries(tags)) {
    add(main, "h2", tag);
    for (const { path, method, operation } of list) {
      const details = add(main, "details");
      const summary = add(details, "summary");
      add(summary, "span", method, "method");
      add(summary, "code", path);
      add(summary, "span", "  " + (operation.summary || ""));
      if (operation.description) add(details, "p", operation.description);
      if (operation.security) json(details, "Security", operation.security);
      if (operation.parameters) json(details, "Parameters", operation.parameters);
      if (operation.requestBody) json(details, "Body", operation.requestBody);
      json(details, "Answers", operation.responses);
    }
  }
  const shapes = document.getElementById("shapes");
  for (const [name, shape] of Object.entries(api.components.schemas)) {
    const details = add(shapes, "details");
    add(details, "summary", name);
    add(details, "pre", JSON.stringify(shape, null, 2));
  }
});
</script>
</body>
</html>
"""
