"""``loadtop doctor``: check access to each host and suggest fixes."""

import asyncio
import shutil
from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from loadtop.cli.exit_codes import DONE, UNREACHABLE, UnreachableError
from loadtop.cli.hosts import connect_far, watched_hosts
from loadtop.cli.options.command_line import HERE, Options, checked
from loadtop.cli.outputs import check_writable, write_json
from loadtop.i18n import Message, Text, Translatable, pad, plain, rendered, tr, width
from loadtop.model import Cause, HostSample
from loadtop.reports.doctor import PANELS, SCHEMA, Check, Health, Report, examine, generator
from loadtop.reports.text import wrapped

if TYPE_CHECKING:
    from collectors.errors import TransportError
    from collectors.transport.ssh.transport import SshTransport

INTERVAL_S = 0.5
LEAST_S = 2.0
"""The shortest time to watch a host: long enough for what is read in turn, and to look for servers."""

MOST_S = 8.0
WIDTH = 100
"""Longest line, if the terminal is wide enough."""


def main(arguments: Namespace) -> int:
    """Examine the hosts; returns the exit code."""
    options = checked(arguments)
    check_writable(options.output)
    reports = asyncio.run(_examine_all(options))
    if options.output.json is not None:
        write_json(
            {"schema": SCHEMA, "hosts": [report.as_json() for report in reports]}, options.output.json, "what was found"
        )
    if options.output.json != "-":
        print("\n\n".join(text(report) for report in reports))
    return UNREACHABLE if any(report.problem for report in reports) else DONE


async def _examine_all(options: Options) -> list[Report]:
    """Connect one after another, because ssh may ask for something; then examine all hosts at once."""
    from collectors.errors import TransportError

    connected: list[tuple[Options, dict[str, SshTransport], TransportError | None]] = []
    for name, _ in options.watching.hosts:
        alone = _alone(options, name)
        try:
            connected.append((alone, await connect_far(alone), None))
        except UnreachableError as error:
            if not isinstance(error.__cause__, TransportError):
                raise
            connected.append((alone, {}, error.__cause__))
    return list(await asyncio.gather(*(_examine(*each) for each in connected)))


def _alone(options: Options, name: str) -> Options:
    """The same with one host only."""
    watching = options.watching
    hosts = tuple(host for host in watching.hosts if host[0] == name)
    urls = {kind: tuple((name, url) for url in found) for kind, found in watching.urls_on(name).items()}
    return replace(options, watching=replace(watching, hosts=hosts, status_urls=urls))


async def _examine(options: Options, far: "dict[str, SshTransport]", unreachable: "TransportError | None") -> Report:
    ((name, place),) = options.watching.hosts
    if unreachable is not None:
        return Report(name, place, problem=unreachable.message, fix=unreachable.fix)
    (host,) = await asyncio.to_thread(watched_hosts, options, None, None, far)
    await host.start(INTERVAL_S)
    try:
        sample: HostSample | None = None
        problem: Text = ""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while loop.time() - began < (MOST_S if sample is None or _unsettled(sample) else LEAST_S):
            await asyncio.sleep(INTERVAL_S / 2)
            sample, problem = host.latest()
    finally:
        await host.close()
    if sample is None:
        return Report(name, place, problem=problem or Message("no sample was received"))
    facts = sample.facts
    system = f"{facts.hostname}, {facts.system}, {facts.kernel}"
    checks = list(examine(sample))
    if place in HERE:
        checks.append(generator(*_own_limits()))
    return Report(name, place, system, checks=tuple(checks))


def _own_limits() -> tuple[int | None, int | None]:
    """How many open files a process may have here, and how many local ports there are."""
    import resource

    from loadtop.generator.limits import LocalPorts

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return (None if hard == resource.RLIM_INFINITY else hard), LocalPorts(loopback=False).limit


def _unsettled(sample: HostSample) -> bool:
    """Whether something is still being looked for or waited for."""
    return any(outcome.cause is Cause.PENDING for outcome in sample.outcomes)


def text(report: Report) -> str:
    """One host, a few lines for each panel, safe for a terminal."""
    head = f"{plain(report.name)}  {plain(report.source)}"
    if report.problem:
        return "\n".join((head, _row("no", _CONNECTION, rendered(report.problem)), *_fix(report.fix)))
    lines = [f"{head}  {plain(report.system)}"]
    for check in report.checks:
        lines += _lines(check)
    return "\n".join(lines)


def _lines(check: Check) -> list[str]:
    word = "-" if check.health is Health.NONE else str(check.health)
    seen, missing = rendered(check.seen), rendered(check.missing)
    told = tr("{seen}. {missing}", seen=seen, missing=missing) if seen and missing else seen or missing
    return [_row(word, check.panel, told), *_fix(check.fix)]


def _row(word: str, panel: str, told: str) -> str:
    return f"  {pad(tr(word), _WORD)}{pad(tr(panel), _panel_cells())}{_wrapped(told)}"


def _fix(fix: Text) -> list[str]:
    """The lines of a fix, as they are to be typed."""
    label = tr("fix: ")
    lines = fix.splitlines() if isinstance(fix, str) else fix.render().splitlines()
    return [
        f"{'':{_indent()}}{label if number == 0 else pad('', width(label))}{plain(line)}"
        for number, line in enumerate(lines)
    ]


_CONNECTION: Translatable = "connection"
_WORD = 8


def _panel_cells() -> int:
    return 1 + max(width(tr(name)) for name in (_CONNECTION, *PANELS))


def _indent() -> int:
    return 2 + _WORD + _panel_cells()


def _width() -> int:
    return max(60, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))


def _wrapped(words: str) -> str:
    return f"\n{'':{_indent()}}".join(wrapped(words, "", _width() - _indent()) or [""])
