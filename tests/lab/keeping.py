"""Recordings of the lab as fixtures: the same raw counters, small, and without what is of this machine only."""

import contextlib
import lzma
import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

from loadtop.model import OTHER, Frame, HostFacts, HostSample, HostState, Process
from loadtop.pipeline.snapshot import snapshots
from loadtop.recording.container import SessionMeta
from loadtop.recording.reader import Session
from loadtop.recording.recorder import Recorder

SUFFIX = ".loadtop.xz"


def keep_small(recording: Path, keep: Path) -> None:
    """Write the recording anew to ``keep``, compressed: names of processes that are no part of the test, of the machine
    and its kernel, of control groups, reasons and the command line are left."""
    keep.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / "copy.loadtop"
        with Session(recording) as session:
            meta = SessionMeta(0.0, ("lab",), session.meta.url, session.meta.version, session.meta.interval_s, "lab")
            recorder = Recorder(copy, meta=meta)
            facts: dict[str, HostFacts] = {}
            for snapshot in snapshots(_neutral(frame, facts) for frame in session.frames()):
                recorder.record(snapshot)
            recorder.close()
        keep.write_bytes(compressed(copy))


def compressed(recording: Path) -> bytes:
    """Return the bytes to keep of a recording that is not being written; its file becomes smaller too."""
    with contextlib.closing(sqlite3.connect(recording, isolation_level=None)) as connection:
        for command in ("DELETE FROM totals", "PRAGMA journal_mode = DELETE", "PRAGMA page_size = 512", "VACUUM"):
            connection.execute(command)
    return lzma.compress(recording.read_bytes(), preset=9 | lzma.PRESET_EXTREME)


def unpack(kept: Path, directory: Path) -> Path:
    """The recording that was kept, ready to be read."""
    recording = directory / kept.name.removesuffix(".xz")
    recording.write_bytes(lzma.decompress(kept.read_bytes()))
    return recording


def _neutral(frame: Frame, facts: dict[str, HostFacts]) -> Frame:
    return replace(frame, hosts=tuple(_neutral_host(host, facts) for host in frame.hosts))


def _neutral_host(host: HostState, facts: dict[str, HostFacts]) -> HostState:
    sample = host.sample
    if sample is None:
        return host
    # The same object in every sample, as collectors have it.
    known = facts.setdefault(host.name, replace(sample.facts, hostname="lab", kernel=sample.facts.kernel[:3]))
    processes = None if sample.processes is None else tuple(map(_neutral_process, sample.processes))
    group = None if sample.cgroup is None else replace(sample.cgroup, path="/lab")
    outcomes = tuple(replace(outcome, reason="") for outcome in sample.outcomes)
    neutral: HostSample = replace(sample, facts=known, processes=processes, cgroup=group, outcomes=outcomes)
    return replace(host, sample=neutral)


def _neutral_process(process: Process) -> Process:
    return replace(process, name="other") if process.group == OTHER else process
