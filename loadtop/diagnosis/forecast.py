"""The next limit, while nothing is full: which resource would be, and at about how many requests/s.

The utilisation law: a resource that is busy B of a time in which X requests are served gives each D = B / X, and is
full at X = capacity / D (Denning and Buzen, "The Operational Analysis of Queueing Network Models", 1978). For worker
slots the same follows from Little's law: busy slots are X * R. It holds while a request costs the same under more load;
where that cannot be assumed, nothing is said.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from math import sqrt
from statistics import median, median_high

from msgspec import Struct

from loadtop.diagnosis.finding import Forecast
from loadtop.diagnosis.network import fullest
from loadtop.model import LOADTOP, OTHER, SERVING, LoadState, Role
from loadtop.model.histogram import mean
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import GeneratorRates, HostRates

LEAST_INTERVALS, MOST_INTERVALS = 5, 60  # how many calm intervals a forecast needs, and looks back on
TRIMMED = 0.2  # the part of the intervals that is left out at either end, where a request took most or least

OTHER_PROCESS_PCT = 85.0  # percent of a core: what takes less may well work for the server, as a database does

LEAST_USED = 0.03  # the part of a resource that must be used for its demand to be measured at all
FARTHEST = 10.0  # times the present throughput beyond which nothing is predicted
ERRORS_PCT = 5.0  # failed requests cost something else than good ones

MODEL_ERROR, CPU_ERROR = 0.08, 0.20
"""What the range has beside twice the standard error: costs that change with the load, from the laboratory's runs. A
request takes up to a fifth less of a processor that does nothing else and does not sleep in between, and more where
cores share what they have."""

Key = tuple[str, str | None]


class Use(Struct, frozen=True):
    """How much of a resource was used in one interval, and how much there is, in the same unit. ``beside`` is used by
    others, who may do that for the load: as much of it as is there in every interval counts."""

    used: float
    capacity: float
    beside: float = 0.0


Demands = Callable[[Measured, HostView, bool], Mapping[str, Use]]
"""What the load takes of one kind of server's own resources on one host, by the name of the verdict that names the
resource; the flag says that no other host has a pool of workers."""


class Forecaster:
    """Remembers the newest calm intervals of one load. Bounded, and made of frames only."""

    def __init__(self, demands: Iterable[Demands]) -> None:
        self._demands = tuple(demands)
        self._seen: deque[tuple[float, dict[Key, Use]]] = deque(maxlen=MOST_INTERVALS)

    def add(self, measured: Measured, *, calm: bool) -> Forecast | None:
        """Count one interval; return the forecast after it, if any. ``calm``: no resource was over its threshold."""
        load, rates = measured.load, measured.load_rates
        running = load is not None and load.state is LoadState.RUNNING
        if not running or not calm or rates is None or rates.rps is None or rates.rps <= 0:
            return None
        if max(sum(rates.broken.values()), rates.non_2xx_share or 0.0) > ERRORS_PCT:
            self._seen.clear()
            return None
        self._seen.append((rates.rps, self._uses(measured)))
        return self._forecast() if len(self._seen) >= LEAST_INTERVALS else None

    def _forecast(self) -> Forecast | None:
        keys = set(chain.from_iterable(uses for _, uses in self._seen))
        found = [forecast for key in keys if (forecast := self._of(key)) is not None]
        first = min(found, key=lambda forecast: forecast.rps, default=None)
        newest = sum(rps for rps, _ in list(self._seen)[-LEAST_INTERVALS:]) / LEAST_INTERVALS
        return first if first is not None and newest < first.rps <= FARTHEST * newest else None

    def _of(self, key: Key) -> Forecast | None:
        """Demand as the mean of the middle intervals, with its standard error, so one busy interval does not distort
        the forecast."""
        known = [(rps, uses[key]) for rps, uses in self._seen if key in uses]
        if len(known) < LEAST_INTERVALS:
            return None
        capacity = median_high(use.capacity for _, use in known)
        left_out = int(TRIMMED * len(known))
        demands = sorted(use.used / rps for rps, use in known)[left_out : len(known) - left_out]
        demand = mean = sum(demands) / len(demands)
        if key[0] == "cpu":
            # Whatever else a machine does only adds to this: the quieter half tells what a request takes. What comes
            # and goes beside the load is there at its ceiling too, and does not grow with it.
            quiet = demands[: (len(demands) + 1) // 2]
            demand = sum(quiet) / len(quiet) + min(use.beside / rps for rps, use in known)
            capacity -= median(max(0.0, use.used + use.beside - demand * rps) for rps, use in known)
        used = demand * sum(rps for rps, _ in known) / len(known)
        if demand <= 0 or used < LEAST_USED * capacity:
            return None
        spread = sum((each - mean) ** 2 for each in demands) / (len(demands) - 1)
        error = min(0.5, 2.0 * sqrt(spread / len(demands)) / demand + (CPU_ERROR if key[0] == "cpu" else MODEL_ERROR))
        rps = capacity / demand
        return Forecast(key[0], key[1], rps, rps * (1.0 - error), rps * (1.0 + error))

    def _uses(self, measured: Measured) -> dict[Key, Use]:
        found: dict[Key, Use] = {}
        generator = None if measured.load_rates is None else measured.load_rates.generator
        if generator is not None:
            found["generator", None] = Use(generator.busiest, 100.0)
        pools = sum(any(each.worker_limit for each in measured.readings(host)) for host in measured.hosts)
        for host in measured.hosts:
            rates, sample = host.rates, host.sample
            if rates is None or sample is None:
                continue
            line = fullest(host)
            uses = {"network": None if line is None or line.util is None else Use(line.util, 100.0)}
            if host.state.role != "generator":
                uses |= {
                    "cpu": _cpu(host, generator),
                    "cpu-core": _core(rates),
                    "throttled": _quota(host, rates),
                }
                for demands in self._demands:
                    uses |= demands(measured, host, pools == 1)
            found |= {(resource, host.name): use for resource, use in uses.items() if use is not None}
        return found


def _cpu(host: HostView, generator: GeneratorRates | None) -> Use | None:
    """In cores. What other processes take does not grow with the load, and is not there for it.

    The server's own processes, databases and the generator tell what a request takes, where they are known. The rest of
    what is busy can be a database of no known kind or children that live as long as a request, but also anything else:
    it is ``beside``. Not what runs at a lower priority, which yields to a server, nor this program's own measuring.
    """
    rates, cpu, cores = host.rates, host.cpu, host.cores
    if rates is None or cpu is None:
        return None
    processes = (each.cpu or 0.0 for each in rates.processes or () if each.process.group == OTHER)
    others = sum(share for share in processes if share >= OTHER_PROCESS_PCT) / 100
    stolen = (cpu.steal or 0.0) * cores / 100
    busy, capacity = max(0.0, cpu.busy * cores / 100 - others), cores - others - stolen
    if not any(group.cpu for group in rates.of_role(*SERVING)):
        return Use(busy, capacity)
    working = sum(group.cpu or 0.0 for group in rates.of_role()) / 100
    own = sum(group.cpu or 0.0 for group in rates.groups or () if group.group == LOADTOP) / 100
    loading = own if generator is None else min(own, generator.cpu / 100)
    yielding = max(0.0, cpu.nice * cores / 100 - others)
    beside = max(0.0, busy - working - own - yielding)
    return Use(working + loading, capacity - (own - loading), beside)


def _core(rates: HostRates) -> Use | None:
    """A server of one process with one thread that takes most of what servers take."""
    groups = rates.of_role(*SERVING)
    busy = sum(group.cpu or 0.0 for group in groups)
    for group in groups:
        if group.processes == group.threads == 1 and group.cpu and group.cpu > 0.5 * busy:
            return Use(group.cpu, 100.0)
    return None


def _quota(host: HostView, rates: HostRates) -> Use | None:
    """The quota of the servers that use most of theirs. Of servers of one name in several groups it is not known how
    much each uses."""
    found: list[Use] = []
    groups = [limits for limits, _ in host.control_groups()]
    times = Counter(name for limits in groups for name in limits.servers)
    for limits in groups:
        if any(times[name] > 1 for name in limits.servers):
            continue
        names = limits.servers or tuple(each.group for each in rates.of_role(Role.WEB))
        used = sum(group.cpu or 0.0 for group in rates.of_role(*SERVING) if group.group in names) / 100
        if limits.cpu_quota_us and limits.cpu_period_us and used:
            found.append(Use(used, limits.cpu_quota_us / limits.cpu_period_us))
    return max(found, key=lambda use: use.used / use.capacity, default=None)


def served(measured: Measured, shown: int, *, alone: bool) -> float:
    """How many requests a pool serves on average: Little's law on the whole load where the pool has all of it and its
    own page, which is one moment, does not speak against that; else what the page shows without itself."""
    load, rates = measured.load, measured.load_rates
    times = None if load is None or load.latencies is None else load.latencies.total
    if alone and rates is not None and rates.rps is not None and times is not None and times.count:
        in_flight = rates.rps * mean(times) / 1e6
        if abs(in_flight - shown) <= max(1.5, 0.5 * in_flight):
            return in_flight
    return float(max(0, shown - 1))
