"""Blocks back to the samples of machines."""

import json
from typing import Any

from loadtop.model import CgroupLimits, Core, Cpu, HostFacts, HostSample, Outcome, State, Tcp
from loadtop.recording import schema
from loadtop.recording.block_reading import Block
from loadtop.recording.definitions import REMEMBERED, DamagedError, Definitions, Row, loaded_text
from loadtop.recording.schema import Part
from loadtop.recording.series import read_whole


class SampleReader:
    """Builds samples. What has not changed within a block is the same object again."""

    def __init__(self, names: dict[str, tuple[str, ...]], definitions: Definitions) -> None:
        self._names = names
        self._definitions = definitions
        self._keys: dict[tuple[str, int], dict[str, Any]] = {}
        self._machines: dict[int, tuple[str, HostFacts]] = {}
        self._outcomes: dict[int, list[tuple[str, State, str]]] = {}

    def sample(self, block: Block, number: int, host: int, head: dict[str, Any]) -> HostSample:
        """The sample that the machine had in this frame; ``head`` are the columns of its row of ``sample``."""
        at = (block, number, host)
        name, facts = self._machine(head["machine"])
        singles: dict[str, Any] = {part.name: self._one(part, *at) for part in schema.SINGLES}
        lists: dict[str, Any] = {
            attribute: self._many(part, *at) if head["measured"] >> bit & 1 else None
            for bit, (attribute, part) in enumerate(schema.LISTS.items())
        }
        servers = {kind: found for kind in schema.SERVERS if (found := lists.pop(kind)) is not None}
        return HostSample(
            host=name,
            at=head["uptime_s"],
            facts=facts,
            took_s=head["took_s"],
            cpu=self._cpu(*at),
            **singles,
            **lists,
            servers=servers,
            tcp=self._tcp(*at),
            cgroup=self._cgroup(*at),
            outcomes=self._found(*at, head["outcomes"]),
        )

    def things(self, part: Part, block: Block, number: int) -> tuple[Any, ...]:
        """The things of a part that belongs to the load, not to a machine."""
        return self._many(part, block, number, 0)

    def _cpu(self, block: Block, number: int, host: int) -> Cpu | None:
        total = self._one(schema.CPU, block, number, host)
        return None if total is None else Cpu(total, self._many(schema.CORE, block, number, host))

    def _tcp(self, block: Block, number: int, host: int) -> Tcp | None:
        values = self._values(schema.TCP, block, number, host)
        return None if values is None else Tcp(**values, listeners=self._many(schema.LISTENER, block, number, host))

    def _cgroup(self, block: Block, number: int, host: int) -> CgroupLimits | None:
        values = self._values(schema.CGROUP, block, number, host)
        if values is None:
            return None
        return CgroupLimits(**values, pressure=self._one(schema.CGROUP_PRESSURE, block, number, host))

    def _values(self, part: Part, block: Block, number: int, host: int) -> dict[str, Any] | None:
        """The columns of the only thing of its part, where there is one."""
        for line in block.there(part, host, number):
            return dict(zip(self._names[part.name], line.values[number - block.first], strict=True))
        return None

    def _one(self, part: Part, block: Block, number: int, host: int) -> Any:
        found = self._many(part, block, number, host)
        return found[0] if found else None

    def _many(self, part: Part, block: Block, number: int, host: int) -> tuple[Any, ...]:
        position = number - block.first
        things: list[Any] = []
        for line in block.there(part, host, number):
            values, made = line.values[position], line.made
            if made is None or made[0] != values:
                made = line.made = values, self._make(part, line.thing, values)
            things.append(made[1])
        return tuple(things)

    def _make(self, part: Part, thing: int, row: Row) -> Any:
        values = dict(zip(self._names[part.name], row, strict=True))
        keys = self._keys.get((part.name, thing))
        if keys is None:
            if len(self._keys) > REMEMBERED:
                self._keys.clear()
            keys = self._keys[part.name, thing] = self._named(part, thing)
        if part is schema.CORE:
            return Core(keys["id"], part.type(**values))
        return part.type(**keys, **values)

    def _named(self, part: Part, thing: int) -> dict[str, Any]:
        """The fields that tell this thing from others of its kind."""
        if not part.keys:
            return {}
        if part is schema.PROCESS:
            pid, name, group, started_ticks, _ = self._definitions.values("task", thing)
            return {
                "pid": read_whole(pid),
                "name": loaded_text(name),
                "group": str(group),
                "started_ticks": read_whole(started_ticks),
            }
        _, name, detail, _ = self._definitions.values("thing", thing)
        named = dict(zip(part.keys, (loaded_text(name), loaded_text(detail)), strict=False))
        return {key: int(text) for key, text in named.items()} if part in (schema.CORE, schema.LISTENER) else named

    def _machine(self, number: int) -> tuple[str, HostFacts]:
        """The same object for every sample of a machine, as live."""
        if number not in self._machines:
            host, hostname, source, system, kernel, cores, memory_kb, page_kb = self._definitions.values(
                "machine", number
            )
            facts = HostFacts(
                loaded_text(hostname),
                loaded_text(source),
                loaded_text(system),
                loaded_text(kernel),
                read_whole(cores),
                read_whole(memory_kb),
                read_whole(page_kb),
            )
            self._machines[number] = (loaded_text(host), facts)
        return self._machines[number]

    def _found(self, block: Block, number: int, host: int, outcomes: int) -> tuple[Outcome, ...]:
        if outcomes not in self._outcomes:
            stored = json.loads(self._definitions.values("outcomes", outcomes)[0])
            self._outcomes[outcomes] = [(collector, State(state), reason) for collector, state, reason in stored]
        lines = block.there(schema.OUTCOME, host, number)
        durations = [line.values[number - block.first][0] for line in lines]
        known = self._outcomes[outcomes]
        if len(durations) != len(known):
            raise DamagedError("collectors and their durations do not match")
        return tuple(Outcome(*outcome, seconds) for outcome, seconds in zip(known, durations, strict=True))
