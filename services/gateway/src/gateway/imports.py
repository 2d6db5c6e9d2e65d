"""Files of other formats, read in a process of their own: one that never ends, or wants all memory, blocks nobody."""

import asyncio
import sys
from dataclasses import asdict
from typing import Any, Final

import orjson
import structlog

from shared.errors import InvalidInput, Problem, TooLarge
from shared.experiment import Experiment
from shared.importers.formats import Choice, Imported

log = structlog.get_logger(__name__)

PATIENCE_SECONDS: Final = 60.0
_COMMAND: Final = (sys.executable, "-I", "-m", "shared.importers")


async def import_apart(
    content: bytes,
    media_type: str,
    choice: Choice,
    *,
    slots: asyncio.Semaphore,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Imported:
    """What is in the file; `slots` bounds how many are read at a time.

    Raises:
        InvalidInput: with everything that is wrong in it.
        TooLarge: it is too large, or takes more time or memory than such a file should.
    """
    order = orjson.dumps({"media_type": media_type, "choice": asdict(choice)})
    async with slots:
        outcome = await _in_process(order + b"\n" + content, patience_seconds)
    if "invalid" in outcome:
        raise InvalidInput(outcome["invalid"], [Problem(**problem) for problem in outcome["problems"]])
    if "too_large" in outcome:
        raise TooLarge(outcome["too_large"])
    # As many as a workbook has permutations, each with all its sessions: others must be served meanwhile.
    return await asyncio.to_thread(_imported, outcome)


def _imported(outcome: dict[str, Any]) -> Imported:
    experiments = tuple(Experiment.model_validate(document) for document in outcome["experiments"])
    return Imported(experiments, tuple(outcome["warnings"]))


async def _in_process(stdin: bytes, patience_seconds: float) -> dict[str, Any]:
    """No part of our environment goes with it: it needs none, and there are keys in it."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*_COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, env={})
    try:
        async with asyncio.timeout(patience_seconds):
            stdout, stderr = await process.communicate(stdin)
    except TimeoutError as error:
        raise TooLarge("The file takes too long to read.") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        log.warning("import.given_up", code=process.returncode, last=stderr.decode(errors="replace")[-300:])
        raise TooLarge("The file needs more memory or time to read than such a file should.")
    outcome: dict[str, Any] = orjson.loads(stdout)
    return outcome
