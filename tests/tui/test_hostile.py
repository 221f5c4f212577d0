"""Text from outside: whatever servers, processes and machines are called, the screen stays whole and plain."""

import unicodedata
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len

from loadtop.diagnosis.finding import Diagnosis, Evidence, Finding
from loadtop.i18n import verbatim
from loadtop.model import Frame, HostState
from loadtop.model.server import ServerReading
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import ServerRates
from loadtop.servers.apache.record import ApacheStatus
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import cpu_then_swap, stale
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance

EVIL = "\x1b]0;evil\x07[bold red]\u202e日本\r\n\x9b2J"
Text = Callable[[Cockpit], list[str]]


def _evil(page: ServerRates[ServerReading]) -> ServerRates[ServerReading]:
    reading = page.reading
    assert isinstance(reading, ApacheStatus)
    return replace(page, reading=replace(reading, mpm=EVIL, scoreboard=reading.scoreboard + EVIL))


def poisoned(snapshot: Snapshot) -> Snapshot:
    """The same moment with hostile names everywhere."""
    measured = snapshot.measured
    load = measured.load
    assert load is not None
    hosts: list[HostView] = []
    for host in measured.hosts:
        sample = host.sample
        assert sample is not None
        rates = host.rates
        if rates is not None:
            rates = replace(
                rates,
                processes=tuple(
                    replace(p, process=replace(p.process, name=EVIL, state="\x1b")) for p in rates.processes or ()
                ),
                disks=tuple(replace(disk, name=EVIL) for disk in rates.disks or ()),
                networks=tuple(replace(net, name=EVIL) for net in rates.networks or ()),
                servers={"apache": tuple(map(_evil, rates.servers["apache"]))},
            )
        facts = replace(sample.facts, source="\x1b[2J")
        outcomes = tuple(replace(outcome, reason=EVIL) for outcome in sample.outcomes)
        state = HostState(EVIL, "target", replace(sample, facts=facts, outcomes=outcomes), host.state.fresh, EVIL)
        hosts.append(HostView(state, rates, host.stale_s))
    evidence = (Evidence(EVIL, EVIL, 12.0, 3.0, EVIL, EVIL), Evidence("running", EVIL, 2.0, 3.0, "tasks", EVIL))
    finding = Finding("swap", EVIL, 1.0, 2.0, 0.9, evidence, verbatim(EVIL * 9))
    verdict = replace(finding, symptoms=(finding,))
    frame = Frame(
        measured.frame.number,
        measured.frame.at,
        measured.frame.wall,
        replace(load, message=EVIL, engine=EVIL, model=EVIL),
        tuple(host.state for host in hosts),
        (EVIL,),
    )
    return Snapshot(Measured(frame, measured.load_rates, tuple(hosts)), Diagnosis(verdict, (verdict,)))


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (120, 40)])
@pytest.mark.parametrize("snapshots", [cpu_then_swap, stale])
async def test_hostile_names(
    size: tuple[int, int], snapshots: Callable[[], list[Snapshot]], appearance: Appearance, screen_text: Text
) -> None:
    feed = FakeFeed([poisoned(snapshot) for snapshot in snapshots()])
    feed.title = EVIL
    app = Cockpit(feed, appearance=appearance)
    async with app.run_test(size=size) as pilot:
        for keys in ((), ("e",), ("escape", "z"), ("tab",), ("tab",), ("tab",)):
            await pilot.press(*keys)
            for _ in range(3):
                await pilot.pause()
            lines = screen_text(app)
            assert [cell_len(line) for line in lines] == [size[0]] * size[1]
            assert all(unicodedata.category(character)[0] != "C" for line in lines for character in line)
        assert "[bold red]" in "".join(lines) or size != (80, 24)
