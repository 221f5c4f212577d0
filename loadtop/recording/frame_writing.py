"""Moments as rows."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loadtop.model import Distribution, Frame, HostSample, HostState, LoadSample, Outcome, Process, ServerSeen
from loadtop.model.secrets import url_without_secrets
from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording import schema
from loadtop.recording.block_writing import BlockWriter
from loadtop.recording.claims import encode_diagnosis
from loadtop.recording.definitions import REMEMBERED, Numbering, Row, stored_text, summed
from loadtop.recording.packing import pack_histogram
from loadtop.recording.schema import KINDS, LATENCIES, Part
from loadtop.recording.series import real, whole

TableRow = tuple[str, Row]


@dataclass(slots=True)
class _Machine:
    """Where the newest samples of one machine are: the last one written, and the last that was fresh."""

    sample: HostSample | None = None
    frame: int = 0
    fresh: int | None = None


class FrameWriter:
    """Turns moments into rows. A row replaces the one before it that has the same primary key."""

    def __init__(self, numbering: Numbering) -> None:
        self._numbering = numbering
        self._blocks = BlockWriter(numbering)
        self._machines: dict[int, _Machine] = {}
        self._known_tasks: dict[Row, int] = {}

    def begin(self, number: int) -> list[TableRow]:
        """What comes next is frame ``number`` of the file. Where it begins a block: all rows of the one before."""
        return self._blocks.begin(number)

    def write(self, number: int, snapshot: Snapshot) -> list[TableRow]:
        """All rows of the moment, without the definitions they refer to."""
        frame = snapshot.measured.frame
        findings, found = encode_diagnosis(snapshot.diagnosis, self._numbering)
        rows: list[TableRow] = [("finding", summed((number, *row))) for row in found]
        for position, text in enumerate(frame.marks):
            rows.append(("mark", summed((number, position, stored_text(url_without_secrets(text))))))
        self._write_load(frame.load)
        if frame.load is not None and frame.load.latencies is not None:
            for kind, name in enumerate(LATENCIES):
                distribution: Distribution | None = getattr(frame.load.latencies, name)
                if distribution is not None:
                    rows.append(("latency_histogram", summed((number * KINDS + kind, *_histogram(distribution)))))
        self._write_hosts(number, frame)
        head = (number, whole(frame.number), real(frame.at), real(frame.wall), findings)
        rows.append(("frame", summed((*head, len(rows), self._blocks.lines))))
        return rows + self._blocks.rows()

    def _write_load(self, load: LoadSample | None) -> None:
        put = self._blocks.put_object
        put(schema.LOAD, 0, load)
        put(schema.FAILURES, 0, None if load is None else load.failures)
        generator = None if load is None else load.generator
        put(schema.GENERATOR, 0, generator)
        self._put_list(schema.STATED, 0, () if load is None else load.stated)
        self._put_list(schema.ENGINE_WORKER, 0, () if load is None else load.workers)
        workers = () if generator is None else generator.worker_cpu_s
        self._blocks.put(schema.WORKER, 0, list(range(len(workers))), [(cpu_s,) for cpu_s in workers])
        server = None if load is None else load.server
        numbers = [] if server is None else [self._server(server)]
        self._blocks.put(schema.SERVER, 0, [0] * len(numbers), [(number,) for number in numbers])

    def _write_hosts(self, number: int, frame: Frame) -> None:
        seen: dict[tuple[str, str], int] = {}
        hosts: list[int] = []
        for state in frame.hosts:
            nth = seen[state.name, state.role] = seen.get((state.name, state.role), -1) + 1
            host = self._numbering.number("host", stored_text(state.name), stored_text(state.role), nth)
            hosts.append(host)
        rows = [self._write_state(number, host, state) for host, state in zip(hosts, frame.hosts, strict=True)]
        self._blocks.put(schema.SAMPLE, 0, hosts, rows)

    def _write_state(self, number: int, host: int, state: HostState) -> Row:
        """The columns of ``sample``; where the machine has a new one, its parts are written as well."""
        machine = self._machines.setdefault(host, _Machine())
        head = (int(state.fresh), self._blocks.text(str(state.problem)))
        sample = state.sample
        if sample is None:
            return (*head, None, None, 0, 0, 0, 0.0, 0.0)
        if sample is machine.sample:
            return (*head, number - machine.frame, None, 0, 0, 0, 0.0, 0.0)
        previous = None if machine.fresh is None else number - machine.fresh
        machine.sample, machine.frame = sample, number
        if state.fresh:
            machine.fresh = number
        self._write_sample(host, sample)
        measured = sum(1 << bit for bit, name in enumerate(schema.LISTS) if _list(sample, name) is not None)
        known = [[o.collector, o.state, url_without_secrets(str(o.reason))] for o in sample.outcomes]
        outcomes = self._numbering.number("outcomes", json.dumps(known, separators=(",", ":")))
        return (*head, 0, previous, measured, self._machine(sample), outcomes, sample.at, sample.took_s)

    def _write_sample(self, host: int, sample: HostSample) -> None:
        put = self._blocks.put_object
        cpu, tcp, cgroup = sample.cpu, sample.tcp, sample.cgroup
        put(schema.CPU, host, None if cpu is None else cpu.total)
        cores = () if cpu is None else cpu.cores
        numbers = self._things(schema.CORE, cores)
        self._blocks.put(schema.CORE, host, numbers, [self._blocks.values(schema.CORE, core.times) for core in cores])
        for part in schema.SINGLES:
            put(part, host, getattr(sample, part.name))
        put(schema.TCP, host, tcp)
        self._put_list(schema.LISTENER, host, () if tcp is None else tcp.listeners)
        put(schema.CGROUP, host, cgroup)
        put(schema.CGROUP_PRESSURE, host, None if cgroup is None else cgroup.pressure)
        for attribute, part in schema.LISTS.items():
            if part is not schema.PROCESS:
                self._put_list(part, host, _list(sample, attribute) or ())
        processes = sample.processes or ()
        values = [self._blocks.values(schema.PROCESS, process) for process in processes]
        self._blocks.put(schema.PROCESS, host, self._tasks(processes), values)
        self._put_outcomes(host, sample.outcomes)

    def _put_list(self, part: Part, host: int, things: Sequence[object]) -> None:
        numbers = self._things(part, things)
        self._blocks.put(part, host, numbers, [self._blocks.values(part, thing) for thing in things])

    def _put_outcomes(self, host: int, outcomes: tuple[Outcome, ...]) -> None:
        durations = [(outcome.duration_s,) for outcome in outcomes]
        self._blocks.put(schema.OUTCOME, host, list(range(len(durations))), durations)

    def _things(self, part: Part, things: Iterable[object]) -> list[int]:
        """Their numbers; two of the same name are told apart by their order."""
        seen: dict[tuple[str, str], int] = {}
        numbers: list[int] = []
        for thing in things:
            names = [str(getattr(thing, key)) for key in part.keys]
            name, detail = names[0], names[1] if len(names) > 1 else ""
            nth = seen[name, detail] = seen.get((name, detail), -1) + 1
            stored = stored_text(url_without_secrets(name))
            numbers.append(self._numbering.number("thing", part.name, stored, stored_text(detail), nth))
        return numbers

    def _tasks(self, processes: Sequence[Process]) -> list[int]:
        """Their numbers. The usual case, in which all are known and none is there twice, has to be quick."""
        known = self._known_tasks.get
        found = [known((p.pid, p.started_ticks, p.name, p.group)) for p in processes]
        numbers = [number for number in found if number is not None]
        if len(set(numbers)) == len(found):
            return numbers
        if len(self._known_tasks) >= REMEMBERED:
            self._known_tasks.clear()
        seen: dict[Row, int] = {}
        numbers.clear()
        for process in processes:
            key = (process.pid, process.started_ticks, process.name, process.group)
            nth = seen[key] = seen.get(key, -1) + 1
            name = stored_text(process.name)
            values = (whole(process.pid), name, process.group, whole(process.started_ticks), nth)
            numbers.append(self._numbering.number("task", *values))
            self._known_tasks.setdefault(key, numbers[-1])
        return numbers

    def _machine(self, sample: HostSample) -> int:
        facts = sample.facts
        return self._numbering.number(
            "machine",
            stored_text(sample.host),
            stored_text(facts.hostname),
            stored_text(url_without_secrets(facts.source)),
            stored_text(facts.system),
            stored_text(facts.kernel),
            whole(facts.cores),
            None if facts.memory_kb is None else whole(facts.memory_kb),
            whole(facts.page_kb),
        )

    def _server(self, seen: ServerSeen) -> int:
        return self._numbering.number(
            "server",
            stored_text(seen.software),
            stored_text(seen.hostname),
            whole(seen.port),
            stored_text(url_without_secrets(seen.path)),
            None if seen.document_bytes is None else whole(seen.document_bytes),
            stored_text(seen.tls),
            stored_text(seen.tls_key),
            stored_text(seen.tls_name),
            stored_text(seen.proxy),
        )


def _histogram(distribution: Distribution) -> Row:
    return (
        whole(distribution.count),
        whole(distribution.sum_us),
        whole(distribution.sum_squares_us2),
        whole(distribution.min_us),
        whole(distribution.max_us),
        pack_histogram(distribution.buckets, distribution.counts),
    )


def _list(sample: HostSample, name: str) -> Sequence[object] | None:
    return sample.servers.get(name) if name in schema.SERVERS else getattr(sample, name)
