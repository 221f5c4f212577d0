"""JMeter without its window (``jmeter -n``): lines of its summariser, every 30 s and at the end (Summariser.java)."""

import re

from loadtop.engines.tools.reader import ToolReader
from loadtop.model import Failures, StatedTimes

_SUMMARY = re.compile(
    r"\S+ ([+=])\s+(\d+) in\s+(\S+) =\s+([\d.,]+|\*+)/s Avg:\s+(\d+) Min:\s+(\d+) Max:\s+(-?\d+) Err:\s+(\d+) "
)
_ACTIVE = re.compile(r"Active: (\d+) Started: (\d+) Finished: (\d+)")


class Jmeter(ToolReader):
    """One run of JMeter. Times are in whole ms; an error is what its assertions call one."""

    name = "jmeter"
    start = re.compile(
        r"Creating summariser <|Starting (?:the test|standalone test) @ |\S+ \+\s+\d+ in\s+\S+ =\s+\S+/s Avg:"
    )

    def _read(self, line: str) -> None:
        if active := _ACTIVE.search(line):
            self._set(concurrency=int(active[1]) or self.load.concurrency)
        if line.startswith("... end of run"):
            self.final = True
        elif found := _SUMMARY.match(line):
            sign, requests, duration, rate = found.groups()[:4]
            mean, low, high, errors = map(int, found.groups()[4:])
            # The first "+" line of a run is its total so far; later ones are followed by a "=" line with the total.
            if sign == "=" or self.load.requests is None:
                self._set(requests=int(requests), failures=Failures.undivided(errors))
            if sign == "=":
                # Without requests JMeter prints asterisks and the extremes of its number types.
                rps = float(rate.replace(",", ".")) if "*" not in rate else None
                times = StatedTimes("total", min_ms=float(low), mean_ms=float(mean), max_ms=float(high))
                # The duration is in whole seconds, 0 for a short run; the rate is computed from milliseconds.
                self.seconds = _seconds(duration) or (int(requests) / rps if rps else None)
                self._set(stated_rps=rps, stated=(times,) if int(requests) else ())


def _seconds(text: str) -> float | None:
    """Parse ``00:01:30`` or, from old versions, ``90s``."""
    parts = text.removesuffix("s").split(":")
    try:
        return sum(float(part) * float(60**place) for place, part in enumerate(reversed(parts)))
    except ValueError:
        return None
