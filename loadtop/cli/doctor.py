"""``loadtop doctor``: check access to each host and suggest fixes."""

import asyncio
import resource
import shutil
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack
from copy import copy
from typing import TYPE_CHECKING, Any

from loadtop.cli.exit_codes import DONE, UNREACHABLE, UnreachableError
from loadtop.cli.hosts import connect_remote, watched_hosts
from loadtop.cli.options.command_line import checked
from loadtop.cli.options.table import Options
from loadtop.cli.outputs import check_writable, write_json
from loadtop.generator.limits import local_ports
from loadtop.i18n import Message, Text, Translatable, pad, plain, rendered, tr, width
from loadtop.model import Cause, HostSample
from loadtop.model.places import HERE
from loadtop.model.secrets import blanked, place_without_secrets
from loadtop.reports.doctor import PANELS, SCHEMA, Health, Report, examine, generator
from loadtop.reports.text import wrapped

if TYPE_CHECKING:
    from collectors.transport.shell.transport import ShellTransport

INTERVAL_S = 0.5
LEAST_S = 2.0  # the shortest time to watch a host: long enough for what is read in turn, and to look for servers
MOST_S = 8.0
WIDTH = 100  # longest line, if the terminal is wide enough

_HEALTH_CELLS = 8
_CONNECTION: Translatable = "connection"


def main(options: Options) -> int:
    check_writable(checked(options))
    reports: Sequence[Report] = blanked(asyncio.run(_examine_all(options)))
    if options.json is not None:
        found = {"schema": SCHEMA, "hosts": [report.as_json() for report in reports]}
        write_json(found, options.json, "the checks")
    if options.json != "-":
        print("\n\n".join(text(report) for report in reports))
    return UNREACHABLE if any(report.problem for report in reports) else DONE


async def _examine_all(options: Options) -> list[Report]:
    """Connect one after another, because ssh may ask for something; then examine all hosts at once."""
    from collectors.errors import TransportError

    async def unreachable(name: str, place: str, error: TransportError) -> Report:
        return Report(name, place_without_secrets(place), problem=error.message, fix=error.fix)

    examinations: list[Coroutine[Any, Any, Report]] = []
    async with AsyncExitStack() as closing:
        for name, place in options.hosts:
            alone = copy(options)
            alone.hosts = [(name, place)]
            try:
                examinations.append(_examine(alone, await connect_remote(alone, closing)))
            except UnreachableError as error:
                if not isinstance(error.__cause__, TransportError):
                    raise
                examinations.append(unreachable(name, place, error.__cause__))
        return await asyncio.gather(*examinations)


async def _examine(options: Options, remote: "dict[str, ShellTransport]") -> Report:
    ((name, place),) = options.hosts
    (host,) = await asyncio.to_thread(watched_hosts, options, None, None, remote)
    await host.start(INTERVAL_S)
    try:
        sample: HostSample | None = None
        problem: Text = ""
        loop = asyncio.get_running_loop()
        began = loop.time()
        pending = True
        while loop.time() - began < (MOST_S if pending else LEAST_S):
            await asyncio.sleep(INTERVAL_S / 2)
            sample, problem = host.latest()
            pending = sample is None or any(outcome.cause is Cause.PENDING for outcome in sample.outcomes)
    finally:
        await host.close()
    if sample is None:
        return Report(name, place_without_secrets(place), problem=problem or Message("no sample was received"))
    checks = list(examine(sample))
    if place in HERE:
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        checks.append(generator(None if files == resource.RLIM_INFINITY else files, local_ports()))
    facts = sample.facts
    return Report(
        name, place_without_secrets(place), f"{facts.hostname}, {facts.system}, {facts.kernel}", checks=tuple(checks)
    )


def text(report: Report) -> str:
    """One host, a few lines for each panel, safe for a terminal."""
    panel_cells = 1 + max(width(tr(name)) for name in (_CONNECTION, *PANELS))
    indent = " " * (2 + _HEALTH_CELLS + panel_cells)
    cells = max(60, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)) - len(indent)

    def lines(health: str, panel: str, words: str, fix: Text) -> Iterator[str]:
        """A panel's row, and the lines of its fix, ready to paste."""
        row = f"\n{indent}".join(wrapped(words, "", cells) or [""])
        yield f"  {pad(tr(health), _HEALTH_CELLS)}{pad(tr(panel), panel_cells)}{row}"
        label = tr("fix: ")
        for line in (fix if isinstance(fix, str) else fix.render(escape=str)).splitlines():
            yield f"{indent}{label}{plain(line)}"
            label = " " * width(label)

    head = f"{plain(report.name)}  {plain(report.source)}"
    if report.problem:
        return "\n".join((head, *lines("no", _CONNECTION, rendered(report.problem), report.fix)))
    found = [f"{head}  {plain(report.system)}"]
    for check in report.checks:
        health = "-" if check.health is Health.NONE else str(check.health)
        seen, missing = rendered(check.seen), rendered(check.missing)
        words = tr("{seen}. {missing}", seen=seen, missing=missing) if seen and missing else seen or missing
        found += lines(health, check.panel, words, check.fix)
    return "\n".join(found)
