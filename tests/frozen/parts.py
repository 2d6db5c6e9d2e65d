"""The parts of what users and operators see, each as files by name."""

import ast
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import uuid4
from zipfile import ZipFile

import typer.main
from pydantic_settings import BaseSettings
from typer.testing import CliRunner

from parley_lab.cli.main import app
from parley_lab.design import json_schema
from parley_lab.formats.exports import without_ids_and_clocks
from parley_lab.gateway.typescript import schema_of_the_api
from parley_lab.store import embedded_postgres
from parley_lab.store.databases import create_database, drop_database
from parley_lab.store.migrate import upgrade

ROOT: Final = Path(__file__).parents[2]
SERVICES: Final = ("gateway", "orchestrator", "agent_worker", "prompt_builder")
DEMOS: Final = ("deliberation.yaml", "arena.yaml", "public_goods.xlsx")
_RUN: Final = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}/")
"""The folder of one run, named by its time."""

Files = Iterator[tuple[str, bytes]]


def helps() -> Files:
    """The help of every command."""
    yield from _helps(typer.main.get_command(app), ())


def _helps(command: Any, names: tuple[str, ...]) -> Files:
    told = CliRunner().invoke(app, [*names, "--help"], terminal_width=120, prog_name="parley")
    yield f"{'-'.join(('parley', *names))}.txt", told.output.encode()
    for name, one in getattr(command, "commands", {}).items():
        yield from _helps(one, (*names, name))


def schemas() -> Files:
    """The JSON Schema of experiment files, and the one of the API."""
    yield "experiment.json", _as_json(json_schema())
    yield "openapi.json", _as_json(schema_of_the_api())


def metrics() -> Files:
    """The numbers of /metrics, with their kinds and labels."""
    from prometheus_client import REGISTRY

    for name in SERVICES:
        _import_service(name)
    known = {id(one): one for one in REGISTRY._collector_to_names}.values()
    rows = [
        f"{one._name} {one._type} {','.join(one._labelnames)}: {one._documentation}"  # type: ignore[attr-defined]
        for one in known
        if getattr(one, "_name", "").startswith("parley_")
    ]
    yield "metrics.txt", _as_lines(rows)


def log_events() -> Files:
    """The events that are logged, with the names of what is said of them."""
    rows: list[str] = []
    for path in ROOT.glob("**/src/**/*.py"):
        if not {"tests", ".venv", ".venv-crewai", "examples"} & set(path.relative_to(ROOT).parts):
            content = path.read_text(encoding="utf-8")
            # Few modules log, and most of the time goes into reading modules.
            rows += _events_in(ast.parse(content)) if _LOGS.search(content) else ()
    yield "log_events.txt", _as_lines(rows)


_LOGS: Final = re.compile(r"log(ger)?_*\s*\.")
_LEVELS: Final = frozenset({"debug", "info", "warning", "error", "exception", "critical", "msg", "log"})


def _events_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if node.func.attr not in _LEVELS:
            continue
        owner, event = ast.unparse(node.func.value), node.args[0]
        if owner.rpartition(".")[2].strip("_") in ("log", "logger"):
            names = sorted(one.arg or "**" for one in node.keywords)
            yield f"{node.func.attr} {ast.unparse(event)}: {', '.join(names)}"


def settings() -> Files:
    """The variables of the environment, with their types and defaults."""
    for name in SERVICES:
        _import_service(name)
    yield "settings.txt", _as_lines([row for one in _subclasses(BaseSettings) for row in _variables(one)])


def _subclasses(one: type[BaseSettings]) -> Iterator[type[BaseSettings]]:
    for found in one.__subclasses__():
        yield found
        yield from _subclasses(found)


def _variables(one: type[BaseSettings]) -> Iterator[str]:
    prefix = one.model_config.get("env_prefix", "")
    properties = one.model_json_schema()["properties"] if one.model_fields else {}
    for name, field in one.model_fields.items():
        names = [field.alias or f"{prefix}{name}".upper()]
        if field.validation_alias is not None:
            names = [str(field.validation_alias)]
        told = {key: value for key, value in properties.get(field.alias or name, {}).items() if key != "title"}
        yield f"{names[0]} in {one.__name__}: {json.dumps(told, sort_keys=True, default=str)} default {field.default!r}"


def tables() -> Files:
    """The tables of a lab, as pg_dump writes them."""
    with TemporaryDirectory() as folder:
        given = os.environ.get("PARLEY_TEST_DATABASE_URL", "embedded")
        embedded = embedded_postgres.start(Path(folder), fast=True) if given == "embedded" else None
        url = embedded.url if embedded else given
        try:
            yield "tables.sql", _dumped(url)
        finally:
            if embedded:
                embedded.stop()


def _dumped(server: str) -> bytes:
    name = f"frozen_{uuid4().hex[:16]}"
    url = create_database(server, name)
    try:
        upgrade(url)
        program = embedded_postgres.binaries() / "pg_dump"
        content = subprocess.check_output([program, "--schema-only", "--no-owner", "-d", url])
    finally:
        drop_database(server, name)
    # The first lines name versions, and newer programs write a word of their own against injection.
    kept = [line for line in content.splitlines() if not re.match(rb"-- Dumped |\\(un)?restrict ", line)]
    return b"\n".join(kept) + b"\n"


def data() -> Files:
    """The data of each demo in pace `fast`, without ids and clocks; in pace `live` the clock decides who is first."""
    for name in DEMOS:
        with TemporaryDirectory() as folder:
            for path in _run_demo(name, Path(folder)):
                content = path.read_bytes()
                if path.suffix in (".csv", ".json"):
                    content = without_ids_and_clocks(path.name, _without_latency(path.name, content))
                yield f"{name}/{_RUN.sub('', str(path.relative_to(Path(folder) / 'out')))}", content


def _without_latency(name: str, content: bytes) -> bytes:
    """A table without the time that scripted models took, which depends on the machine."""
    if not name.endswith(".csv"):
        return content
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    kept = [index for index, column in enumerate(rows[0]) if column != "latency_ms"] if rows else []
    target = io.StringIO(newline="")
    csv.writer(target).writerows([row[index] for index in kept] for row in rows)
    return target.getvalue().encode()


def _run_demo(name: str, folder: Path) -> list[Path]:
    shutil.copy(ROOT / "demos" / name, folder)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PARLEY_", "LLM_", "OPENAI_"))}
    command = [str(Path(sys.executable).parent / "parley"), "run", name, "--out", "out", "--data-dir", "lab"]
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return sorted(path for path in (folder / "out").rglob("*") if path.is_file())


def wheels() -> Files:
    """The names of the files in the wheel."""
    with TemporaryDirectory() as folder:
        build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        (wheel,) = Path(folder).glob("*.whl")
        names = [name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name]
        yield f"{wheel.name.partition('-')[0]}.txt", _as_lines(names)


def _import_service(name: str) -> None:
    import_module(f"parley_lab.{name}.__main__")


def _as_json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).encode()


def _as_lines(rows: list[str]) -> bytes:
    return "".join(f"{row}\n" for row in sorted(set(rows))).encode()


PARTS: Final[Mapping[str, Callable[[], Files]]] = {
    "helps": helps,
    "schemas": schemas,
    "metrics": metrics,
    "log_events": log_events,
    "settings": settings,
    "tables": tables,
    "wheels": wheels,
    "data": data,
}
