"""Blocks back to frames and diagnoses."""

from collections.abc import Callable
from typing import Any

from loadtop.diagnosis.finding import Diagnosis
from loadtop.model import (
    Distribution,
    Failures,
    Frame,
    GeneratorSample,
    HostSample,
    HostState,
    Latencies,
    LoadSample,
    ServerSeen,
)
from loadtop.recording import schema
from loadtop.recording.block_reading import Block, Line
from loadtop.recording.claims import decode_diagnosis
from loadtop.recording.definitions import DamagedError, Definitions, Row, loaded_text
from loadtop.recording.packing import unpack_histogram
from loadtop.recording.sample_reading import SampleReader
from loadtop.recording.schema import LATENCIES, Part
from loadtop.recording.series import read_real, read_whole

Find = Callable[[int], Block]
"""The block that another frame is in. Raises DamagedError or sqlite3.Error where it cannot be read."""


class FrameReader:
    """Builds frames; it keeps the newest sample of each machine."""

    def __init__(self, names: dict[str, tuple[str, ...]], definitions: Definitions, find: Find) -> None:
        self._names = names
        self._definitions = definitions
        self._find = find
        self._samples = SampleReader(names, definitions)
        self._newest: dict[int, tuple[int, HostSample]] = {}

    def frame(self, block: Block, number: int) -> Frame:
        """The frame as it was recorded. Raises DamagedError, and sqlite3.Error for what it leans on."""
        try:
            shown, at, wall = _only(block, number)[:3]
            return Frame(
                number=read_whole(shown),
                at=read_real(at),
                wall=read_real(wall),
                load=self._load(block, number),
                hosts=tuple(self._state(block, number, line) for line in block.there(schema.SAMPLE, 0, number)),
                marks=tuple(loaded_text(row[1]) for row in block.frames.get(("mark", number), ())),
            )
        except (KeyError, ValueError, TypeError, IndexError, RecursionError) as error:
            raise DamagedError(f"its rows contradict each other ({error})") from error

    def at(self, block: Block, number: int) -> float:
        """Seconds of the session. Raises DamagedError."""
        at: float = read_real(_only(block, number)[1])
        return at

    def diagnosis(self, block: Block, number: int) -> Diagnosis:
        """What was shown live. Raises DamagedError."""
        return decode_diagnosis(_only(block, number)[3], block.frames.get(("finding", number), []), self._definitions)

    def _state(self, block: Block, number: int, line: Line) -> HostState:
        head = self._values(schema.SAMPLE, block, number, line)
        name, role, _ = self._definitions.values("host", line.thing)
        sample = None
        if head["back"] is not None:
            sample = self._sample(block, number - head["back"], line.thing)
        return HostState(loaded_text(name), loaded_text(role), sample, head["fresh"], head["problem"])

    def _sample(self, block: Block, number: int, host: int) -> HostSample:
        newest = self._newest.get(host)
        if newest is not None and newest[0] == number:
            return newest[1]
        if number < block.first:
            block = self._find(number)
        for line in block.there(schema.SAMPLE, 0, number):
            if line.thing == host:
                head = self._values(schema.SAMPLE, block, number, line)
                sample = self._samples.sample(block, number, host, head)
                self._newest[host] = (number, sample)
                return sample
        raise DamagedError("a sample is missing")

    def _load(self, block: Block, number: int) -> LoadSample | None:
        load = self._one(schema.LOAD, block, number)
        if load is None:
            return None
        generator = self._one(schema.GENERATOR, block, number)
        workers = tuple(line.values[number - block.first][0] for line in block.there(schema.WORKER, 0, number))
        server = self._one(schema.SERVER, block, number)
        failures = self._one(schema.FAILURES, block, number)
        return LoadSample(
            **load,
            failures=None if failures is None else Failures(**failures),
            latencies=_latencies(block.frames.get(("latency_histogram", number), [])),
            generator=None if generator is None else GeneratorSample(worker_cpu_s=workers, **generator),
            server=None if server is None else self._server(server["server"]),
            stated=self._samples.things(schema.STATED, block, number),
            workers=self._samples.things(schema.ENGINE_WORKER, block, number),
        )

    def _one(self, part: Part, block: Block, number: int) -> dict[str, Any] | None:
        for line in block.there(part, 0, number):
            return self._values(part, block, number, line)
        return None

    def _values(self, part: Part, block: Block, number: int, line: Line) -> dict[str, Any]:
        return dict(zip(self._names[part.name], line.values[number - block.first], strict=True))

    def _server(self, number: int) -> ServerSeen:
        software, hostname, port, path, document_bytes, *more = self._definitions.values("server", number)
        return ServerSeen(
            loaded_text(software),
            loaded_text(hostname),
            read_whole(port),
            loaded_text(path),
            read_whole(document_bytes),
            *(loaded_text(text) for text in more),
        )


def _only(block: Block, number: int) -> Row:
    rows = block.frames.get(("frame", number))
    if not rows:
        raise DamagedError("it is missing, or rows of it are")
    return rows[0]


def _latencies(rows: list[Row]) -> Latencies | None:
    found: dict[str, Distribution] = {LATENCIES[row[0]]: _distribution(row[1:]) for row in rows}
    return Latencies(**found) if found else None


def _distribution(row: Row) -> Distribution:
    count, sum_us, sum_squares_us2, min_us, max_us = (read_whole(number) for number in row[:5])
    return Distribution(count, sum_us, sum_squares_us2, min_us, max_us, *unpack_histogram(row[5]))
