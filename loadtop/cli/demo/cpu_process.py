"""Uses a fixed CPU time for each byte on standard input, and answers with a byte.

Run as ``python -m loadtop.cli.demo.cpu_process`` until its input ends.
"""

import contextlib
import sys
import time
from pathlib import Path

from loadtop.cli.demo.pages import BURN_S


def call_it_httpd() -> None:
    """Name this process httpd, as part of the web server, in process tables (on Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text("httpd")


def main() -> None:
    call_it_httpd()
    while sys.stdin.buffer.read(1):
        until = time.process_time() + BURN_S
        while time.process_time() < until:
            sum(range(1000))
        sys.stdout.buffer.write(b".")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
