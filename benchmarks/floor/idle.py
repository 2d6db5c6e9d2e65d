"""The floor's fourth process: in place of Parley's orchestrator, it does nothing."""

import asyncio

import uvloop


async def main() -> None:
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main())
