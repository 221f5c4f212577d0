"""What can be read of a machine, what cannot, and the fix: from one of its samples, panel by panel."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from loadtop.i18n import Message, Text, Translatable, TranslatableEnum, listed, verbatim
from loadtop.model import OTHER, Cause, HostSample, Outcome, State
from loadtop.servers.kind import AnyKind, Lack
from loadtop.servers.registry import KINDS, PROCESS_GROUPS

SCHEMA = "loadtop.doctor/1"
Json = dict[str, Any]

FILES = 8192
"""Descriptors that a generator should have at least: more than most tests have connections."""

PORTS = 28_000
"""Local ports that Linux gives by default (32768 to 60999), rounded down; a used one is taken for 60 s more."""


class Health(TranslatableEnum):
    """How much of a panel there is. ``none`` is nothing of the kind on that machine, which needs no fix."""

    OK = "ok"
    PARTLY = "partly"
    MISSING = "missing"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Check:
    """One panel: what is seen, what is missing and why, and what to paste or type where there is something."""

    panel: str
    health: Health
    seen: Text = ""
    missing: Text = ""
    fix: Text = ""

    def as_json(self) -> Json:
        return {
            "panel": self.panel,
            "health": str(self.health),
            "seen": str(self.seen) or None,
            "missing": str(self.missing) or None,
            "fix": str(self.fix) or None,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """One machine. ``problem`` says why it cannot be reached at all, ``fix`` what to type then, one command a line."""

    name: str
    source: str
    system: str = ""
    problem: Text = ""
    checks: tuple[Check, ...] = ()
    fix: Text = ""

    def as_json(self) -> Json:
        return {
            "name": self.name,
            "source": self.source,
            "system": self.system or None,
            "reachable": not self.problem,
            "problem": str(self.problem) or None,
            "fix": str(self.fix) or None,
            "panels": [check.as_json() for check in self.checks],
        }


def examine(sample: HostSample) -> Iterable[Check]:
    """Every panel of one sample, which should not be the first: what is read in turn is missing there."""
    outcomes = {outcome.collector: outcome for outcome in sample.outcomes}
    for panel, collector, seen, lacking in _PANELS:
        outcome = outcomes.get(collector, Outcome(collector, State.ABSENT, Message("not read")))
        found = seen(sample)
        if outcome.cause is Cause.NOTHING and not found:
            yield Check(panel, Health.NONE, missing=outcome.reason)
        elif outcome.state is not State.OK or not found:
            health = Health.PARTLY if found else Health.MISSING
            yield Check(panel, health, found, outcome.reason or Message("not read"), _fix(outcome, sample))
        else:
            lack = outcome if outcome.reason else lacking(sample)
            health = Health.PARTLY if lack.reason else Health.OK
            yield Check(panel, health, found, lack.reason, _fix(lack, sample))


def _fix(lack: Outcome | Lack, sample: HostSample) -> Text:
    if lack.fix:
        return lack.fix
    far = sample.facts.source != "local"
    as_root = f"--host {sample.host}=ssh://root@{sample.facts.source.removeprefix('ssh://').rpartition('@')[2]}"
    root = as_root if far else "sudo loadtop ..."
    if lack.cause is Cause.ROOT:
        return root
    if lack.cause is Cause.SOCKET:
        return Message(
            "{root}   (or add the user to the group that owns that socket: usermod -aG GROUP USER)", root=root
        )
    return ""


def generator(files: int | None, ports: int | None) -> Check:
    """Whether this machine can hold many connections: the most descriptors of a process, and local ports."""
    lacks: list[Message] = []
    fixes: list[Message] = []
    if files is not None and files < FILES:
        lacks.append(Message("more than {files} connections of a process need more file descriptors", files=files))
        fixes.append(
            Message('echo "* hard nofile 65536" | sudo tee -a /etc/security/limits.conf   (then log in again)')
        )
    if ports is not None and ports < PORTS:
        lacks.append(
            Message(
                "only {ports} local ports: without keep-alive they are used up at {rate} requests/s",
                ports=ports,
                rate=ports // 60,
            )
        )
        fixes.append(verbatim('sudo sysctl -w net.ipv4.ip_local_port_range="1024 65535"'))
    told = [Message("{number} descriptors", number=files)] if files is not None else []
    told += [Message("{number} ports", number=ports)] if ports is not None else []
    seen = listed(told) if told else Message("limits are not known")
    if not lacks:
        return Check("generator", Health.OK, seen)
    fix = Message("{first}\n{second}", first=fixes[0], second=fixes[1]) if len(fixes) > 1 else fixes[0]
    return Check("generator", Health.PARTLY, seen, listed(lacks), fix)


def _cpu(sample: HostSample) -> Text:
    return "" if sample.cpu is None else Message("{number} cores", number=len(sample.cpu.cores))


def _cpu_lacks(sample: HostSample) -> Lack:
    total = None if sample.cpu is None else sample.cpu.total
    names = [name for name in ("iowait", "steal") if total is not None and getattr(total, name) is None]
    return Lack(Message("this system does not report {names}", names=listed(names))) if names else Lack()


def _load(sample: HostSample) -> Text:
    return "" if sample.scheduler is None else Message("load {value:.2f}", value=sample.scheduler.load1)


def _memory(sample: HostSample) -> Text:
    return "" if sample.memory is None else f"{sample.memory.total_kb // 1024} MB"


def _memory_lacks(sample: HostSample) -> Lack:
    if sample.memory is None or sample.memory.available_kb is not None:
        return Lack()
    return Lack(Message("no MemAvailable: the kernel is older than 3.14"))


def _swap(sample: HostSample) -> Text:
    if sample.swap is None:
        return ""
    return f"{sample.swap.total_kb // 1024} MB" if sample.swap.total_kb else Message("there is none")


def _traffic(sample: HostSample) -> Text:
    return "" if sample.paging is None else listed((Message("swap traffic"), Message("major faults")))


def _pressure(sample: HostSample) -> Text:
    return "" if sample.pressure is None else Message("stalls of CPU, memory and I/O")


def _disks(sample: HostSample) -> Text:
    return ", ".join(disk.name for disk in sample.disks or ())


def _networks(sample: HostSample) -> Text:
    lines = sample.networks or ()
    return ", ".join(f"{net.name} ({net.link_mbit} Mbit/s)" if net.link_mbit else net.name for net in lines)


def _networks_lack(sample: HostSample) -> Lack:
    names = [net.name for net in sample.networks or () if net.link_mbit is None and net.name != "lo"]
    return Lack(Message("no line speed of {names}", names=listed(names)), fix="--link MBIT") if names else Lack()


def _tcp(sample: HostSample) -> Text:
    if sample.tcp is None:
        return ""
    return Message("overflows, retransmits; {number} listening ports", number=len(sample.tcp.listeners))


def _processes(sample: HostSample) -> Text:
    rows = sample.processes
    if not rows:
        return ""
    counts = [(group, sum(row.group == group for row in rows)) for group in PROCESS_GROUPS]
    return listed(
        Message("{number} other", number=count) if name == OTHER else f"{count} {name}"
        for name, count in counts
        if count
    )


def _cgroup(sample: HostSample) -> Text:
    group = sample.cgroup
    return "" if group is None else Message("version {number}: {path}", number=group.version, path=group.path)


def _nothing(_: HostSample) -> Lack:
    return Lack()


_Panel = tuple[Translatable, str, Callable[[HostSample], Text], Callable[[HostSample], Lack]]


def _of_kind(kind: AnyKind) -> _Panel:

    def seen(sample: HostSample) -> Text:
        readings = kind.readings(sample)
        return kind.seen(readings) if readings else ""

    return kind.title.lower(), kind.name, seen, lambda sample: kind.lacks(kind.readings(sample), sample)


_PANELS: tuple[tuple[Translatable, str, Callable[[HostSample], Text], Callable[[HostSample], Lack]], ...] = (
    ("cpu", "cpu", _cpu, _cpu_lacks),
    ("load", "scheduler", _load, _nothing),
    ("memory", "memory", _memory, _memory_lacks),
    ("swap", "swap", _swap, _nothing),
    ("paging", "paging", _traffic, _nothing),
    ("pressure", "pressure", _pressure, _nothing),
    ("disks", "disks", _disks, _nothing),
    ("networks", "networks", _networks, _networks_lack),
    ("tcp", "tcp", _tcp, _nothing),
    ("processes", "processes", _processes, _nothing),
    ("cgroup", "cgroup", _cgroup, _nothing),
    *map(_of_kind, KINDS),
)
"""Each panel with its collector, what is seen of it, and what is missing although the collector is content."""

PANELS = (*(panel for panel, *_ in _PANELS), "generator")
"""What is examined, in this order; the last only of this machine."""
