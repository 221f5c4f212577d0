"""Recordings played: at their pace, in steps, and while they are still being written."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from loadtop.diagnosis.finding import Bottleneck, Diagnosis
from loadtop.moment import Moment
from loadtop.session import file
from loadtop.session import player as player_file
from loadtop.session.meta import SessionMeta
from loadtop.session.player import SessionPlayer
from loadtop.session.reader import Session
from loadtop.session.writer import Writer
from loadtop.summary.timeline import Span

Record = Callable[[Path, Sequence[Moment]], None]


class FakeClock:
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
def moments(made_moments: Callable[[int], list[Moment]]) -> list[Moment]:
    return made_moments(60)


async def test_plays_at_the_pace_of_the_test(moments: list[Moment], record: Record, tmp_path: Path) -> None:
    record(tmp_path / "a.loadtop", moments)
    clock = FakeClock()
    shown: list[tuple[float, Moment]] = []
    with Session(tmp_path / "a.loadtop") as session:
        player = SessionPlayer(session, clock=clock)
        await player.run(lambda moment: shown.append((clock.now, moment)))
        assert not player.playing or not player.growing
    assert [moment for _, moment in shown] == moments
    assert [now for now, _ in shown] == pytest.approx([moment.at for moment in moments])


async def test_faster_is_faster(moments: list[Moment], record: Record, tmp_path: Path) -> None:
    record(tmp_path / "a.loadtop", moments)
    clock = FakeClock()
    with Session(tmp_path / "a.loadtop") as session:
        player = SessionPlayer(session, clock=clock)
        player.faster(up=True)
        await player.run(lambda _: None)
        for _ in range(20):
            player.faster(up=False)
        assert player.speed == 0.25
    assert clock.now == pytest.approx(moments[-1].at / 2)


async def test_a_recording_that_grows_is_followed(moments: list[Moment], meta: SessionMeta, tmp_path: Path) -> None:
    path = tmp_path / "a.loadtop"
    file.create(path, meta)
    writer = Writer(path)
    for moment in moments[:5]:
        writer.take(moment)
    writer.write()
    waiting = iter(moments[5:])
    shown: list[Moment] = []

    class Clock(FakeClock):
        """While the player waits, the test goes on."""

        def wall(self) -> float:
            return 1.8e9 if len(shown) < len(moments) else 2e9

        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            moment = next(waiting, None)
            if moment is not None:
                writer.take(moment)
                writer.write()

    with Session(path) as session:
        await SessionPlayer(session, clock=Clock()).run(shown.append)
    writer.close()
    assert shown == moments


async def test_another_diagnosis_is_said(moments: list[Moment], record: Record, tmp_path: Path) -> None:
    verdict = replace(moments[9].diagnosis.verdict, bottleneck=Bottleneck.STEAL, host="web1")
    changed = [*moments]
    changed[9] = Moment(moments[9].measured, Diagnosis(verdict, (verdict,)))
    record(tmp_path / "a.loadtop", changed)
    said: list[str] = []
    with Session(tmp_path / "a.loadtop") as session:
        player = SessionPlayer(session, clock=FakeClock())
        await player.run(lambda _: said.append(player.live))
    assert said == [""] * 9 + ["steal on web1"] + [""] * 50


async def test_far_jumps_know_what_was_before(
    made_moments: Callable[[int], list[Moment]], record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = 120
    monkeypatch.setattr(player_file, "WINDOW", window)
    monkeypatch.setattr(player_file, "KEPT", 2 * window)
    moments = made_moments(window + 150)
    record(tmp_path / "a.loadtop", moments)
    shown: list[Moment] = []
    before: list[tuple[float, Sequence[Span], Sequence[tuple[float, str]]]] = []

    def restarted(start: float, spans: Sequence[Span], marks: Sequence[tuple[float, str]]) -> None:
        shown.clear()
        before.append((start, spans, marks))

    frozen: list[Moment] = []
    arrived = asyncio.Event()

    def held(on: bool) -> None:
        if on:
            frozen.extend(shown[-1:])
        elif frozen:
            arrived.set()

    with Session(tmp_path / "a.loadtop") as session:
        player = SessionPlayer(session, stay=True, clock=FakeClock())
        player.restarted = restarted
        player.held = held
        player.playing = False
        player.seek(moments[-1].at)
        assert player.at == moments[-1].at, "the next key counts from there"
        task = asyncio.create_task(player.run(shown.append))
        await arrived.wait()
        task.cancel()
        assert [m.measured.frame for m in frozen] == [moments[-1].measured.frame], "the moment itself stands meanwhile"
        assert frozen[0].diagnosis == moments[-1].diagnosis, "with what was shown live"
        assert [m.measured.frame for m in shown] == [m.measured.frame for m in moments[-window:]]
        assert shown[-1].diagnosis == moments[-1].diagnosis
        start, spans, marks = before[-1]
        assert start == moments[-window].at
        assert marks == [(m.at, text) for m in moments[:-window] for text in m.measured.frame.marks]
        assert [span.start for span in spans] == [at for at, _, _ in session.verdict_changes() if at < start]
        assert spans[-1].end == start
        player.seek_mark(after=False)
        assert player._wanted == max(  # pyright: ignore[reportPrivateUsage]
            at for at, _ in session.marks() if at < moments[-1].at
        )
