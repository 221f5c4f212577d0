"""Recordings played: at their pace, in steps, and while they are still being written."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from loadtop.analysis.totals.timeline import Span
from loadtop.diagnosis.finding import Diagnosis
from loadtop.pipeline.monitor import Clock
from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording import player as player_file
from loadtop.recording.player import SessionPlayer
from loadtop.recording.reader import Session
from loadtop.recording.recorder import Writer
from tests.unit.recording.made import META, moments, record

Record = Callable[[Path, Sequence[Snapshot]], None]


class FakeClock(Clock):
    """Time passes only in sleep; at a wall clock years after the recording, unless told otherwise."""

    def __init__(self, wall: float = 2e9) -> None:
        self.now = 0.0
        self._wall = wall

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self._wall

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


@pytest.fixture(scope="module")
def snapshots() -> list[Snapshot]:
    return moments(60)


async def test_plays_at_the_pace_of_the_test(snapshots: list[Snapshot], tmp_path: Path) -> None:
    record(tmp_path / "a.loadtop", snapshots)
    clock = FakeClock()
    shown: list[tuple[float, Snapshot]] = []
    with Session(tmp_path / "a.loadtop") as session:
        player = SessionPlayer(session, clock=clock)
        await player.run(lambda snapshot: shown.append((clock.now, snapshot)))
        assert not player.playing or not player.growing
    assert [snapshot for _, snapshot in shown] == snapshots
    assert [now for now, _ in shown] == pytest.approx([snapshot.at for snapshot in snapshots])


async def test_faster_is_faster(snapshots: list[Snapshot], tmp_path: Path) -> None:
    record(tmp_path / "a.loadtop", snapshots)
    clock = FakeClock()
    with Session(tmp_path / "a.loadtop") as session:
        player = SessionPlayer(session, clock=clock)
        player.faster(up=True)
        await player.run(lambda _: None)
        for _ in range(20):
            player.faster(up=False)
        assert player.speed == 0.25
    assert clock.now == pytest.approx(snapshots[-1].at / 2)


async def test_a_recording_that_grows_is_followed(snapshots: list[Snapshot], tmp_path: Path) -> None:
    path = tmp_path / "a.loadtop"
    writer = Writer(path, META)
    for snapshot in snapshots[:5]:
        writer.take(snapshot)
    writer.write()
    waiting = iter(snapshots[5:])
    shown: list[Snapshot] = []

    class BusyClock(FakeClock):
        """While the player waits, the test continues."""

        def wall(self) -> float:
            return 1.8e9 if len(shown) < len(snapshots) else 2e9

        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            snapshot = next(waiting, None)
            if snapshot is not None:
                writer.take(snapshot)
                writer.write()

    with Session(path) as session:
        await SessionPlayer(session, clock=BusyClock()).run(shown.append)
    writer.close()
    assert shown == snapshots


async def test_another_diagnosis_is_reported(snapshots: list[Snapshot], tmp_path: Path) -> None:
    verdict = replace(snapshots[9].diagnosis.verdict, bottleneck="steal", host="web1")
    changed = [*snapshots]
    changed[9] = Snapshot(snapshots[9].measured, Diagnosis(verdict, (verdict,)))
    record(tmp_path / "a.loadtop", changed)
    said: list[str] = []
    with Session(tmp_path / "a.loadtop") as session:
        player = SessionPlayer(session, clock=FakeClock())
        await player.run(lambda _: said.append(player.live))
    assert said == [""] * 9 + ["steal on web1"] + [""] * 50


async def test_far_jumps_keep_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    window = 120
    monkeypatch.setattr(player_file, "WINDOW", window)
    monkeypatch.setattr(player_file, "BUFFER", 2 * window)
    snapshots = moments(window + 150)
    record(tmp_path / "a.loadtop", snapshots)
    shown: list[Snapshot] = []
    before: list[tuple[float, Sequence[Span], Sequence[tuple[float, str]]]] = []

    def restarted(start: float, spans: Sequence[Span], marks: Sequence[tuple[float, str]]) -> None:
        shown.clear()
        before.append((start, spans, marks))

    frozen: list[Snapshot] = []
    arrived = asyncio.Event()

    def held(on: bool) -> None:
        if on:
            frozen.extend(shown[-1:])
        elif frozen:
            arrived.set()

    with Session(tmp_path / "a.loadtop") as session:
        player = SessionPlayer(session, stay=True, clock=FakeClock())
        player.restarted = restarted
        player.hold_screen = held
        player.playing = False
        player.seek(snapshots[-1].at)
        assert player.at == snapshots[-1].at, "the next key counts from there"
        task = asyncio.create_task(player.run(shown.append))
        await arrived.wait()
        task.cancel()
        assert [m.measured.frame for m in frozen] == [snapshots[-1].measured.frame], (
            "the moment itself stands meanwhile"
        )
        shown_then, shown_live = frozen[0].diagnosis.verdict, snapshots[-1].diagnosis.verdict
        assert (shown_then.bottleneck, shown_then.host) == (shown_live.bottleneck, shown_live.host)
        assert shown_then.since_s == shown_live.since_s, "with what was shown live"
        assert [m.measured.frame for m in shown] == [m.measured.frame for m in snapshots[-window:]]
        assert shown[-1].diagnosis == replace(snapshots[-1].diagnosis, forecast=None)
        start, spans, marks = before[-1]
        assert start == snapshots[-window].at
        assert marks == [(m.at, text) for m in snapshots[:-window] for text in m.measured.frame.marks]
        assert [span.start for span in spans] == [at for at, _, _ in session.verdict_changes() if at < start]
        assert spans[-1].end == start
        player.seek_mark(after=False)
        assert player._wanted == max(  # pyright: ignore[reportPrivateUsage]
            at for at, _ in session.marks() if at < snapshots[-1].at
        )
