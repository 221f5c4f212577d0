"""A recording outlives its writer: killed at any moment, or out of room for a while."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

from benchmarks.made_frames import made_frames
from loadtop.recording.reader import Session, result_of

ROOT = Path(__file__).resolve().parents[2]
KILLS = 4
MOMENTS = 60

WRITER = """
import resource, sys, time
from pathlib import Path
from benchmarks.made_frames import made_frames
from loadtop.pipeline.snapshot import Pipeline
from loadtop.recording.container import SessionMeta
from loadtop.recording.recorder import Recorder

path, cadence, count, limit = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
pipeline = Pipeline()
recorder = Recorder(path, meta=SessionMeta(1.8e9, ("loadtop",), "http://web1/", "0", 1.0))
print("begun", recorder.problem, flush=True)
for frame, _ in zip(made_frames(1, 50), range(count)):
    recorder.record(pipeline.snapshot(frame))
    recorder.flush()
    print(frame.number, flush=True)
    time.sleep(cadence)
    if limit and frame.number == count - 10:
        print("problem", recorder.problem, flush=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
recorder.close()
print("ended", recorder.problem, flush=True)
"""


def start(
    path: Path, cadence: float, count: int, limit: int = 0, *, out: IO[str] | None = None
) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), str(cadence), str(count), str(limit)]
    return subprocess.Popen(command, cwd=ROOT, stdout=out or subprocess.PIPE, text=True)


def written_by(said: Path) -> int:
    """The newest interval that the writer says is in the file."""
    lines = said.read_text().rpartition("\n")[0].split("\n")
    return 0 if lines[-1].startswith("begun") else int(lines[-1])


def test_whatever_the_moment_it_lacks_one_interval_at_most(tmp_path: Path) -> None:
    """A process that is stopped has left on the disk exactly what it would have left there, had it been killed then."""
    draw = random.Random(1)  # noqa: S311 - when to stop is no secret
    path, said, copies = tmp_path / "a.loadtop", tmp_path / "said", tmp_path / "copies"
    copies.mkdir()
    known = [frame for frame, _ in zip(made_frames(1, 50), range(600), strict=False)]
    found: list[tuple[int, Path]] = []
    with said.open("w") as out, start(path, 0.0, len(known), out=out) as writer:
        try:
            while not said.read_text().startswith("begun \n"):
                assert writer.poll() is None
                time.sleep(0.01)
            while len(found) < MOMENTS:
                time.sleep(draw.uniform(0, 0.012))
                writer.send_signal(signal.SIGSTOP)
                _, status = os.waitpid(writer.pid, os.WUNTRACED)
                assert os.WIFSTOPPED(status)
                copy = copies / f"{len(found)}.loadtop"
                for each in (path, path.with_name(f"{path.name}-wal")):
                    if each.exists():  # the journal comes with the first interval
                        shutil.copyfile(each, copies / each.name.replace("a.", f"{len(found)}."))
                found.append((written_by(said), copy))
                writer.send_signal(signal.SIGCONT)
        finally:
            writer.kill()
    assert len({written for written, _ in found}) > MOMENTS / 20
    for number, (written, copy) in enumerate(found):
        whole = number % 20 == 0
        with Session(copy) as session:
            count = session.count
            # The interval that was being written may be there or not, no other.
            assert count in (written, written + 1)
            first = 1 if whole else max(1, count - 2)
            assert list(session.frames(first)) == known[first - 1 : count]
            assert bool(result_of(session).roles) == (count > 0) if whole else True
            assert session.damage == []


@pytest.mark.parametrize("seed", range(KILLS))
def test_killed_at_any_moment_it_lacks_one_interval_at_most(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - when to kill is no secret
    path = tmp_path / "a.loadtop"
    writer = start(path, 0.0, 1000)
    with writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "begun \n"
        time.sleep(draw.uniform(0, 0.1 if seed % 2 else 0.7))
        writer.send_signal(signal.SIGKILL)
        said = [int(line) for line in writer.stdout.read().split()]
    written = said[-1] if said else 0
    with Session(path) as session:
        found = list(session.frames())
        assert bool(found) == bool(session.verdicts())
        assert bool(result_of(session).roles) == bool(found)
        assert session.damage == []
    assert found == [frame for frame, _ in zip(made_frames(1, 50), found, strict=False)]
    # The interval that was being written may be there or not, no other.
    assert len(found) in (written, written + 1)


def test_killed_while_it_is_made_there_is_a_recording_or_none(tmp_path: Path) -> None:
    draw = random.Random(1)  # noqa: S311 - when to kill is no secret
    for number in range(5):
        path = tmp_path / f"{number}.loadtop"
        with start(path, 0.001, 1000) as writer:
            deadline = time.monotonic() + 20
            while not path.exists() and time.monotonic() < deadline:
                time.sleep(0.0005)
            time.sleep(draw.uniform(0, 0.01))
            writer.send_signal(signal.SIGKILL)
        with Session(path) as session:
            found = list(session.frames())
            assert session.damage == []
            assert session.meta.url == "http://web1/"
        assert found == [frame for frame, _ in zip(made_frames(1, 50), found, strict=False)]


def test_a_recording_continues_when_there_is_room_again(tmp_path: Path) -> None:
    path = tmp_path / "a.loadtop"
    with start(path, 0.0, 300, limit=400_000) as writer:
        assert writer.stdout is not None
        lines = writer.stdout.read().splitlines()
    assert writer.returncode == 0
    (problem,) = (line for line in lines if line.startswith("problem"))
    assert f"cannot write to {path}: " in problem
    assert problem.endswith("not recorded yet")
    assert lines[-1] == "ended "
    with Session(path) as session:
        assert list(session.frames()) == [frame for frame, _ in zip(made_frames(1, 50), range(300), strict=False)]
        assert session.damage == []
