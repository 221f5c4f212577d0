"""The machines of a load by JMeter: what each does, as far as it is known."""

from collections.abc import Sequence
from dataclasses import replace

from loadtop.engines.jmeter.results import Rows
from loadtop.engines.jmeter.servers import Servers
from loadtop.engines.jmeter.words import begun, has_ended, is_lost, over
from loadtop.engines.member import Member
from loadtop.model import MISSING, EngineWorker

STARTING, RUNNING, STOPPED = "starting", "running", "stopped"

Crew = tuple[EngineWorker, ...]


def crew(members: Sequence[tuple[Member, Rows]], servers: Servers) -> Crew:
    """Each jmeter-server, or else each machine that JMeter runs on, where they are several. What a process takes of
    the processor and of memory is not known there; users are the threads at the last result."""
    if servers.names:
        began = any(begun(member.words) for member, _ in members)
        return tuple(_server(name, servers, RUNNING if began else STARTING) for name in servers.names)
    return tuple(_machine(member, rows) for member, rows in members) if len(members) > 1 else ()


def stopped(known: Crew) -> Crew:
    """They are told to end, or have ended."""
    return tuple(worker if worker.missing else replace(worker, state=STOPPED, users=None) for worker in known)


def _server(name: str, servers: Servers, state: str) -> EngineWorker:
    return EngineWorker(name, name, MISSING if servers.is_lost(name) else state)


def _machine(member: Member, rows: Rows) -> EngineWorker:
    name = member.generator.name
    if is_lost(member):
        return EngineWorker(name, name, MISSING)
    if has_ended(member) or over(member.words):
        return EngineWorker(name, name, STOPPED)
    if not begun(member.words):
        return EngineWorker(name, name, STARTING)
    return EngineWorker(name, name, RUNNING, rows.threads)
