"""The routes of the pages: the home page, the documents of participants and experimenters, and the files they load."""

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from parley_lab.web.assets import CONSOLE, JOIN, TAKE, Asset, assets, document, home

_FOR_GOOD: Final = "public, max-age=31536000, immutable"
_NEVER: Final = "no-store"
_ONLY_STYLES: Final = (
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SAFE: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def routes() -> list[Route]:
    """The addresses of the pages, beside those of the REST API, whose client they are."""
    return [
        Route("/", _home),
        Route("/join/{code}", _join),
        Route("/take/{code}", _take),
        # Where pages are that were opened before an upgrade: all studies of a browser had this address.
        Route("/take", _take),
        Route("/console", _console),
        Route("/console/{path:path}", _console),
        Route("/assets/{digest}/{path:path}", _file),
    ]


async def _home(request: Request) -> Response:
    language = assets().language(request.headers.get("accept-language", ""))
    return _answer(request, home(language), {"Cache-Control": _NEVER, "Content-Security-Policy": _ONLY_STYLES})


async def _join(request: Request) -> Response:
    return _document(request, JOIN)


async def _take(request: Request) -> Response:
    return _document(request, TAKE)


async def _console(request: Request) -> Response:
    found = assets()
    language = found.language(request.headers.get("accept-language", ""))
    page = document(CONSOLE, language if found.has_console_in(language) else "en")
    return _answer(request, page, {"Cache-Control": _NEVER, "Content-Security-Policy": found.security_policy})


def _document(request: Request, entry: str) -> Response:
    found = assets()
    page = document(entry, found.language(request.headers.get("accept-language", "")))
    policy = {"Cache-Control": _NEVER, "Content-Security-Policy": found.security_policy}
    return _answer(request, page, policy)


async def _file(request: Request) -> Response:
    found = assets()
    asset = found.files.get(request.path_params["path"])
    if asset is None or found.root != f"/assets/{request.path_params['digest']}":
        return Response(
            "There is no such file.", 404, media_type="text/plain", headers={**_SAFE, "Cache-Control": _NEVER}
        )
    return _answer(request, asset, {"Cache-Control": _FOR_GOOD})


def _answer(request: Request, asset: Asset, more: Mapping[str, str]) -> Response:
    headers = {**_SAFE, "Vary": "Accept-Encoding", **more}
    if asset.zipped is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.zipped, media_type=asset.media_type, headers={**headers, "Content-Encoding": "gzip"})
    return Response(asset.content, media_type=asset.media_type, headers=headers)
