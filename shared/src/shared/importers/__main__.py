"""`python -m shared.importers` reads one file in a process of its own, which can be given up without harm to anybody.

On standard input comes a line of JSON (`media_type`, `choice`) and then the file; on standard output goes one line of
JSON: the experiments and warnings, or what is wrong. The process bounds its own memory and time first.
"""

import resource
import sys
from dataclasses import asdict
from typing import Any, Final

import orjson

from shared.errors import InvalidInput, TooLarge
from shared.importers.formats import Choice, import_file

MEMORY_BYTES: Final = 1024 * 1024 * 1024
CPU_SECONDS: Final = 60


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    order = orjson.loads(sys.stdin.buffer.readline())
    choice = Choice(**{**order["choice"], "people": tuple(order["choice"]["people"])})
    sys.stdout.buffer.write(orjson.dumps(_outcome(sys.stdin.buffer.read(), order["media_type"], choice)))
    return 0


def _outcome(content: bytes, media_type: str, choice: Choice) -> dict[str, Any]:
    try:
        imported = import_file(content, media_type, choice)
    except InvalidInput as error:
        return {"invalid": error.message, "problems": [asdict(problem) for problem in error.problems]}
    except TooLarge as error:
        return {"too_large": error.message}
    return {
        "experiments": [experiment.model_dump(mode="json") for experiment in imported.experiments],
        "warnings": imported.warnings,
    }


if __name__ == "__main__":
    sys.exit(main())
