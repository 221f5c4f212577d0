"""Pictures of the cockpit with a command in it, in every size, in colour and without, compared with stored ones."""

from dataclasses import replace

import pytest

from loadtop.engines.command import CommandLoad
from loadtop.model import StatedTimes
from loadtop.pipeline.snapshot import Snapshot
from tests.tui.conftest import Pictures
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance

AnyLook = tuple[str, Appearance]
PRINTED = "Benchmarking \x1b[1mweb1\x1b[0m \x1b[7m漢字\x1b[0m\r\n" + "".join(
    f"Completed {done} requests\r\n" for done in range(500, 5001, 500)
)
TIMES = (StatedTimes("total", p50_ms=12.0, p90_ms=34.0, p99_ms=56.0),)


def of_ab(snapshot: Snapshot) -> Snapshot:
    """The moment with a load as ab tells of it: much it does not say."""
    frame = snapshot.measured.frame
    assert frame.load is not None
    load = replace(
        frame.load, engine="ab", latencies=None, in_flight=None, failures=None, non_2xx=None, server=None, stated=TIMES
    )
    return replace(snapshot, measured=replace(snapshot.measured, frame=replace(frame, load=load)))


@pytest.mark.parametrize("any_appearance", ["colour", "no-colour"], indirect=True)
@pytest.mark.parametrize("keys", [(), ("tab", "enter")], ids=["running", "typing"])
async def test_command(keys: tuple[str, ...], any_appearance: AnyLook, pictures: Pictures) -> None:
    suffix, appearance = any_appearance
    program = CommandLoad(("ab", "-n", "5000", "-c", "20", "http://web1/"))
    assert program.terminal is not None
    program.terminal.screen.feed(PRINTED.encode())
    app = Cockpit(FakeFeed([of_ab(snapshot) for snapshot in SCENES["swap"]()]), appearance=appearance, program=program)
    await pictures(app, f"command-{'typing' if keys else 'running'}{suffix}", appearance, *keys)
