"""The embedded lab as a process to be measured: like `parley up`, on a database that is given and without a terminal.

Arguments: the port of the API. Prints the operator's key once the API answers, and runs until SIGTERM.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from parley_lab.base.logs import set_up_logs
from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab


async def main(port: int, folder: Path) -> None:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    servers = ServerSettings(database_url=os.environ["PARLEY_DATABASE_URL"], amqp_url=None)
    async with EmbeddedLab(folder / "lab", servers=servers, environ=os.environ, port=port) as lab:
        print(lab.directory.local_key(), flush=True)
        await stopping.wait()


if __name__ == "__main__":
    set_up_logs("embedded-lab")
    with TemporaryDirectory() as folder:
        uvloop.run(main(int(sys.argv[1]), Path(folder)))
