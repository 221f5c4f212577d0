"""The same frames on a machine whose hypervisor steals: what a processor is given is a share of the time it wants.

A processor that was busy for B of a time and is given 1 - s of what it wants would want B / (1 - s). Where that is no
more than all of the time, it does the same work, and s B / (1 - s) of its idle time is stolen. Where it is more, 1 - s
of the time is left to it, nothing is idle, and processes get so much less. The requests that are not served then stay
in the counters of the load: no verdict depends on how many there are.
"""

from msgspec.structs import fields, replace

from loadtop.model import CpuTimes, Frame, HostSample, LoadSample

BUSY = ("user", "nice", "system", "irq", "softirq")
FULL = 0.95  # of the time that a machine has no idle time left


class Thieves:
    """Steals ``share`` of what each processor wants, from 0 to 1, on every machine."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._before: dict[str, HostSample] = {}
        self._stolen: dict[str, HostSample] = {}
        self._used: list[float] = []
        self._workers: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())

    def needed(self) -> bool:
        """Whether some machine had no idle time in a good part of the intervals."""
        return sum(each > FULL for each in self._used) > len(self._used) / 4

    def steal(self, frame: Frame) -> Frame:
        """The frame with the counters of such a machine. Frames must come in their order."""
        hosts, load = list(frame.hosts), frame.load
        for number, host in enumerate(hosts):
            if host.fresh and host.sample is not None:
                sample, done = self._of_host(host.name, host.sample)
                hosts[number] = replace(host, sample=sample)
                if "generator" in host.role and load is not None:
                    load = self._of_load(load, done)
        return replace(frame, hosts=tuple(hosts), load=load)

    def _of_load(self, load: LoadSample, done: float) -> LoadSample:
        if load.generator is None:
            return load
        before, mine = (each + (0.0,) * len(load.generator.worker_cpu_s) for each in self._workers)
        now = load.generator.worker_cpu_s
        given = tuple(own + done * (new - old) for own, old, new in zip(mine, before, now, strict=False))
        self._workers = (now, given)
        return replace(load, generator=replace(load.generator, worker_cpu_s=given))

    def _of_host(self, name: str, now: HostSample) -> tuple[HostSample, float]:
        """The sample, and the part of the work of its interval that is done."""
        before, stolen = self._before.get(name), self._stolen.get(name)
        self._before[name] = now
        if before is None or stolen is None or before.cpu is None or now.cpu is None or stolen.cpu is None:
            self._stolen[name] = now
            return now, 1.0
        times = [
            self._times(old.times, mine.times, new.times)
            for old, mine, new in zip(before.cpu.cores, stolen.cpu.cores, now.cpu.cores, strict=True)
        ]
        cores = tuple(replace(core, times=each) for core, each in zip(now.cpu.cores, times, strict=True))
        names = [each.name for each in fields(CpuTimes)]
        total = CpuTimes(**{name: sum(getattr(each, name) or 0 for each in times) for name in names})
        done = _busy(stolen.cpu.total, total) / max(1, _busy(before.cpu.total, now.cpu.total))
        earlier = {(each.pid, each.started_ticks): each.cpu_ticks for each in before.processes or ()}
        mine = {(each.pid, each.started_ticks): each.cpu_ticks for each in stolen.processes or ()}
        processes = tuple(
            replace(each, cpu_ticks=mine[key] + round(done * (each.cpu_ticks - earlier[key])))
            if (key := (each.pid, each.started_ticks)) in mine and key in earlier
            else each
            for each in now.processes or ()
        )
        self._stolen[name] = replace(now, cpu=replace(now.cpu, total=total, cores=cores), processes=processes)
        return self._stolen[name], done

    def _times(self, before: CpuTimes, stolen: CpuTimes, now: CpuTimes) -> CpuTimes:
        """The counters of one processor."""
        passed = {each.name: (getattr(now, each.name) or 0) - (getattr(before, each.name) or 0) for each in fields(now)}
        busy = sum(passed[name] for name in BUSY)
        whole = busy + passed["idle"] + passed["iowait"] + passed["steal"]
        wanted = min(whole, busy / (1 - self._share))
        done = wanted * (1 - self._share) / busy if busy else 1.0
        self._used.append(wanted / whole if whole else 0.0)
        idle = max(0.0, whole - wanted - passed["iowait"])
        ticks = {name: done * passed[name] for name in passed}
        ticks |= {"idle": idle, "iowait": whole - wanted - idle, "steal": wanted * self._share}
        return replace(now, **{name: (getattr(stolen, name) or 0) + round(value) for name, value in ticks.items()})


def _busy(before: CpuTimes, now: CpuTimes) -> int:
    return sum((getattr(now, name) or 0) - (getattr(before, name) or 0) for name in BUSY)
