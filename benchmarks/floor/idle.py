"""The floor's fourth process: stands where Parley has its orchestrator, and does nothing."""

import asyncio

import uvloop


async def main() -> None:
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main())
