"""All files that pages load, under one address that names their content, so that a browser keeps them for good."""

import gzip
import hashlib
import inspect
import json
import posixpath
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from parley_lab.kinds import page_words
from parley_lab.kinds.stages import kinds

_HERE: Final = Path(__file__).resolve().parent
_TYPES: Final = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".html": "text/html; charset=utf-8",
}
_OF_A_KIND: Final = ("page.js", "page.css")
_WORDS_OF_A_KIND: Final = re.compile(r"kinds/(?P<kind>[^/]+)/words/(?P<language>[^/]+)\.json")
JOIN: Final = "participant/join.js"
TAKE: Final = "participant/main.js"
CONSOLE: Final = "console/main.js"
"""The scripts with which the documents begin: joining, taking part, and the console of experimenters."""
_OF_CONSOLE: Final = "console/"
"""The folder of files that no participant's page loads."""
_IMPORT: Final = re.compile(r'^(?:import|export) [^;]*?"(\.{1,2}/[^"]+)"', re.M)
_WITHOUT_SCRIPTS: Final = "needs_javascript"
"""The words for a browser without scripts; the server writes them into the document."""
_FAMILY: Final = re.compile(r"`([a-z]+_)\$\{")
"""The beginning of keys of words that a script puts together."""
_COMMENTS: Final = re.compile(r"^[ \t]*(?:/\*\*(?:[^*]|\*(?!/))*\*/|// .*)[ \t]*$", re.M)
"""Comments that fill whole lines: a quarter of what our scripts weigh. No text of ours has such a line."""
_DIGEST_LENGTH: Final = 12
_RIGHT_TO_LEFT: Final = ("ar",)
"""The languages of the lab that are written so."""
_LEAST_ZIPPED: Final = 512


@dataclass(frozen=True, slots=True)
class Asset:
    """One file; `zipped` is the same content compressed, None where that saves nothing."""

    content: bytes
    zipped: bytes | None
    media_type: str


@dataclass(frozen=True, slots=True)
class Assets:
    """All files by their path, and the page that loads them. Relative imports stay inside one `root`."""

    root: str
    files: Mapping[str, Asset]
    kinds: tuple[str, ...]
    """The kinds of stages that have a page of their own."""
    languages: tuple[str, ...]
    spoken: Mapping[str, tuple[str, ...]]
    """The kinds that have words of their own, with the languages of these; English is one of them."""

    @property
    def import_map(self) -> str:
        """The names under which the files of kinds import what the lab has for them."""
        return json.dumps({"imports": {"parley/": f"{self.root}/lab/"}}, separators=(",", ":"))

    @property
    def security_policy(self) -> str:
        """The Content-Security-Policy of pages: nothing from other hosts, and no script but the files here."""
        digest = b64encode(hashlib.sha256(self.import_map.encode()).digest()).decode()
        return (
            f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; img-src 'self' data:; "
            "media-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        )

    def first(self, entry: str) -> tuple[str, ...]:
        """The scripts that this one imports, itself included: what a document needs before it shows anything."""
        found = [entry]
        for path in found:
            for name in _IMPORT.findall(self.files[path].content.decode()):
                imported = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
                if imported not in found:
                    found.append(imported)
        return tuple(found)

    def language(self, accepted: str) -> str:
        """The first language of an Accept-Language header that there are words in; English without one."""
        wanted = (one.partition(";")[0].strip().split("-")[0].lower() for one in accepted.split(","))
        return next((one for one in wanted if one in self.languages), "en")

    def has_console_in(self, language: str) -> bool:
        """Whether there is a dictionary of the console's sentences in this language."""
        return f"{_OF_CONSOLE}{language}.json" in self.files

    def words(self, entry: str, language: str) -> dict[str, object]:
        """The words in the document: who joins needs those that the scripts for it name, who takes part all others.

        The console says everything in English itself, and has a dictionary for other languages.
        """
        if entry == CONSOLE:
            dictionary = self.files.get(f"{_OF_CONSOLE}{language}.json")
            return {} if dictionary is None else dict(json.loads(dictionary.content))
        known = {key: said for key, said in self._all_words(language).items() if key != _WITHOUT_SCRIPTS}
        if entry == JOIN:
            named = self._named(known, self.first(JOIN))
            return {key: said for key, said in known.items() if key in named}
        others = [path for path in self.files if path.endswith(".js") and not path.startswith((JOIN, _OF_CONSOLE))]
        for_joining = self._named(known, [JOIN]) - self._named(known, others)
        return {key: said for key, said in known.items() if key not in for_joining}

    def _all_words(self, language: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.files[f"words/{language}.json"].content)
        return found

    def _named(self, keys: Iterable[str], paths: Iterable[str]) -> set[str]:
        """Those of the keys of words that these scripts name, by the whole key or by its beginning."""
        scripts = "\n".join(self.files[path].content.decode() for path in paths)
        families = tuple(_FAMILY.findall(scripts))
        return {key for key in keys if f'"{key}"' in scripts or key.startswith(families)}

    def styles(self, entry: str) -> tuple[str, ...]:
        """The style sheets of a document, in the order in which they are linked."""
        if entry == CONSOLE:
            return ("lab.css", "console/console.css")
        return tuple(path for path in self.files if path.endswith(".css") and not path.startswith(_OF_CONSOLE))

    def page(self, entry: str, language: str) -> str:
        """The HTML document that begins with this script, with the words of this language in it."""
        if entry == CONSOLE and f"{_OF_CONSOLE}{language}.json" not in self.files:
            language = "en"
        given: dict[str, object] = {
            "assets": self.root,
            "kinds": self.kinds,
            "spoken": self.spoken,
            "languages": self.languages,
            "language": language,
        }
        if entry == CONSOLE:
            # It shows pages of kinds in frames, which link no sheet that is not there.
            given["styled"] = [path.split("/")[1] for path in self.files if re.fullmatch(r"kinds/[^/]+/page.css", path)]
        words = json.dumps(self.words(entry, language), ensure_ascii=False).replace("<", "\\u003c")
        preloaded = "\n".join(f'<link rel="modulepreload" href="{self.root}/{path}">' for path in self.first(entry))
        styles = "\n".join(f'<link rel="stylesheet" href="{self.root}/{path}">' for path in self.styles(entry))
        return f"""<!doctype html>
<html lang="{language}" dir="{_direction(language)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Parley</title>
<link rel="icon" href="data:,">
{styles}
<script type="importmap">{self.import_map}</script>
{preloaded}
<script type="application/json" id="lab">{json.dumps(given)}</script>
<script type="application/json" id="words">{words}</script>
<script type="module" src="{self.root}/{entry}"></script>
</head>
<body><div id="page"><noscript><p>{self._all_words(language)[_WITHOUT_SCRIPTS]}</p></noscript></div></body>
</html>
"""

    def home(self, language: str) -> str:
        """The HTML document for people who open the address of the lab without a path; it needs no script."""
        return f"""<!doctype html>
<html lang="{language}" dir="{_direction(language)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Parley</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{self.root}/lab.css">
</head>
<body><div id="page"><main class="home">
{(_HERE / "home" / f"{language}.html").read_text("utf-8")}</main></div></body>
</html>
"""


def _direction(language: str) -> str:
    return "rtl" if language in _RIGHT_TO_LEFT else "ltr"


@cache
def assets() -> Assets:
    """The files of the pages and of all kinds, read once."""
    found = dict(sorted({**dict(_own()), **dict(_of_kinds())}.items()))
    whole = hashlib.sha256()
    for path, content in found.items():
        whole.update(f"{path}\0{len(content)}\0".encode())
        whole.update(content)
    return Assets(
        root=f"/assets/{whole.hexdigest()[:_DIGEST_LENGTH]}",
        files={path: _asset(path, content) for path, content in found.items()},
        kinds=tuple(path.split("/")[1] for path in found if path.startswith("kinds/") and path.endswith("/page.js")),
        languages=tuple(Path(path).stem for path in found if path.startswith("words/")),
        spoken=_spoken(found),
    )


def _spoken(paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for path in paths:
        if match := _WORDS_OF_A_KIND.fullmatch(path):
            found[match["kind"]] = (*found.get(match["kind"], ()), match["language"])
    return found


def _own() -> Iterator[tuple[str, bytes]]:
    for folder, prefix in ((_HERE / "pages", ""), (page_words.FOLDER, "words/")):
        for file in folder.rglob("*"):
            if file.suffix in _TYPES:
                is_ours = file.suffix == ".js" and file.parent.name != "vendor"
                content = _without_comments(file.read_text("utf-8")).encode() if is_ours else file.read_bytes()
                yield prefix + file.relative_to(folder).as_posix(), content


def _without_comments(script: str) -> str:
    """The same script, each line with the number that it has."""
    return _COMMENTS.sub(lambda found: "\n" * found[0].count("\n"), script)


def _of_kinds() -> Iterator[tuple[str, bytes]]:
    for name, kind in kinds().items():
        folder = Path(inspect.getfile(type(kind))).resolve().parent
        for file in _OF_A_KIND:
            if (folder / file).is_file():
                yield f"kinds/{name}/{file}", (folder / file).read_bytes()
        for words in sorted((folder / "words").glob("*.json")):
            yield f"kinds/{name}/words/{words.name}", words.read_bytes()


@cache
def document(entry: str, language: str) -> Asset:
    """A document of the pages, made once for each language."""
    return _asset("page.html", assets().page(entry, language).encode())


@cache
def home(language: str) -> Asset:
    """The home page, made once for each language."""
    return _asset("home.html", assets().home(language).encode())


def _asset(path: str, content: bytes) -> Asset:
    zipped = gzip.compress(content, 9, mtime=0) if len(content) >= _LEAST_ZIPPED else None
    is_smaller = zipped is not None and len(zipped) < len(content)
    return Asset(content, zipped if is_smaller else None, _TYPES[Path(path).suffix])
