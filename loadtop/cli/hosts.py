"""The hosts that are watched: connections to remote ones, and the role of each in the test."""

import asyncio
import socket
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any

from loadtop.cli.exit_codes import UnreachableError
from loadtop.cli.options.table import Options
from loadtop.i18n import Message
from loadtop.model.places import EXEC, HERE, LOCAL

if TYPE_CHECKING:
    from collectors.transport.shell.transport import ShellTransport
    from loadtop.generator.plan import Plan


def _role(*, serves: bool, generates: bool) -> str:
    """The role in the test of a host that serves what is requested, or generates the load."""
    parts = {"target": serves, "generator": generates}
    return "+".join(part for part, applies in parts.items() if applies) or "other"


async def connect_remote(options: Options, closing: AsyncExitStack) -> "dict[str, ShellTransport]":
    """Connect to the remote hosts until ``closing`` ends; returns the connections by name. Raises UnreachableError."""
    places = {name: place for name, place in options.hosts if place not in HERE}
    if not places:
        return {}
    from collectors.errors import TransportError
    from collectors.transport.exec.transport import ExecTransport
    from collectors.transport.ssh.transport import SshTransport

    remote: dict[str, ShellTransport] = {
        name: ExecTransport(place) if place.startswith(EXEC) else SshTransport(place) for name, place in places.items()
    }

    async def disconnect() -> None:
        await asyncio.gather(*(transport.close() for transport in remote.values()))

    closing.push_async_callback(disconnect)
    outcomes = await asyncio.gather(*(transport.connect() for transport in remote.values()), return_exceptions=True)
    for name, outcome in zip(remote, outcomes, strict=True):
        if isinstance(outcome, TransportError):
            raise UnreachableError(Message("--host {name}: {reason}", name=name, reason=outcome.message)) from outcome
        if isinstance(outcome, BaseException):
            raise outcome
    return remote


def watched_hosts(
    options: Options, plan: "Plan | None", status: str | None, remote: "dict[str, ShellTransport]"
) -> Sequence[Any]:
    """The hosts to watch. Blocks while names are looked up and libraries load: call it in a thread."""
    from collectors.host import HostCollector, local_machine, remote_machine

    near, served = _served(plan, remote)
    from_here = options.engine == "builtin" or any(place == LOCAL for _, place in options.generators)
    here = _role(serves=plan is None or bool(near), generates=plan is not None and from_here)
    hosts: list[Any] = []
    for name, place in options.hosts:
        urls = options.status_urls.get(name, {})
        link_mbit = link_speed(options.links, name)
        if name in remote:
            role = _role(serves=plan is None or name in served, generates=name in options.load_hosts)
            machine, targets = remote_machine(remote[name]), served.get(name, [])
            hosts.append(HostCollector(name, role, machine, status_urls=urls, target_urls=targets, link_mbit=link_mbit))
            continue
        if status is not None:
            urls["apache"].append(status)
        hosts.append(
            HostCollector(
                name,
                here,
                local_machine(through_psutil=place == "psutil"),
                status_urls=urls,
                # If the target is elsewhere, a web server that happens to run here is not part of the test.
                find_servers=here != "generator",
                target_urls=near,
                link_mbit=link_mbit,
            )
        )
    return hosts


def link_speed(links: Iterable[tuple[str, float]], name: str) -> float | None:
    """Mbit/s of one host's interfaces: what is given for it by name counts before what is given for all, and of several
    the last."""
    given = dict(links)
    speed = given.get(name, given.get(""))
    return int(speed) if speed is not None and speed.is_integer() else speed


def _served(plan: "Plan | None", remote: "dict[str, ShellTransport]") -> tuple[list[str], dict[str, list[str]]]:
    """The requested URLs that this machine serves, one per port, and those that each remote host serves. A URL that
    leads to a remote host belongs to it, even if this machine has the same address. One that leads to none of them may
    arrive at any of those containers whose ports are published; which of their own ports that is cannot be known."""
    near: list[str] = []
    served: dict[str, list[str]] = {}
    urls: dict[str, dict[int, str]] = {}
    for target in () if plan is None else plan.targets:
        urls.setdefault(target.origin.host, {}).setdefault(target.origin.port, target.url)
    addresses = (
        {name: frozenset[str]().union(*map(_addresses, transport.names)) for name, transport in remote.items()}
        if urls
        else {}
    )
    for host, its in urls.items():
        known = _addresses(host)
        names = [name for name, found in addresses.items() if known & found]
        for name in names:
            served.setdefault(name, []).extend(its.values())
        if not names:
            for name, transport in remote.items():
                if transport.published:
                    served.setdefault(name, [])
        if not names and _is_here(host):
            near += its.values()
    return near, served


def _addresses(host: str) -> frozenset[str]:
    """The addresses of a host as known here; names with one in common are the same host. A name without addresses
    stands for itself."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return frozenset({host})
    return frozenset(str(each[4][0]) for each in found)


def _is_here(host: str) -> bool:
    """Whether the name leads to this machine, so that the load shares it with the server."""
    try:
        found = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)
    except OSError:
        return False
    for family, kind, protocol, _, address in found:
        # Connecting a datagram socket sends nothing; its own address is the target's only if that is here.
        with suppress(OSError), socket.socket(family, kind, protocol) as probe:
            probe.connect(address)
            if probe.getsockname()[0] == address[0]:
                return True
    return False
