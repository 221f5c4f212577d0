"""The load over a whole test: its counters at the end, its distributions merged exactly."""

from typing import Any

from loadtop.load.histogram import EMPTY, mean, median, merge, percentile, sd
from loadtop.metrics import PERCENTILES
from loadtop.model import Distribution, LoadSample, LoadState

Json = dict[str, Any]
PARTS = ("total", "connect", "processing", "waiting")


class LoadSummary:
    """Adds up the intervals of the load that are not warm-up."""

    def __init__(self) -> None:
        self.last: LoadSample | None = None
        self.distributions: dict[str, Distribution] = dict.fromkeys(PARTS, EMPTY)
        self.corrected: Distribution | None = None

    def add(self, sample: LoadSample) -> None:
        """Count one interval."""
        self.last = sample
        if sample.latencies is None or sample.state in (LoadState.WARMUP, LoadState.STARTING):
            return
        for part in PARTS:
            self.distributions[part] = merge((self.distributions[part], getattr(sample.latencies, part)))
        if sample.latencies.corrected is not None:
            self.corrected = merge((self.corrected or EMPTY, sample.latencies.corrected))

    @property
    def rps(self) -> float | None:
        """Requests per second over the whole run, as ab counts: requests / time."""
        if self.last is None or self.last.elapsed_s <= 0:
            return None
        return self.last.requests / self.last.elapsed_s

    def as_json(self) -> Json | None:
        """The ``load`` part of the JSON summary, ``None`` where no load was run."""
        last = self.last
        if last is None:
            return None
        failures = last.failures
        return {
            "engine": last.engine,
            "model": last.model,
            "concurrency": last.concurrency,
            "rate": last.rate,
            "keepalive": last.keepalive,
            "requests": last.requests,
            "failed": failures.total,
            "failures": {
                "connect": failures.connect,
                "receive": failures.receive,
                "length": failures.length,
                "exceptions": failures.exceptions,
                "timeout": failures.timeout,
            },
            "non_2xx": last.non_2xx,
            "keepalive_requests": last.keepalive_requests,
            "rps": None if self.rps is None else round(self.rps, 3),
            "received_bytes": last.received_bytes,
            "body_bytes": last.body_bytes,
            "sent_bytes": last.sent_bytes,
            "latency_ms": latency_json(self.distributions["total"]),
            "corrected_latency_ms": None if self.corrected is None else latency_json(self.corrected),
            **{f"{part}_ms": times_json(self.distributions[part]) for part in PARTS[1:]},
            "state": str(last.state),
            "message": last.message or None,
        }


def latency_json(distribution: Distribution) -> Json | None:
    """Extremes, mean, sd and percentiles in ms; ``None`` where nothing was measured."""
    if distribution.count == 0:
        return None
    times = times_json(distribution) or {}
    percentiles = {name: _ms(percentile(distribution, percent)) for name, percent in PERCENTILES.items()}
    return {"min": times["min"], "mean": times["mean"], "sd": times["sd"], **percentiles, "max": times["max"]}


def times_json(distribution: Distribution) -> Json | None:
    """Min, mean, sd, median and max in ms; ``None`` where nothing was measured."""
    if distribution.count == 0:
        return None
    return {
        "min": _ms(distribution.min_us),
        "mean": _ms(mean(distribution)),
        "sd": _ms(sd(distribution)),
        "median": _ms(median(distribution)),
        "max": _ms(distribution.max_us),
    }


def _ms(microseconds: float) -> float:
    return round(microseconds / 1000.0, 3)
