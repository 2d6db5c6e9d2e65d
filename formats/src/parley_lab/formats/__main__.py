"""`python -m parley_lab.formats` reads uploaded files, each in a process of its own that can be killed.

Standard input is a socket to the parent, which sends one end of a socket pair for each file. A fork of this process,
with all imports done, reads the order and the file from it, answers with one JSON object and exits. The fork limits its
own memory and time. This process ends with its parent.

An order is a line of JSON: `task`, one of `TASKS`, the most `seconds` that it may take, and `options` of the task. The
file follows, up to the end of the stream. The answer is the result of the task, or `invalid` with `problems`, or
`too_large`, or `failed` with the place of the bug.
"""

import json
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Final, NoReturn

import orjson

from parley_lab.base.errors import InvalidInput, TooLarge
from parley_lab.contracts.experiment import Persona
from parley_lab.design import (
    content_beside,
    draft_of,
    named_personas,
    read,
    read_persona,
    read_personas,
    shown_beside,
)
from parley_lab.design.editing import Change, edit_text
from parley_lab.formats.arena import read_agent
from parley_lab.formats.importing import Choice, import_file
from parley_lab.formats.spreadsheets import read_table

MEMORY_BYTES: Final = 1024 * 1024 * 1024
CPU_SECONDS: Final = 60
NICENESS: Final = 5
"""Requests to the API get the processor before large files do."""

Options = Mapping[str, Any]


def main() -> int:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as parent:
        while True:
            _, descriptors, _, _ = socket.recv_fds(parent, 1, 1)
            if not descriptors:
                return 0
            with socket.socket(fileno=descriptors[0]) as line:
                if os.fork() == 0:
                    parent.close()
                    _serve(line)


def _serve(line: socket.socket) -> NoReturn:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    os.nice(NICENESS)
    with line.makefile("rb") as received:
        order = orjson.loads(received.readline())
        # Without a handler, the signal ends the process.
        signal.setitimer(signal.ITIMER_REAL, order["seconds"])
        line.sendall(orjson.dumps(_outcome(order, received.read())))
    os._exit(0)


def _outcome(order: Mapping[str, Any], content: bytes) -> dict[str, Any]:
    try:
        return TASKS[order["task"]](content, order["options"])
    except InvalidInput as error:
        return {"invalid": error.message, "problems": [asdict(problem) for problem in error.problems]}
    except TooLarge as error:
        return {"too_large": error.message}
    except MemoryError:
        return {"too_large": "The file needs more memory to read than such a file should."}
    except Exception:  # noqa: BLE001 - the parent reports it, with its own context
        return {"failed": traceback.format_exc()}


def _import(content: bytes, options: Options) -> dict[str, Any]:
    choice = Choice(**{**options["choice"], "people": tuple(options["choice"]["people"])})
    imported = import_file(content, options["media_type"], choice)
    return {"drafts": [asdict(draft_of(one)) for one in imported.experiments], "warnings": imported.warnings}


def _experiment(content: bytes, options: Options) -> dict[str, Any]:
    """The experiment; without a `library`, the personas of a library that it names, if any.

    The content is the text and then the files beside it, as `beside` says: their names and sizes. `stored` has the
    names under which the lab stores those that stages show.
    """
    written, sent = _parts(content, options["beside"])
    files: dict[str, bytes | str] = {**sent, **options["stored"]}
    read_beside = partial(content_beside, files)
    reading = read(
        written,
        options["name"],
        read_table=lambda source: read_table(source, read_beside(source.file)),
        read_medium=partial(shown_beside, files),
        read_words=read_beside,
    )
    named = named_personas(reading.value)
    if named and options["library"] is None:
        return {"named": sorted(named)}
    library = {persona_id: Persona.model_validate(fields) for persona_id, fields in (options["library"] or {}).items()}
    experiment = reading.experiment(library)
    warnings = tuple(map(str, [*reading.warnings(), *reading.warnings_of(experiment)]))
    return {"drafts": [asdict(replace(draft_of(experiment), warnings=warnings))]}


def _parts(content: bytes, beside: Sequence[tuple[str, int]]) -> tuple[bytes, dict[str, bytes]]:
    """The text, and the files by name."""
    place = len(content) - sum(size for _, size in beside)
    written, files = content[:place], {}
    for name, size in beside:
        files[name] = content[place : place + size]
        place += size
    return written, files


def _persona(content: bytes, options: Options) -> dict[str, Any]:
    return {"personas": [read_persona(content, options["name"], options["id"]).model_dump(mode="json")]}


def _personas(content: bytes, options: Options) -> dict[str, Any]:
    return {"personas": [persona.model_dump(mode="json") for persona in read_personas(content, options["name"])]}


def _agent(content: bytes, options: Options) -> dict[str, Any]:
    return {"personas": [read_agent(content, options["name"], options["id"]).model_dump(mode="json")]}


def _edit(content: bytes, options: Options) -> dict[str, Any]:
    """Values come and go as JSON in a text: orjson does not write numbers of more than 64 bits."""
    changes = [Change(tuple(path), value) for path, value in json.loads(options["changes"])]
    edited = edit_text(content.decode(), options["name"], changes)
    return {"text": edited.text, "value": json.dumps(edited.value)}


TASKS: Final[Mapping[str, Callable[[bytes, Options], dict[str, Any]]]] = {
    "import": _import,
    "experiment": _experiment,
    "persona": _persona,
    "personas": _personas,
    "agent": _agent,
    "edit": _edit,
}


if __name__ == "__main__":
    sys.exit(main())
