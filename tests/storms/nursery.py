"""A process that has imported all services and forks them: a start costs a tenth of the CPU that a new process takes.

`python -m tests.storms.nursery MODULE ...` reads a line of JSON for each service to start from standard input
(`module`, one of these; `environment`, `log`, and `is_new` for an interpreter of its own) and answers with the id of
its process.
"""

import json
import os
import signal
import sys
from importlib import import_module
from typing import Any


def main() -> None:
    mains = {module: import_module(f"{module}.__main__").main for module in sys.argv[1:]}
    # Those who have ended leave nothing behind.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        task = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(task)
            if task["is_new"]:
                os.execve(sys.executable, [sys.executable, "-m", task["module"]], task["environment"])
            os._exit(mains[task["module"]]())
        print(pid, flush=True)


def _become(task: dict[str, Any]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(task["environment"])
    out = os.open(task["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(out, sys.stdout.fileno())
    os.dup2(out, sys.stderr.fileno())
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())


if __name__ == "__main__":
    main()
