"""JMeter without its window (``jmeter -n``): lines of its summariser, every 30 s and at the end (Summariser.java)."""

import re
from dataclasses import replace

from loadtop.engines.figures import Figures
from loadtop.model import Failures, StatedTimes

_SUMMARY = re.compile(
    r"\S+ ([+=])\s+(\d+) in\s+(\S+) =\s+([\d.,]+|\*+)/s Avg:\s+(\d+) Min:\s+(\d+) Max:\s+(-?\d+) Err:\s+(\d+) "
)
_ACTIVE = re.compile(r"Active: (\d+) Started: (\d+) Finished: (\d+)")
_BEGIN = re.compile(
    r"Creating summariser <|Starting (?:the test|standalone test) @ |\S+ \+\s+\d+ in\s+\S+ =\s+\S+/s Avg:"
)


class Jmeter:
    """One run of JMeter. Times are in whole ms; an error is what its assertions say is one."""

    name = "jmeter"

    def __init__(self, argv: tuple[str, ...]) -> None:  # noqa: ARG002 - the plan says what is run
        self.figures = Figures()

    @staticmethod
    def begins(line: str) -> bool:
        """Whether only JMeter prints such a line."""
        return _BEGIN.match(line) is not None

    def read(self, line: str) -> None:
        """Take the next line."""
        if active := _ACTIVE.search(line):
            self.figures = replace(self.figures, concurrency=int(active[1]) or self.figures.concurrency)
        found = _SUMMARY.match(line)
        if found is None:
            if line.startswith("... end of run"):
                self.figures = replace(self.figures, final=True)
            return
        sign, requests, took, rate, *rest = found.groups()
        mean, low, high, wrong = map(int, rest)
        if sign == "=":
            self._count(int(requests), wrong)
            # Of no request it states asterisks and the extremes of its numbers.
            rps = float(rate.replace(",", ".")) if "*" not in rate else None
            times = StatedTimes("total", min_ms=float(low), mean_ms=float(mean), max_ms=float(high))
            # It says whole seconds, so of a short run 0; its rate is computed from milliseconds.
            self.figures = replace(
                self.figures,
                seconds=_seconds(took) or (int(requests) / rps if rps else None),
                rps=rps,
                times=(times,) if int(requests) else (),
            )
        elif self.figures.requests is None:
            # The first line of a run is its whole so far; later ones are followed by the whole.
            self._count(int(requests), wrong)

    def _count(self, requests: int, wrong: int) -> None:
        self.figures = replace(self.figures, requests=requests, failures=Failures.undivided(wrong))


def _seconds(text: str) -> float | None:
    """``00:01:30`` or, in old versions, ``90s``."""
    parts = text.removesuffix("s").split(":")
    try:
        return sum(float(part) * float(60**place) for place, part in enumerate(reversed(parts)))
    except ValueError:
        return None
