"""The files of the pages, as a browser gets them."""

import json
import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

import parley_lab.web
from parley_lab.web.app import routes
from parley_lab.web.assets import CONSOLE, JOIN, TAKE, assets, document

FIRST_PAGE_BYTES = 46 * 1024
OF_SOME_FORMS = ("lab/sums.js", "lab/turns.js")
"""Scripts of forms with sums or with rows, which a chat does not load."""
JOIN_PAGE_BYTES = 30 * 1024
SESSION_BYTES = 70 * 1024
CONSOLE_PAGE_BYTES = 100 * 1024
CHARTS_BYTES = 290_000
"""What charts load, where they are shown."""


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=routes()))


def test_a_page_loads_its_files_from_one_immutable_address(client: TestClient) -> None:
    page = client.get("/join/anything")
    addresses = re.findall(r'(?:href|src)="(/assets/[^"]+)"', page.text)

    answers = [client.get(address) for address in addresses]

    assert len(addresses) > 5
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.headers["cache-control"] for answer in answers} == {"public, max-age=31536000, immutable"}
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/assets/000000000000/lab.css", f"{assets().root}/no-such.js"])
def test_what_is_not_there_is_not_kept_and_is_no_page(client: TestClient, path: str) -> None:
    answer = client.get(path)

    assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store")
    assert "html" not in answer.headers["content-type"]


def test_a_page_may_load_nothing_from_other_hosts_and_run_no_other_script(client: TestClient) -> None:
    policy = client.get("/take/code").headers["content-security-policy"]

    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    scripts = allowed.pop("script-src")
    assert re.fullmatch(r"'self' 'sha256-[A-Za-z0-9+/]{43}='", scripts), "our files, and the one map of their names"
    assert allowed == {
        "default-src": "'none'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "media-src": "'self'",
        "font-src": "'self'",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert "://" not in client.get("/take/code").text


def test_files_come_compressed_to_those_who_take_it(client: TestClient) -> None:
    address = f"{assets().root}/vendor/preact.js"

    plain, zipped = (client.get(address, headers={"accept-encoding": one}) for one in ("identity", "gzip"))

    assert plain.content == zipped.content
    assert "content-encoding" not in plain.headers
    assert zipped.headers["content-encoding"] == "gzip"


def test_the_first_pages_and_a_whole_chat_weigh_little() -> None:
    found = assets()
    sizes = {path: len(asset.zipped or asset.content) for path, asset in found.files.items()}
    styles = sum(sizes[path] for path in found.styles(TAKE))
    documents = {entry: len(document(entry, "de").zipped or b"") for entry in (JOIN, TAKE)}
    first = {
        entry: size + styles + sum(sizes[path] for path in found.first(entry)) for entry, size in documents.items()
    }
    others = ("kinds/", "console/", *OF_SOME_FORMS)
    whole = {path for path in sizes if path.endswith(".js") and not path.startswith(others)}

    assert first[JOIN] <= JOIN_PAGE_BYTES
    assert first[TAKE] <= FIRST_PAGE_BYTES
    session = sum(documents.values()) + styles + sum(sizes[path] for path in {*whole, "kinds/group_chat/page.js"})
    assert session <= SESSION_BYTES


def test_the_first_page_of_the_console_weighs_little_and_participants_load_none_of_it() -> None:
    found = assets()
    first = {*found.first(CONSOLE), *found.styles(CONSOLE)}
    sizes = {path: len(found.files[path].zipped or found.files[path].content) for path in first}

    assert sum(sizes.values()) + len(document(CONSOLE, "de").zipped or b"") <= CONSOLE_PAGE_BYTES
    assert "console/home.js" in first
    charts = found.files["console/vendor/vega.js"]
    assert len(charts.zipped or charts.content) <= CHARTS_BYTES
    assert first.isdisjoint({"console/board.js", "console/results.js", "participant/shell.js"})
    assert [
        path for entry in (JOIN, TAKE) for path in (*found.first(entry), *found.styles(entry)) if "console" in path
    ] == []


@pytest.mark.parametrize("path", ["/console", "/console/e/any/threads/one?draft=two"])
def test_one_document_serves_every_page_of_the_console(client: TestClient, path: str) -> None:
    answer = client.get(path)

    assert f'src="{assets().root}/{CONSOLE}"' in answer.text
    assert answer.headers["content-security-policy"] == assets().security_policy
    assert answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers


def test_every_sentence_of_the_console_is_in_its_german_dictionary_and_others_read_english(client: TestClient) -> None:
    files = assets().files
    scripts = "\n".join(
        files[path].content.decode()
        for path in files
        if path.startswith("console/") and path.endswith(".js") and "/vendor/" not in path
    )
    german = json.loads(files["console/de.json"].content)

    said = set(re.findall(r'\bt\("((?:[^"\\]|\\.)*)"', scripts))

    assert len(said) > 100
    assert said - set(german) == set()
    assert {
        key for key, one in german.items() if set(re.findall(r"{\w+}", key)) != set(re.findall(r"{\w+}", one))
    } == set()
    assert '<html lang="de"' in client.get("/console", headers={"accept-language": "de"}).text
    assert '<html lang="en"' in client.get("/console", headers={"accept-language": "es"}).text


def test_scripts_are_served_without_their_comments_and_each_line_has_its_number() -> None:
    pages = Path(parley_lab.web.__file__).parent / "pages"
    scripts = [file for file in pages.rglob("*.js") if file.parent.name != "vendor"]

    for file in scripts:
        served = assets().files[file.relative_to(pages).as_posix()].content.decode().split("\n")
        written = file.read_text().split("\n")
        assert len(served) == len(written), file
        left_out = [line.strip() for line, other in zip(written, served, strict=True) if line != other]
        assert [line for line in left_out if not line.startswith(("/**", "*", "// "))] == [], file
        assert all(line in ("", other) for line, other in zip(served, written, strict=True)), file

    assert len(scripts) > 20


def test_a_document_names_every_script_that_its_first_page_needs_and_no_other() -> None:
    found = assets()
    joining, taking = (
        set(re.findall(r'modulepreload" href="' + found.root + r'/([^"]+)"', found.page(entry, "en")))
        for entry in (JOIN, TAKE)
    )

    assert {"participant/join.js", "vendor/preact.js", "lab/words.js"} <= joining
    assert {"participant/main.js", "participant/shell.js", "lab/form.js"} <= taking
    assert joining.isdisjoint({"participant/shell.js", "lab/form.js"})
    assert (joining | taking).isdisjoint({"lab/chat.js", "lab/charts.js", "lab/preact.js"})


@pytest.mark.parametrize(
    ("accepted", "language"), [("de-CH,de;q=0.9,en;q=0.8", "de"), ("fr, en", "en"), ("", "en"), ("xx", "en")]
)
def test_the_document_speaks_the_language_of_the_browser(client: TestClient, accepted: str, language: str) -> None:
    page = client.get("/join/anything", headers={"accept-language": accepted}).text

    assert f'<html lang="{language}" dir="ltr">' in page


def test_a_document_in_arabic_is_laid_out_from_right_to_left() -> None:
    assert '<html lang="ar" dir="rtl">' in assets().page(JOIN, "ar")
    assert '<html lang="ar" dir="rtl">' in assets().home("ar")


def test_documents_have_the_words_that_their_scripts_need() -> None:
    found = assets()
    joining, taking = (set(found.words(entry, "de")) for entry in (JOIN, TAKE))

    assert joining >= {"join", "joining", "go_on", "join_full", "refused", "refused_paused", "not_reachable", "loading"}
    assert joining.isdisjoint({"payoffs", "say_something", "leave", "line_has_left"})
    assert taking.isdisjoint({"join", "joining", "join_full"})
    assert joining | taking == set(json.loads(found.files["words/de.json"].content)) - {"needs_javascript"}


@pytest.mark.parametrize(("language", "said"), [("en", "This page needs"), ("de", "Diese Seite braucht")])
def test_a_browser_without_scripts_is_told_so_in_its_language(language: str, said: str) -> None:
    assert f"<noscript><p>{said} JavaScript.</p></noscript>" in assets().page(JOIN, language)


def test_every_language_has_the_same_words() -> None:
    files = assets().files
    languages = [files[path].content for path in files if path.startswith("words/")]

    keys = {frozenset(re.findall(rb'^  "([a-z_]+)":', words, re.M)) for words in languages}

    assert len(languages) == 4
    assert len(keys) == 1


def test_every_word_that_a_page_says_is_there() -> None:
    files = assets().files
    known = set(json.loads(files["words/en.json"].content))
    unknown = set()
    for path, asset in files.items():
        own = files.get(f"{path.removesuffix('page.js')}words/en.json")
        said = set(re.findall(r'\bsay\("([a-z_]+)"', asset.content.decode())) if path.endswith(".js") else set()
        unknown |= said - known - (set() if own is None else set(json.loads(own.content)))

    assert unknown == set()


def test_components_are_written_so_that_their_properties_are_checked() -> None:
    files = {path: one for path, one in assets().files.items() if path.endswith(".js") and "/vendor/" not in path}
    scripts = {path: asset.content.decode() for path, asset in files.items()}

    assert [path for path, text in scripts.items() if re.search(r"<\$\{", text)] == []


@pytest.mark.parametrize(
    ("language", "heading"),
    [
        ("en", "You want to try a study"),
        ("de", "Sie möchten eine Studie ausprobieren"),
        ("es", "Quiere probar un estudio"),
        ("ar", "تريد تجربة دراسة"),
    ],
)
def test_people_who_open_the_lab_without_a_link_get_a_page_in_their_language(
    client: TestClient, language: str, heading: str
) -> None:
    page = client.get("/", headers={"accept-language": language})
    (styles,) = re.findall(r'rel="stylesheet" href="([^"]+)"', page.text)

    assert f'<html lang="{language}" dir="' in page.text
    assert f"<h2>{heading}</h2>" in page.text
    assert "<script" not in page.text
    assert page.text.count('href="console?new=1"') == (language in ("en", "de")), "the console speaks these languages"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert client.get(styles).status_code == 200
