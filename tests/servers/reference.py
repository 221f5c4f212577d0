"""Reference programs and libraries. The end of a test run lists them with their versions."""

import importlib.metadata
import subprocess
from collections.abc import Callable

import pytest

from tests.servers.program import find_program

PROPERTY = "compared with"
SYSSTAT, PROCPS = "apt-get install sysstat", "apt-get install procps"
APACHE, UTILITIES = "apt-get install apache2", "apt-get install apache2-utils"
PROGRAMS = {  # the option that prints the version, and what to install
    "ab": ("-V", UTILITIES),
    "apache2": ("-v", APACHE),
    "free": ("-V", PROCPS),
    "iostat": ("-V", SYSSTAT),
    "mpstat": ("-V", SYSSTAT),
    "pidstat": ("-V", SYSSTAT),
    "sar": ("-V", SYSSTAT),
    "ss": ("-V", "apt-get install iproute2"),
    "vmstat": ("-V", PROCPS),
    "wrk": ("-v", "apt-get install wrk"),
}


class Reference:
    """Finds them, and notes the version in the report of the test."""

    def __init__(self, note: Callable[[str, object], None]) -> None:
        self._note = note

    def program(self, name: str) -> str:
        option, install = PROGRAMS[name]
        path = find_program(name, install=install)
        done = subprocess.run([path, option], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10)
        self._note(PROPERTY, f"{name}: {(done.stdout or done.stderr).partition(chr(10))[0]}")
        return path

    def library(self, name: str) -> None:
        self._note(PROPERTY, f"{name}: {importlib.metadata.version(name)}")


def summary(reporter: pytest.TerminalReporter) -> None:
    """Print what the tests of this run were compared with."""
    reports = [each for kind in reporter.stats.values() for each in kind if isinstance(each, pytest.TestReport)]
    found = {str(value) for report in reports for name, value in report.user_properties if name == PROPERTY}
    for line in sorted(found):
        reporter.write_line(f"{PROPERTY} {line}")
