"""Recordings of the lab as fixtures: the same raw counters, small, and without what is of this machine only."""

import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from loadtop.model import OTHER, Frame, HostFacts, HostSample, HostState, Process
from loadtop.pipeline.snapshot import snapshots
from loadtop.recording import codec
from loadtop.recording.container import SessionMeta
from loadtop.recording.reader import Session
from loadtop.recording.recorder import Recorder

SUFFIX = ".frames.xz"


class Kept(NamedTuple):
    """What a file has, as MessagePack compressed with xz."""

    url: str
    version: str
    interval_s: float
    frames: list[bytes]


def keep_small(recording: Path, keep: Path) -> None:
    """Write the frames of the recording to ``keep``: names of processes that are no part of the test, of the machine
    and its kernel, of control groups, reasons and the command line are left."""
    keep.parent.mkdir(parents=True, exist_ok=True)
    facts: dict[str, HostFacts] = {}
    with Session(recording) as session:
        frames = [codec.encode(_neutral(frame, facts)) for frame in session.frames()]
        kept = Kept(session.meta.url, session.meta.version, session.meta.interval_s, frames)
    keep.write_bytes(lzma.compress(msgspec.msgpack.encode(kept), preset=9 | lzma.PRESET_EXTREME))


def _read(kept: Path) -> Kept:
    return msgspec.msgpack.decode(lzma.decompress(kept.read_bytes()), type=Kept)


def kept_frames(kept: Path) -> Iterator[Frame]:
    """The frames that were kept."""
    return map(codec.decode, _read(kept).frames)


def unpack(kept: Path, directory: Path) -> Path:
    """A recording of the frames that were kept."""
    what, recording = _read(kept), directory / kept.name.replace(SUFFIX, ".loadtop")
    meta = SessionMeta(0.0, ("lab",), what.url, what.version, what.interval_s, "lab")
    recorder = Recorder(recording, meta=meta)
    for snapshot in snapshots(map(codec.decode, what.frames)):
        recorder.record(snapshot)
    recorder.close()
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
    groups = tuple(replace(each, path=f"/lab{number}") for number, each in enumerate(sample.more_cgroups))
    outcomes = tuple(replace(outcome, reason="") for outcome in sample.outcomes)
    neutral: HostSample = replace(
        sample, facts=known, processes=processes, cgroup=group, more_cgroups=groups, outcomes=outcomes
    )
    return replace(host, sample=neutral)


def _neutral_process(process: Process) -> Process:
    return replace(process, name="other") if process.group == OTHER else process
