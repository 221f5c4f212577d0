"""What can be read of a machine, what cannot, and the fix: from one of its samples, panel by panel."""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from loadtop.analysis.statistic import Json
from loadtop.i18n import Message, Text, Translatable, TranslatableEnum, listed, verbatim
from loadtop.model import OTHER, Cause, HostSample, Outcome, State
from loadtop.model.places import EXEC, LOCAL
from loadtop.servers.kind import Lack
from loadtop.servers.registry import KINDS, PROCESS_GROUPS

SCHEMA = "loadtop.doctor/1"

FILES = 8192  # descriptors that a generator should have at least: more than most tests have connections
PORTS = 28_000  # local ports Linux gives by default (32768 to 60999), rounded down; a used one is taken for 60 s more

_Seen = tuple[str, Text, Lack]  # a collector, what is seen by it, and what is missing although it is content


class Health(TranslatableEnum):
    """How much of a panel there is. ``none`` is nothing of the kind on that machine, which needs no fix."""

    OK = "ok"
    PARTLY = "partial"
    MISSING = "missing"
    NONE = "none"


class Check(Struct, frozen=True):
    """One panel: what is seen, what is missing and why, and what to paste or type where there is something."""

    panel: str
    health: Health
    seen: Text = ""
    missing: Text = ""
    fix: Text = ""

    def as_json(self) -> Json:
        return {name: str(getattr(self, name)) or None for name in ("panel", "health", "seen", "missing", "fix")}


class Report(Struct, frozen=True):
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
    known = {collector: (seen, lack) for collector, seen, lack in (*_resources(sample), *_users(sample))}
    for panel, collector in _COLLECTORS.items():
        outcome = outcomes.get(collector, Outcome(collector, State.ABSENT, Message("not read")))
        found, lack = known.get(collector, ("", Lack()))
        if outcome.cause is Cause.NOTHING and not found:
            yield Check(panel, Health.NONE, missing=outcome.reason)
        elif outcome.state is not State.OK or not found:
            health = Health.PARTLY if found else Health.MISSING
            yield Check(panel, health, found, outcome.reason or Message("not read"), _fix(outcome, sample))
        else:
            missing = outcome if outcome.reason else lack
            health = Health.PARTLY if missing.reason else Health.OK
            yield Check(panel, health, found, missing.reason, _fix(missing, sample))


def _fix(lack: Outcome | Lack, sample: HostSample) -> Text:
    if lack.fix:
        return lack.fix
    root = _root(sample.host, sample.facts.source)
    if lack.cause is Cause.ROOT:
        return root
    if lack.cause is Cause.SOCKET:
        return Message(
            "{root}   (or add the user to the group that owns that socket: usermod -aG GROUP USER)", root=root
        )
    return ""


def _root(host: str, source: str) -> Text:
    """How to watch a host as root."""
    if source == LOCAL:
        return "sudo loadtop ..."
    if source.startswith(EXEC):
        return Message("start that shell as root (docker exec -u root, sudo nsenter)")
    return f"--host {host}=ssh://root@{source.removeprefix('ssh://').rpartition('@')[2]}"


def generator(files: int | None, ports: int | None) -> Check:
    """Whether this machine can hold many connections: the most descriptors of a process, and local ports."""
    lacks: list[Message] = []
    fixes: list[Message] = []
    if files is not None and files < FILES:
        lacks.append(Message("more than {files} connections per process need more file descriptors", files=files))
        fixes.append(
            Message('echo "* hard nofile 65536" | sudo tee -a /etc/security/limits.conf   (then log in again)')
        )
    if ports is not None and ports < PORTS:
        text = "only {ports} local ports, for about {rate} new connections/s if loadtop, not the server, closes them"
        lacks.append(Message(text, ports=ports, rate=ports // 60))
        fixes.append(verbatim('sudo sysctl -w net.ipv4.ip_local_port_range="1024 65535"'))
    told = [Message("{number} descriptors", number=files)] if files is not None else []
    told += [Message("{number} ports", number=ports)] if ports is not None else []
    seen = listed(told) if told else Message("limits are unknown")
    if not lacks:
        return Check("generator", Health.OK, seen)
    fix = Message("{first}\n{second}", first=fixes[0], second=fixes[1]) if len(fixes) > 1 else fixes[0]
    return Check("generator", Health.PARTLY, seen, listed(lacks), fix)


def _resources(sample: HostSample) -> Iterator[_Seen]:
    if sample.cpu is not None:
        names = [name for name in ("iowait", "steal") if getattr(sample.cpu.total, name) is None]
        lack = Lack(Message("this system does not report {names}", names=listed(names))) if names else Lack()
        yield "cpu", Message("{number} cores", number=len(sample.cpu.cores)), lack
    if sample.scheduler is not None:
        yield "scheduler", Message("load {value:.2f}", value=sample.scheduler.load1), Lack()
    if sample.memory is not None:
        old = sample.memory.available_kb is None
        lack = Lack(Message("no MemAvailable: the kernel is older than 3.14")) if old else Lack()
        yield "memory", f"{sample.memory.total_kb // 1024} MB", lack
    if sample.swap is not None:
        total = sample.swap.total_kb
        yield "swap", f"{total // 1024} MB" if total else Message("none"), Lack()
    if sample.paging is not None:
        yield "paging", listed((Message("swap traffic"), Message("major faults"))), Lack()
    if sample.pressure is not None:
        yield "pressure", Message("CPU, memory and I/O stalls"), Lack()


def _users(sample: HostSample) -> Iterator[_Seen]:
    yield "disks", ", ".join(disk.name for disk in sample.disks or ()), Lack()
    nets = sample.networks or ()
    names = [net.name for net in nets if net.sends_mbit is None and net.name != "lo"]
    lack = Lack(Message("unknown link speed of {names}", names=listed(names)), fix="--link MBIT") if names else Lack()
    shown = (f"{net.name} ({net.sends_mbit:g} Mbit/s)" if net.sends_mbit else net.name for net in nets)
    yield "networks", ", ".join(shown), lack
    if sample.tcp is not None:
        text = "overflows, retransmits; {number} listening ports"
        yield "tcp", Message(text, number=len(sample.tcp.listeners)), Lack()
    if sample.processes:
        groups = Counter(row.group for row in sample.processes)
        known = (
            Message("{number} other", number=groups[name]) if name == OTHER else f"{groups[name]} {name}"
            for name in PROCESS_GROUPS
            if groups[name]
        )
        yield "processes", listed(known), Lack()
    if sample.cgroup is not None:
        text = "version {number}: {path}"
        paths = [each.path for each in (sample.cgroup, *sample.more_cgroups)]
        yield "cgroup", Message(text, number=sample.cgroup.version, path=", ".join(paths)), Lack()
    for kind in KINDS:
        if readings := kind.readings(sample):
            yield kind.name, kind.seen(readings), kind.lacks(readings, sample)


_RESOURCES: tuple[Translatable, ...] = ("cpu", "load", "memory", "swap", "paging", "pressure")
_USERS: tuple[Translatable, ...] = ("disks", "networks", "tcp", "processes", "cgroup")
_KINDS = {kind.title.lower(): kind.name for kind in KINDS}
_COLLECTORS = {name: name for name in (*_RESOURCES, *_USERS)} | {"load": "scheduler"} | _KINDS
"""The collector of each panel."""

PANELS = (*_COLLECTORS, "generator")  # what is examined, in this order; the last only of this machine
