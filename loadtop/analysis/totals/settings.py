"""What was tested with what: the settings of the load, the machines and the servers, as far as they were seen."""

from collections.abc import Iterator

from msgspec import Struct

from loadtop.i18n import Translatable, plain
from loadtop.model import CgroupLimits, HostSample, LoadLevel, LoadSample, LoadState
from loadtop.pipeline.snapshot import Snapshot
from loadtop.servers.registry import KINDS

LOAD = "load"  # what the load's settings are listed under; no machine is called so in the lists, for they have a role
LEVELS = 40  # different numbers of connections (or rates) that are listed; a load changed by hand can reach many


class Setting(Struct, frozen=True):
    """One setting: of what (:data:`LOAD`, or a machine), its name, and its value as people write it."""

    subject: str
    name: str
    value: str


class Settings:
    """Keeps the newest value of every setting, in constant memory."""

    def __init__(self) -> None:
        self.roles: dict[str, str] = {}
        self._found: dict[tuple[str, str], str] = {}
        self._levels: dict[str, None] = {}
        self._newest: dict[str, HostSample] = {}
        self._load: LoadSample | None = None

    def add(self, snapshot: Snapshot) -> None:
        load = snapshot.measured.load
        if load is not None:
            level = LoadLevel.of(load).label.removeprefix("c=")
            if load.state in (LoadState.WARMUP, LoadState.RUNNING) and level and len(self._levels) < LEVELS:
                self._levels.setdefault(level)
            self._load = load
        for host in snapshot.measured.hosts:
            self.roles[host.name] = host.state.role
            sample = host.sample
            if sample is not None and host.state.fresh:
                self._newest[host.name] = sample
                # Pages under load do not come every time, so each setting is kept when it is seen.
                for kind in KINDS:
                    for name, value in kind.settings(kind.readings(sample)):
                        self._found[host.name, name] = value

    def all(self) -> list[Setting]:
        """Every setting, those of the load first, then machine by machine."""
        found = [] if self._load is None else self._of_load(self._load)
        for host in self.roles:
            if (sample := self._newest.get(host)) is not None:
                found += [Setting(host, name, value) for name, value in _of_machine(sample)]
            found += [Setting(host, name, value) for (of, name), value in self._found.items() if of == host]
        return found

    def _of_load(self, load: LoadSample) -> list[Setting]:
        seen = load.server
        values: dict[Translatable, Translatable] = {
            "engine": load.engine,
            "model": load.model,
            "rate" if load.rate is not None else "concurrency": ", ".join(self._levels),
            "keep-alive": "" if load.keepalive is None else "yes" if load.keepalive else "no",
            "steps": str(load.steps) if load.steps > 1 else "",
            "server": "" if seen is None else seen.software,
            "path": "" if seen is None else seen.path,
            "TLS": "" if seen is None else seen.tls or "no",
        }
        return [Setting(LOAD, name, plain(value)) for name, value in values.items() if value]


def _of_machine(sample: HostSample) -> Iterator[tuple[Translatable, Translatable]]:
    facts = sample.facts
    yield "system", plain(f"{facts.system} {facts.kernel}")
    yield "cores", str(facts.cores)
    if facts.memory_kb is not None:
        yield "memory", _megabytes(facts.memory_kb)
    if sample.swap is not None:
        yield "swap", _megabytes(sample.swap.total_kb) if sample.swap.total_kb else "none"
    for network in sample.networks or ():
        if network.sends_mbit is not None:
            yield f"line {plain(network.name)}", f"{network.sends_mbit:g} Mbit/s"
    if sample.cgroup is not None:
        yield from _of_group(sample.cgroup)
    for cgroup in sample.more_cgroups:
        for name, value in _of_group(cgroup):
            yield f"{name} {plain(', '.join(cgroup.servers))}", value


def _of_group(cgroup: CgroupLimits) -> Iterator[tuple[Translatable, Translatable]]:
    if cgroup.cpu_quota_us is not None and cgroup.cpu_period_us:
        yield "CPU quota", f"{cgroup.cpu_quota_us / cgroup.cpu_period_us:g} cores"
    if cgroup.memory_limit_kb is not None:
        yield "memory limit", _megabytes(cgroup.memory_limit_kb)


def _megabytes(kilobytes: int) -> str:
    return f"{kilobytes / 1024:.0f} MB"
