"""A file system that is really full: the test continues, and what was measured is written once there is room."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.program import find_program

ROOT = Path(__file__).resolve().parents[2]
NEEDS_ROOT = "this test mounts a small file system: it needs root on Linux"

PROGRAM = """
import itertools, sys
from pathlib import Path
from benchmarks.made_frames import made_frames
from loadtop.servers.registry import KINDS, VERDICTS, DEMANDS
from loadtop.diagnosis.diagnoser import Diagnoser
from loadtop.rates.measured import Measurer
from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording.container import SessionMeta
from loadtop.recording.reader import Session
from loadtop.recording.recorder import Recorder

folder = Path(sys.argv[1])
path, filler = folder / "a.loadtop", folder / "filler"
known = list(itertools.islice(made_frames(1, 50), 120))
measurer, diagnoser = Measurer(KINDS), Diagnoser(VERDICTS, DEMANDS)
meta = SessionMeta(1.8e9, ("loadtop",), "http://web1/", "0", 1.0)
recorder = Recorder(path, meta=meta)


def record(frames):
    for frame in frames:
        measured = measurer.measure(frame)
        recorder.record(Snapshot(measured, diagnoser.diagnose(measured)))
        recorder.flush()
    print(recorder.problem)


def fill():
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError as error:
            assert error.errno == 28


record(known[:40])
fill()
record(known[40:100])
with Session(path) as session:
    whole = list(session.frames())
    print(whole == known[: len(whole)], 40 <= len(whole) < 100, session.damage)
print(Recorder(folder / "b.loadtop", meta=meta).problem)
filler.unlink()
record(known[100:])
recorder.close()
print(recorder.problem)
with Session(path) as session:
    print(list(session.frames()) == known, session.damage, sorted(each.name for each in folder.iterdir()))
"""


def test_a_full_file_system_loses_nothing_once_there_is_room(tmp_path: Path) -> None:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.fail(NEEDS_ROOT, pytrace=False)
    mount = f"mount -t tmpfs -o size=3m tmpfs {tmp_path} && exec {sys.executable} -c {shlex.quote(PROGRAM)} {tmp_path}"
    unshare = find_program("unshare", install="apt-get install util-linux")
    done = subprocess.run([unshare, "-m", "sh", "-c", mount], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "a.loadtop"
    before, full, read_meanwhile, another, after, closed, read = done.stdout.splitlines()
    assert (before, after, closed) == ("", "", "")
    assert full.startswith(f"cannot write to {path}: the disk is full; ")
    assert full.endswith("intervals are not recorded yet")
    assert read_meanwhile == "True True []"
    assert another in {
        f"cannot record to {tmp_path / 'b.loadtop'}: {words}"
        for words in ("the disk is full", "No space left on device")
    }
    assert read == "True [] ['a.loadtop']"
