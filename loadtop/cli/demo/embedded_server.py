"""The demo's web server where Apache is not installed.

Run as ``python -m loadtop.cli.demo.embedded_server PORT WORKERS CORES``.
As in Apache, each request, for the status page too, holds one of a limited number of worker slots from its first line
to the end of its response; other requests wait in order. Pages that compute do so in a pool of one process per core, so
that they can use every core.
"""

import asyncio
import contextlib
import os
import random
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from aiohttp import web

from loadtop import __version__
from loadtop.cli.demo.pages import INDEX, PAGES, Page

SOFTWARE = f"loadtop-demo/{__version__} (not Apache)"
IDLE, WORKING = "_", "W"
BURN_S = 0.035


class Scoreboard:
    """The worker slots, in Apache's letters, and totals since the start."""

    def __init__(self, workers: int) -> None:
        self._slots = [IDLE] * workers
        self._free = asyncio.Semaphore(workers)
        self._started = time.monotonic()
        self.accesses = 0
        self.sent_bytes = 0
        self.duration_s = 0.0

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncGenerator[None]:
        async with self._free:
            number = self._slots.index(IDLE)
            self._slots[number] = WORKING
            began = time.monotonic()
            try:
                yield
            finally:
                self._slots[number] = IDLE
                self.accesses += 1
                self.duration_s += time.monotonic() - began

    def text(self) -> str:
        """The page ``?auto`` of Apache's mod_status with the figures of this server, as far as loadtop reads it."""
        times = os.times()
        busy = self._slots.count(WORKING)
        lines = [
            "127.0.0.1",
            f"ServerVersion: {SOFTWARE}",
            "ServerMPM: embedded",
            f"ServerUptimeSeconds: {int(time.monotonic() - self._started)}",
            f"Total Accesses: {self.accesses}",
            f"Total kBytes: {self.sent_bytes // 1024}",
            f"Total Duration: {round(self.duration_s * 1000)}",
            f"CPUUser: {times.user:g}",
            f"CPUSystem: {times.system:g}",
            f"BusyWorkers: {busy}",
            f"IdleWorkers: {len(self._slots) - busy}",
            f"Scoreboard: {''.join(self._slots)}",
        ]
        return "\n".join(lines) + "\n"


def burn() -> None:
    until = time.process_time() + BURN_S
    while time.process_time() < until:
        sum(range(1000))


def make_app(workers: int, burners: Executor) -> web.Application:
    """The server as an application: ``/``, the demo's pages, and ``/server-status``."""
    scoreboard = Scoreboard(workers)

    def serve(page: Page | None, content_type: str = "text/plain") -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(_request: web.Request) -> web.Response:
            async with scoreboard.slot():
                if page is not None:
                    wait_ms = page.wait_ms + random.randrange(page.spread_ms)  # noqa: S311 - no secret
                    await asyncio.sleep(wait_ms / 1000)
                    if page.burns:
                        await asyncio.get_running_loop().run_in_executor(burners, burn)
                text = scoreboard.text() if page is None else page.text
                scoreboard.sent_bytes += len(text)
                return web.Response(text=text, content_type=content_type, headers={"Server": SOFTWARE})

        return handle

    app = web.Application()
    app.router.add_get("/", serve(Page("", INDEX), "text/html"))
    app.router.add_get("/server-status", serve(None))
    for page in PAGES:
        app.router.add_get(f"/{page.name}", serve(page))
    return app


def main() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text("httpd")  # part of the web server in process tables, on Linux
    port, workers, cores = (int(word) for word in sys.argv[1:4])
    # All its processes are forked with the first task, before this one handles signals.
    burners = ProcessPoolExecutor(cores, get_context("fork"))
    burners.submit(burn).result()
    web.run_app(
        make_app(workers, burners), host="127.0.0.1", port=port, print=None, access_log=None, shutdown_timeout=0.2
    )


if __name__ == "__main__":
    main()
