"""The cockpit with every scene, page, server panel and a command, in every size and look: compared with pictures."""

from dataclasses import replace

import pytest

from loadtop.engines.command import CommandLoad
from loadtop.model import StatedTimes
from loadtop.pipeline.snapshot import Snapshot
from tests.tui.conftest import Pictures
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tests.tui.server_scenes import with_nginx, with_servers
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance

AnyAppearance = tuple[str, Appearance]
COLOURS = pytest.mark.parametrize("any_appearance", ["colour", "no-colour"], indirect=True)
SHOWN = {
    "evidence": ("swap", ("e",)),
    "steps": ("swap", ("t",)),
    "help": ("headroom", ("question_mark",)),
    "commands": ("swap", ("colon", "s", "t")),
    "filter": ("swap", ("slash", *"maria")),
    "typed": ("headroom", ("4",)),
    "mark": ("headroom", ("m", *"new")),
    "message": ("headroom", ("plus",)),
    "zoom": ("swap", ("z", "right")),
    "paused": ("swap", ("space",)),
}
PRINTED = "Benchmarking \x1b[1mweb1\x1b[0m \x1b[7m漢字\x1b[0m\r\n" + "".join(
    f"Completed {done} requests\r\n" for done in range(500, 5001, 500)
)
TIMES = (StatedTimes("total", p50_ms=12.0, p90_ms=34.0, p99_ms=56.0),)


@COLOURS
@pytest.mark.parametrize("scene", SCENES)
async def test_picture(scene: str, any_appearance: AnyAppearance, pictures: Pictures) -> None:
    suffix, appearance = any_appearance
    await pictures(Cockpit(FakeFeed(SCENES[scene]()), appearance=appearance), scene + suffix, appearance)


@COLOURS
@pytest.mark.parametrize("panel", ["fpm", "fpm-silent", "haproxy", "nginx"])
async def test_servers(panel: str, any_appearance: AnyAppearance, pictures: Pictures) -> None:
    suffix, appearance = any_appearance
    snapshots = with_nginx() if panel == "nginx" else with_servers(silent=panel == "fpm-silent")
    app = Cockpit(FakeFeed(snapshots), appearance=appearance)
    choose = app._cockpit.choose  # pyright: ignore[reportPrivateUsage]
    name = panel.removesuffix("-silent")
    await pictures(app, f"server-{panel}{suffix}", appearance, ready=lambda: choose(name))


@COLOURS
@pytest.mark.parametrize("name", SHOWN)
async def test_page(
    name: str, any_appearance: AnyAppearance, pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.apps.cockpit.MESSAGE_S", 600.0)  # shown until the last size is compared
    suffix, appearance = any_appearance
    scene, keys = SHOWN[name]
    await pictures(Cockpit(FakeFeed(SCENES[scene]()), appearance=appearance), f"page-{name}{suffix}", appearance, *keys)


@pytest.mark.parametrize("any_appearance", ["ascii", "japanese"], indirect=True)
@pytest.mark.parametrize(
    ("scene", "keys"), [("swap", ()), ("apache-workers", ("e",)), ("headroom", ("question_mark",))]
)
async def test_other_words_and_signs(
    scene: str, keys: tuple[str, ...], any_appearance: AnyAppearance, pictures: Pictures
) -> None:
    suffix, appearance = any_appearance
    await pictures(
        Cockpit(FakeFeed(SCENES[scene]()), appearance=appearance), f"page-{scene}{suffix}", appearance, *keys
    )


def of_ab(snapshot: Snapshot) -> Snapshot:
    """The moment with a load as ab tells of it: much it does not say."""
    frame = snapshot.measured.frame
    assert frame.load is not None
    load = replace(
        frame.load, engine="ab", latencies=None, in_flight=None, failures=None, non_2xx=None, server=None, stated=TIMES
    )
    return replace(snapshot, measured=replace(snapshot.measured, frame=replace(frame, load=load)))


@COLOURS
@pytest.mark.parametrize("keys", [(), ("tab", "enter")], ids=["running", "typing"])
async def test_command(keys: tuple[str, ...], any_appearance: AnyAppearance, pictures: Pictures) -> None:
    suffix, appearance = any_appearance
    program = CommandLoad(("ab", "-n", "5000", "-c", "20", "http://web1/"))
    assert program.terminal is not None
    program.terminal.screen.feed(PRINTED.encode())
    app = Cockpit(FakeFeed([of_ab(snapshot) for snapshot in SCENES["swap"]()]), appearance=appearance, program=program)
    await pictures(app, f"command-{'typing' if keys else 'running'}{suffix}", appearance, *keys)
