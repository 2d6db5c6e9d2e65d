"""The types of the client for TypeScript are those of the API."""

from pathlib import Path

from parley_lab.gateway.typescript import declarations, schema_of_the_api

TYPES = Path(__file__).parents[3] / "clients" / "typescript" / "api.d.ts"


def test_the_types_of_the_client_are_those_of_the_api() -> None:
    expected = declarations(schema_of_the_api())

    assert TYPES.read_text() == expected, (
        ".venv/bin/python -m parley_lab.gateway.typescript > clients/typescript/api.d.ts"
    )


def test_every_shape_that_is_named_is_declared() -> None:
    api = {
        "components": {
            "schemas": {
                "Colour": {"enum": ["red", "blue"]},
                "Ball": {
                    "type": "object",
                    "properties": {
                        "colours": {"type": "array", "items": {"$ref": "#/components/schemas/Colour"}},
                        "x-size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                        "at": {"prefixItems": [{"type": "number"}, {"const": 1}], "type": "array"},
                    },
                    "required": ["colours"],
                },
            }
        },
        "paths": {
            "/balls/{id}": {
                "put": {
                    "parameters": [
                        {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
                        {"name": "size", "in": "query", "schema": {"type": "integer"}},
                    ],
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ball"}}},
                    },
                    "responses": {"204": {"description": "No Content"}},
                }
            }
        },
    }

    lines = declarations(api).splitlines()[1:]

    assert lines == [
        'export type Ball = { colours: Colour[]; "x-size"?: (number | null); at?: [number, 1] };',
        'export type Colour = ("red" | "blue");',
        "export interface Operations {",
        '  "PUT /balls/{id}": { path: { id: string }; query?: { size?: number }; body: Ball; answer: void };',
        "}",
    ]
