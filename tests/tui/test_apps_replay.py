"""A replay shows what was shown live, wherever one jumps to."""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from loadtop.model import Profile
from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording.container import SessionMeta
from loadtop.recording.player import SessionPlayer
from loadtop.recording.reader import Session
from loadtop.recording.recorder import Writer
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import moments
from tests.tui.stage import lines_of, running, text_of
from tui.apps.replay import ReplayCockpit, time_of
from tui.drawing.appearance import Appearance
from tui.screens.profile import ProfileScreen

SIZE = (120, 40)


@pytest.fixture(scope="module")
def snapshots() -> Sequence[Snapshot]:
    first, *others = moments("swap")
    frame = replace(first.measured.frame, profiles=(Profile("web1", "perf", (("httpd;md5", 4),)),))
    return [replace(first, measured=replace(first.measured, frame=frame)), *others]


@pytest.fixture(scope="module")
def path(snapshots: Sequence[Snapshot], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replay") / "swap.loadtop"
    writer = Writer(path, SessionMeta(1.8e9, (), "http://web1/", "0.1.0", 1.0))
    for snapshot in snapshots:
        writer.take(snapshot)
        writer.write()
    writer.close()
    return path


@asynccontextmanager
async def replayed(
    path: Path, appearance: Appearance
) -> AsyncGenerator[tuple[ReplayCockpit, Callable[..., Awaitable[None]]]]:
    with Session(path) as session:
        app = ReplayCockpit(SessionPlayer(session, stay=True), appearance=appearance)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.press("space")

            async def press(*keys: str) -> None:
                await pilot.press(*keys)
                await pilot.pause()

            yield app, press
            await app.reader.close()


async def live_picture(snapshots: Sequence[Snapshot], appearance: Appearance) -> list[str]:
    async with running(FakeFeed(snapshots), appearance, SIZE) as (app, _):
        return panels(lines_of(app))


def panels(lines: list[str]) -> list[str]:
    """Without the first line (what is shown: a test, a recording) and the last (the keys)."""
    return lines[1:-1]


async def test_picture_is_the_live_one(snapshots: Sequence[Snapshot], path: Path, appearance: Appearance) -> None:
    order = [len(snapshots), 12, 30, 3, len(snapshots) - 1]
    async with replayed(path, appearance) as (app, press):
        for count in order:
            app.player.seek(snapshots[count - 1].at)
            await press()
            shown = panels(lines_of(app))
            assert shown == await live_picture(snapshots[:count], appearance), count
            assert app.player.live == ""
            assert "00:" not in lines_of(app)[0], "the time is in the last line"


async def test_steps_there_and_back(snapshots: Sequence[Snapshot], path: Path, appearance: Appearance) -> None:
    async with replayed(path, appearance) as (app, press):
        app.player.seek(snapshots[9].at)
        await press("right", "right")
        await press("left")
        assert app.player.at == snapshots[10].at
        assert panels(lines_of(app)) == await live_picture(snapshots[:11], appearance)


async def test_keys_move_in_time(snapshots: Sequence[Snapshot], path: Path, appearance: Appearance) -> None:
    async with replayed(path, appearance) as (app, press):
        await press("end")
        assert app.player.at == snapshots[-1].at
        await press("home")
        assert app.player.at == snapshots[0].at
        await press("v")
        change = app.player.at
        first = snapshots[0].diagnosis.verdict.bottleneck
        assert change == next(m.at for m in snapshots if m.diagnosis.verdict.bottleneck is not first)
        await press("t", "0", ":", "0", "5", "enter")
        assert app.player.at == next(m.at for m in snapshots if m.at >= 5)
        assert "00:05 of" in lines_of(app)[-1]
        await press("plus", "space")
        assert (app.player.speed, app.player.playing) == (2.0, True)
        await press("q")
        assert not app.is_running


async def test_profiles_from_before_a_jump_are_shown(path: Path, appearance: Appearance) -> None:
    async with replayed(path, appearance) as (app, press):
        await press("end", "P")
        assert "CPU time of web1 (perf, 5 s, 4 samples)" in "\n".join(
            map(text_of, cast("ProfileScreen", app.screen).page.lines)
        )


async def test_profiles_from_before_a_jump_are_evidence(
    snapshots: Sequence[Snapshot], path: Path, appearance: Appearance
) -> None:
    async with replayed(path, appearance) as (app, press):
        app.player.seek(max(each.at for each in snapshots if each.diagnosis.verdict.bottleneck == "cpu"))
        await press()
        app.reader.view.history.profiles.clear()  # a jump in a long recording passes them over
        await press("e")
        assert "100.0 %  md5 (httpd)" in "\n".join(lines_of(app))


async def test_no_host_can_be_added(path: Path, appearance: Appearance) -> None:
    async with replayed(path, appearance) as (app, press):
        await press("h")
        assert lines_of(app)[-1].rstrip() == " this recording has only one host"


async def test_no_report_is_promised(path: Path, appearance: Appearance) -> None:
    async with replayed(path, appearance) as (app, press):
        await press("end")
        app.reader.receive(moments("done")[-1])
        await press()
        assert "press q" not in next(line for line in lines_of(app) if "DONE" in line)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("95", 95.0), ("1:30", 90.0), ("1:02:03", 3723.0), ("50%", 100.0), (" 25 % ", 50.0), ("1:", None), ("x", None)],
)
def test_times_as_they_are_typed(text: str, seconds: float | None) -> None:
    assert time_of(text, 200.0) == seconds


async def test_a_picture_can_be_taken_of_every_page(
    path: Path, appearance: Appearance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with replayed(path, appearance) as (_, press):
        await press("e", "ctrl+s")
    assert [Path(name).suffix for name in os.listdir(tmp_path)] == [".svg"]  # noqa: PTH208 (pathlib's blocks)
