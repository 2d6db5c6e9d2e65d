"""Bodies that are files: YAML or JSON, whichever their content type says."""

from typing import Any, Final

from fastapi import Request
from starlette.exceptions import HTTPException

_JSON_TYPES: Final = ("application/json",)
_YAML_TYPES: Final = ("", "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/plain")


async def file_in(request: Request, what: str) -> tuple[bytes, str]:
    """The content of the file and a name that says its format; `what` it holds, in one word.

    Raises:
        HTTPException: its content type is that of something else.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type not in (*_JSON_TYPES, *_YAML_TYPES):
        raise HTTPException(415, f"The file ({what}) is sent as application/yaml or application/json.")
    name = f"{what}.json" if content_type in _JSON_TYPES else f"{what}.yaml"
    return await request.body(), name


def described(description: str, *, yaml: str, json: Any) -> dict[str, Any]:
    """What OpenAPI says of a route that reads such a file; `yaml` and `json` are examples."""
    return {
        "requestBody": {
            "required": True,
            "description": description,
            "content": {
                "application/yaml": {"schema": {"type": "string"}, "example": yaml},
                "application/json": {"schema": {"type": "object"}, "example": json},
            },
        }
    }
